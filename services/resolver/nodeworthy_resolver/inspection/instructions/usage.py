"""How the functions of a file are encoded: counts that tell what a compiler was allowed to use."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.functions import Borders
from nodeworthy_resolver.inspection.instructions.steps import Style

_SLICE = 2048
"""Functions between two looks at the clock: less than a tenth of a second."""
_MAX_FUNCTION = 16 * 1024 * 1024
"""Bytes of one function, some two seconds; longer ones, as nobody writes, are not looked at."""


class Usage(NamedTuple):
    """Counts of functions."""

    functions: int = 0
    """Looked at, without those that hold data."""
    with_data: int = 0
    plain: int = 0
    """In the old way alone: see :class:`~nodeworthy_resolver.inspection.instructions.steps.Style`."""
    modern: int = 0
    """In the new way alone."""
    mixing: frozenset[int] = frozenset()
    """The addresses of functions in both ways: they choose, mostly."""
    wide: int = 0
    counts: Mapping[str, int] = {}
    """By feature."""
    first: Mapping[str, int] = {}
    """The address of the first function that has a feature."""
    asking: frozenset[int] = frozenset()
    """The addresses of functions that ask the CPU."""
    is_whole: bool = True
    """Whether there was time for all of them."""

    @property
    def told(self) -> int:
        """Functions that are encoded in one way or the other."""
        return self.plain + self.modern + len(self.mixing)

    @property
    def modern_share(self) -> float:
        """Of the functions told, those in the new way alone; 0 where there are none."""
        return self.modern / self.told if self.told else 0.0

    def share(self, feature: str) -> float:
        """The part of all functions that use a feature."""
        return self.counts.get(feature, 0) / self.functions if self.functions else 0.0


def count_usage(code: Code, has_time: Callable[[], bool] = lambda: True) -> Usage:
    """The counts of one file; those of a part of it where ``has_time`` says no on the way."""
    count = _Count()
    is_whole = True
    for part, address, borders in code.runs():
        usual = tuple(one for one in borders if one[1] - one[0] <= _MAX_FUNCTION)
        is_whole &= len(usual) == len(borders)
        for some in _slices(usual):
            if not has_time():
                return count.usage(is_whole=False)
            low, high = some[0][0], some[-1][1]
            styles = code.machine.styles(part[low - address : high - address], low, some)
            for (function, _), style in zip(some, styles, strict=True):
                count.add(function, style)
    return count.usage(is_whole=is_whole)


def _slices(borders: Borders) -> Iterator[Borders]:
    """The functions in order, as many at once as take no longer than the longest may."""
    some: list[tuple[int, int]] = []
    size = 0
    for first, end in borders:
        if some and (len(some) == _SLICE or size + end - first > _MAX_FUNCTION):
            yield tuple(some)
            some, size = [], 0
        some.append((first, end))
        size += end - first
    if some:
        yield tuple(some)


class _Count:
    def __init__(self) -> None:
        self._numbers = Counter[str]()
        self._features = Counter[str]()
        self._first: dict[str, int] = {}
        self._asking: set[int] = set()
        self._mixing: set[int] = set()

    def add(self, function: int, style: Style) -> None:
        if style.asks:
            self._asking.add(function)
        if style.has_data:
            self._numbers["with_data"] += 1
            return
        is_new = style.is_modern or style.is_wide
        self._numbers["functions"] += 1
        self._numbers["plain"] += style.is_plain and not is_new
        self._numbers["modern"] += is_new and not style.is_plain
        self._numbers["wide"] += style.is_wide
        if is_new and style.is_plain:
            self._mixing.add(function)
        for feature in style.features:
            self._features[feature] += 1
            self._first.setdefault(feature, function)

    def usage(self, *, is_whole: bool) -> Usage:
        return Usage(
            **self._numbers,
            mixing=frozenset(self._mixing),
            counts=self._features,
            first=self._first,
            asking=frozenset(self._asking),
            is_whole=is_whole,
        )
