"""Ranges of versions, as the tables write them: ``>=2.4,<3``; alternatives stand behind ``;``."""

import operator
import re
from collections.abc import Callable, Mapping

Version = tuple[int, ...]

_NUMBERS = re.compile(r"(?:[0-9]{1,9}:)?[a-zA-Z_-]{0,20}?([0-9]{1,9}(?:[._][0-9]{1,9}){0,9})")
"""An epoch (deb-version(7)) and a word such as ``v`` or ``go`` before the numbers are passed over."""
_CONDITION = re.compile(r"(>=|<=|!=|==|>|<)([0-9.]+)")
_COMPARE: Mapping[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def numbers_of(version: str) -> Version | None:
    """The numbers that order a version, without zeros at the end; ``None`` where it begins with none.

    >>> numbers_of("1:2.4.0rc1"), numbers_of("v2.36-9"), numbers_of("11.0.2_9"), numbers_of("stable")
    ((2, 4), (2, 36), (11, 0, 2, 9), None)
    """
    found = _NUMBERS.match(version.strip())
    if found is None:
        return None
    numbers = [int(number) for number in re.split("[._]", found[1])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def in_range(version: str, wanted: str) -> bool | None:
    """Whether a version is in a range; ``None`` where the version cannot be compared. An empty range has all.

    >>> in_range("4.4.18", ">=5; >=4.4.19,<4.5"), in_range("4.4.29", ">=5; >=4.4.19,<4.5"), in_range("", ">1")
    (False, True, None)

    Raises:
        ValueError: the range is none.
    """
    alternatives = [_conditions(part) for part in wanted.split(";")] if wanted.strip() else []
    numbers = numbers_of(version)
    if not alternatives:
        return True
    if numbers is None:
        return None
    return any(all(_COMPARE[sign](numbers, bound) for sign, bound in conditions) for conditions in alternatives)


def _conditions(text: str) -> list[tuple[str, Version]]:
    conditions = []
    for part in text.split(","):
        found = _CONDITION.fullmatch(part.strip())
        bound = numbers_of(found[2]) if found else None
        if found is None or bound is None:
            raise ValueError(f"{text!r} is no range of versions")
        conditions.append((found[1], bound))
    return conditions
