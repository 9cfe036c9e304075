from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.fleet.grouping import distinct, group


def rows(columns: Sequence[Sequence[int]], size: int) -> list[tuple[int, ...]]:
    return [tuple(column[place] for column in columns) for place in range(size)]


NUMBERS = st.sampled_from((0, 1, 2, 70_000, 2_000_000_000))
COLUMNS = st.integers(0, 20).flatmap(
    lambda size: st.tuples(st.just(size), st.lists(st.lists(NUMBERS, min_size=size, max_size=size), max_size=6))
)


@given(COLUMNS)
def test_elements_are_in_one_group_exactly_when_all_their_numbers_are_equal(drawn: tuple[int, list[list[int]]]) -> None:
    size, columns = drawn
    found = group([np.array(column, np.intp) for column in columns], size)
    wanted = rows(columns, size)
    assert len(found.first) == len(set(wanted))
    for place, number in enumerate(found.numbers.tolist()):
        first = int(found.first[number])
        assert wanted[first] == wanted[place]
        assert first <= place
        assert wanted.index(wanted[place]) == first
    assert found.sizes.tolist() == [found.numbers.tolist().count(number) for number in range(len(found.first))]


def test_without_columns_all_elements_are_alike_and_none_make_no_group() -> None:
    assert group([], 3).numbers.tolist() == [0, 0, 0]
    assert group([], 0).first.tolist() == []


def test_many_wide_columns_do_not_overflow() -> None:
    wide = [np.arange(5_000, dtype=np.intp)[:: 1 if odd else -1] for odd in (0, 1) * 10]
    assert len(group(wide, 5_000).first) == 5_000


def test_few_and_many_numbers_are_told_apart_alike() -> None:
    numbers = np.array([5, 3, 5, 0], np.intp)
    assert distinct(numbers).tolist() == distinct(np.tile(numbers, 1_000)).tolist() == [0, 3, 5]
    assert distinct(np.zeros(0, np.intp)).tolist() == []
