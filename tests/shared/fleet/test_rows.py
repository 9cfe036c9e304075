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
