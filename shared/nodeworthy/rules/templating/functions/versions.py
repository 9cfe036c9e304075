"""Semantic versions and constraints, as github.com/Masterminds/semver compares them for sprig.

``type: version`` of expressions is something else: see :mod:`nodeworthy.rules.versions`.
"""

import re
from collections.abc import Callable, Mapping
from functools import total_ordering
from typing import NamedTuple

from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError, shown
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Uint64, Value

_TAIL = r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_VERSION = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?{_TAIL}")
_PARTIAL = rf"v?([0-9|xX*]+)(?:\.([0-9|xX*]+))?(?:\.([0-9|xX*]+))?{_TAIL}"
_OPERATOR = r"=>|=<|=|!=|>=|<=|>|<|~>|~|\^|"
_CONSTRAINT = re.compile(rf"({_OPERATOR})\s*({_PARTIAL})")
_RANGE = re.compile(rf"\s*({_PARTIAL})\s+-\s+({_PARTIAL})\s*")
_SEPARATOR = re.compile(r"\s+|,\s*")
_WILD = frozenset({"x", "X", "*"})
_MAX_LENGTH = 256
"""Longer texts are no versions that anybody wrote."""


@total_ordering
class Version:
    """A semantic version; ``1.2`` and ``v1.2.0`` are the same one."""

    __slots__ = ("metadata", "numbers", "original", "prerelease")
    go_type = "*semver.Version"
    go_kind = "ptr"

    def __init__(self, numbers: tuple[int, int, int], prerelease: str, metadata: str, original: str) -> None:
        self.numbers = numbers
        self.prerelease = prerelease
        self.metadata = metadata
        self.original = original

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        return (
            text + (f"-{self.prerelease}" if self.prerelease else "") + (f"+{self.metadata}" if self.metadata else "")
        )

    def json_text(self) -> str:
        """The text that stands for it in JSON."""
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[object, ...]:
        # A release is later than its pre-releases; numbers are earlier than words, and less is earlier than more.
        parts = tuple(
            (0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.prerelease.split(".") if part
        )
        return self.numbers, not self.prerelease, parts

    def methods(self) -> Mapping[str, Callable[[], Value]]:
        """What templates may take from it, as ``(semver "1.2.3").Major``."""
        return {
            "Major": lambda: Uint64(self.numbers[0]),
            "Minor": lambda: Uint64(self.numbers[1]),
            "Patch": lambda: Uint64(self.numbers[2]),
            "Prerelease": lambda: self.prerelease,
            "Metadata": lambda: self.metadata,
            "Original": lambda: self.original,
            "String": lambda: str(self),
        }


def semver(text: str) -> Version:
    """The version that a text is; missing numbers are 0."""
    found = _VERSION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if found is None:
        raise FunctionError(f"{shown(text)} is no semantic version")
    major, minor, patch, prerelease, metadata = found.groups("")
    numbers = int(major), int(minor or 0), int(patch or 0)
    if max(numbers) >= 2**64:
        raise FunctionError(f"{shown(text)} is no semantic version: a number does not fit into 64 bits")
    if any(part.isdigit() and part != "0" and part.startswith("0") for part in prerelease.split(".")):
        raise FunctionError(f"{shown(text)} is no semantic version: a number of its pre-release begins with 0")
    return Version(numbers, prerelease, metadata, text)


class _Constraint(NamedTuple):
    """One comparison; the missing and wild numbers of its version are 0."""

    operator: str
    version: Version
    any_major: bool
    any_minor: bool
    any_patch: bool

    @property
    def is_partial(self) -> bool:
        """Whether some number is missing or wild."""
        return self.any_major or self.any_minor or self.any_patch


def semver_compare(budget: Budget, constraint: str, version: str) -> bool:
    """Whether a version meets constraints: ``>=1.2, <3 || ^5``. Pre-releases only meet those that name one."""
    budget.spend(len(constraint))
    alternatives = [_alternative(part) for part in _expand_ranges(constraint).split("||")]
    wanted = semver(version)
    return any(_meets_all(wanted, one) for one in alternatives)


def _expand_ranges(text: str) -> str:
    return _RANGE.sub(lambda found: f">= {found[1]}, <= {found[7]} ", text)


def _alternative(text: str) -> tuple[_Constraint, ...]:
    stripped = text.strip()
    position = 0
    found: list[_Constraint] = []
    while True:
        match = _CONSTRAINT.match(stripped, position)
        if match is None:
            raise FunctionError(f"{shown(text)} is no constraint of versions")
        found.append(_constraint(match))
        position = match.end()
        if position == len(stripped):
            return tuple(found)
        separator = _SEPARATOR.match(stripped, position)
        if separator is None:
            raise FunctionError(f"{shown(text)} is no constraint of versions")
        position = separator.end()
        if stripped.startswith(",", position):
            position = _SEPARATOR.match(stripped, position).end()  # type: ignore[union-attr] # it begins with a comma


def _constraint(match: re.Match[str]) -> _Constraint:
    operator, _, major, minor, patch, prerelease, _ = match.groups("")
    any_major = major in _WILD or not major
    any_minor = not any_major and (minor in _WILD or not minor)
    any_patch = not any_major and not any_minor and (patch in _WILD or not patch)
    tail = f"-{prerelease}" if prerelease else ""
    if any_major:
        text = f"0.0.0{tail}"
    elif any_minor:
        text = f"{major}.0.0{tail}"
    else:
        text = f"{major}.{minor}.0{tail}" if any_patch else match[2]
    return _Constraint(operator, semver(text), any_major, any_minor, any_patch)


def _meets_all(version: Version, constraints: tuple[_Constraint, ...]) -> bool:
    names_prerelease = any(one.version.prerelease for one in constraints)
    if version.prerelease and not names_prerelease:
        return False
    return all(_CHECKS[one.operator](version, one) for one in constraints)


def _differs(version: Version, wanted: _Constraint) -> bool:
    if wanted.is_partial:
        if version.numbers[0] != wanted.version.numbers[0]:
            return True
        if wanted.any_minor:
            return False
        if version.numbers[1] != wanted.version.numbers[1]:
            return True
        if wanted.any_patch:
            return version.prerelease != wanted.version.prerelease
    return version != wanted.version


def _is_greater(version: Version, wanted: _Constraint) -> bool:
    mine, other = version.numbers, wanted.version.numbers
    if not wanted.is_partial or mine[0] != other[0]:
        return version > wanted.version if not wanted.is_partial else mine[0] > other[0]
    if wanted.any_minor:
        return False
    return mine[1] > other[1] if wanted.any_patch else version > wanted.version


def _is_at_most(version: Version, wanted: _Constraint) -> bool:
    if not wanted.is_partial:
        return version <= wanted.version
    mine, other = version.numbers, wanted.version.numbers
    return mine[0] < other[0] or (mine[0] == other[0] and (mine[1] <= other[1] or wanted.any_minor))


def _is_near(version: Version, wanted: _Constraint) -> bool:
    """``~1.4``: from there on, with the same numbers but for the last one."""
    if version < wanted.version:
        return False
    if wanted.version.numbers == (0, 0, 0) and not wanted.any_minor and not wanted.any_patch:
        return True
    same_major = version.numbers[0] == wanted.version.numbers[0]
    return same_major and (version.numbers[1] == wanted.version.numbers[1] or wanted.any_minor)


def _is_equal(version: Version, wanted: _Constraint) -> bool:
    return _is_near(version, wanted) if wanted.is_partial else version == wanted.version


def _is_compatible(version: Version, wanted: _Constraint) -> bool:
    """``^1.4``: from there on, with the same leftmost number that is not 0."""
    if version < wanted.version:
        return False
    mine, other = version.numbers, wanted.version.numbers
    if mine[0] != other[0] or other[0] > 0 or wanted.any_minor:
        return mine[0] == other[0]
    if mine[1] != other[1] or other[1] > 0 or wanted.any_patch:
        return mine[1] == other[1]
    return mine[2] == other[2]


_CHECKS: Mapping[str, Callable[[Version, _Constraint], bool]] = {
    "": _is_equal,
    "=": _is_equal,
    "!=": _differs,
    ">": _is_greater,
    "<": lambda version, wanted: version < wanted.version,
    ">=": lambda version, wanted: version >= wanted.version,
    "=>": lambda version, wanted: version >= wanted.version,
    "<=": _is_at_most,
    "=<": _is_at_most,
    "~": _is_near,
    "~>": _is_near,
    "^": _is_compatible,
}

FUNCTIONS: Mapping[str, Function] = {"semver": semver, "semverCompare": semver_compare}
