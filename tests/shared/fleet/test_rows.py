import pytest

from nodeworthy.errors import UsageError
from nodeworthy.fleet.rows import Rows


def test_rows_grow_and_keep_their_nodes() -> None:
    rows = Rows(1_000)
    given = [rows.add(f"n{number}") for number in range(100)]
    assert given == list(range(100))
    assert rows.capacity >= 100
    assert rows.names(rows.alive()) == [f"n{number}" for number in range(100)]
    assert rows.of(["n7", "n3"]).tolist() == [7, 3]


def test_a_node_has_one_row() -> None:
    rows = Rows(10)
    assert rows.add("n1") == rows.add("n1")
    assert len(rows) == 1


def test_the_row_of_a_node_that_is_gone_is_given_again() -> None:
    rows = Rows(2)
    first, _ = rows.add("n1"), rows.add("n2")
    with pytest.raises(UsageError, match="limit is 2"):
        rows.add("n3")
    rows.remove("n1")
    assert "n1" not in rows
    assert rows.names(rows.alive()) == ["n2"]
    assert rows.add("n3") == first
    assert rows.name(first) == "n3"


def test_a_column_is_read_as_a_slice_only_where_all_rows_are_wanted_and_none_is_unused() -> None:
    rows = Rows(10)
    for node in "abc":
        rows.add(node)
    assert rows.index(rows.alive()) == slice(3)
    assert rows.index(rows.of("cab")).tolist() == [2, 0, 1]  # type: ignore[union-attr]  # no slice
    before = rows.alive()
    rows.remove("b")
    assert rows.index(before) is before
    assert rows.index(rows.alive()).tolist() == [0, 2]  # type: ignore[union-attr]  # no slice
    rows.add("d")
    assert rows.index(rows.alive()) == slice(3)
