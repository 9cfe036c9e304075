"""Which elements are alike: several columns of small numbers folded into one."""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.intp]


_FEW = 1_000
"""Below, sorting so many numbers takes less time than a table for the contents of a set that differs on every node."""


class Groups(NamedTuple):
    """Elements put into groups that are numbered without a gap."""

    numbers: Numbers
    """By element: its group."""
    first: Numbers
    """By group: its first element."""

    @property
    def sizes(self) -> Numbers:
        """By group: how many elements it has."""
        return np.bincount(self.numbers, minlength=len(self.first))


def group(columns: Iterable[npt.NDArray[np.integer]], size: int) -> Groups:
    """Groups of the elements that have the same number in every column; numbers are not negative.

    Without a column all are alike. Where the product of what the columns may hold stays near the number of elements, no
    sorting is needed, and for a fleet it does: most columns hold one to three numbers.
    """
    key = np.zeros(size, np.intp)
    if size <= 1:
        # One node changed: a dozen operations on arrays of one element would be all the work there is.
        return Groups(key, np.arange(size))
    span = 1
    for column in columns:
        width = int(column.max()) + 1
        if width == 1:
            continue
        if span * width > _dense(size):
            key, first = _renumber(key, span)
            span = len(first)
        key *= width
        key += column
        span *= width
    return Groups(*_renumber(key, span))


def distinct(numbers: Numbers) -> Numbers:
    """The numbers that are there, in their order; a few are sorted, for many a table of all is quicker."""
    if len(numbers) < _FEW:
        return np.unique(numbers)
    return np.flatnonzero(np.bincount(numbers))


def _dense(size: int) -> int:
    """Up to which span a table of every possible number costs less than sorting."""
    return 4 * size + 1024


def _renumber(key: Numbers, span: int) -> tuple[Numbers, Numbers]:
    if span > _dense(len(key)):
        _, first, numbers = np.unique(key, return_index=True, return_inverse=True)
        return numbers, first
    seen = np.full(span, -1, np.intp)
    # Of several assignments to one place the last stays, so backwards the first element of each group.
    seen[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    is_seen = seen >= 0
    return (np.cumsum(is_seen) - 1)[key], seen[is_seen]
