"""sprig's regular expressions: RE2's language, as in Go, with Go's ways of finding all, replacing and splitting."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nodeworthy.errors import RuleError
from nodeworthy.rules.patterns import compile_re2
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import TextList, bytes_text, text_bytes

_STEPS_PER_PATTERN = 100
"""What compiling a pattern costs, beside its length; some tens of microseconds."""

_BYTES_PER_STEP = 64
"""Every match may read the whole rest of the text."""

_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_REFERENCE = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))")


class _Match(NamedTuple):
    """Where a match is, its groups, and their numbers by name."""

    start: int
    end: int
    spans: tuple[tuple[int, int], ...]


def _compiled(budget: Budget, pattern: str) -> Any:  # noqa: ANN401 # re2 has no types
    budget.spend(_STEPS_PER_PATTERN + len(pattern))
    try:
        return compile_re2(pattern, captures=True)
    except RuleError as error:
        raise FunctionError(str(error)) from error


def _matches(budget: Budget, compiled: Any, data: bytes, limit: int = -1) -> Iterator[_Match]:  # noqa: ANN401 # as above
    """All matches that do not overlap; an empty one right behind another is none, as in Go."""
    position, before, found = 0, -1, 0
    while position <= len(data) and found != limit:
        budget.spend(1 + (len(data) - position) // _BYTES_PER_STEP)
        match = compiled.search(data, position)
        if match is None:
            return
        start, end = match.span()
        if end > start or start != before:
            found += 1
            yield _Match(start, end, tuple(match.span(group) for group in range(compiled.groups + 1)))
        before = end
        position = end if end > start else end + _letter_size(data, end)


def _letter_size(data: bytes, place: int) -> int:
    size = 1
    while place + size < len(data) and data[place + size] & 0xC0 == 0x80:  # noqa: PLR2004 # a byte inside of a letter
        size += 1
    return size


def must_match(budget: Budget, pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    return next(_matches(budget, _compiled(budget, pattern), text_bytes(text)), None) is not None


def match(budget: Budget, pattern: str, text: str) -> bool:
    """As :func:`must_match`; a bad pattern is found nowhere."""
    try:
        compiled = _compiled(budget, pattern)
    except FunctionError:
        budget.spend(0)
        return False
    return next(_matches(budget, compiled, text_bytes(text)), None) is not None


def find(budget: Budget, pattern: str, text: str) -> str:
    """The first match, or the empty text."""
    data = text_bytes(text)
    found = next(_matches(budget, _compiled(budget, pattern), data), None)
    return bytes_text(data[found.start : found.end]) if found else ""


def find_all(budget: Budget, pattern: str, text: str, limit: int) -> TextList:
    """Up to a number of matches; all of them if it is negative."""
    data = text_bytes(text)
    return TextList(
        bytes_text(data[one.start : one.end]) for one in _matches(budget, _compiled(budget, pattern), data, limit)
    )


def replace_literally(budget: Budget, pattern: str, text: str, replacement: str) -> str:
    """Every match replaced by a text as it is."""
    put = text_bytes(replacement)
    return _replaced(budget, pattern, text, [put])


def replace(budget: Budget, pattern: str, text: str, replacement: str) -> str:
    """Every match replaced; ``$1``, ``${1}`` and ``${name}`` in the replacement stand for groups, ``$$`` for ``$``."""
    return _replaced(budget, pattern, text, _replacement_parts(replacement))


def _replacement_parts(replacement: str) -> list[bytes | str]:
    """Texts as bytes, groups by number or name as texts."""
    parts: list[bytes | str] = []
    position = 0
    for found in _REFERENCE.finditer(replacement):
        parts.append(text_bytes(replacement[position : found.start()]))
        dollar, braced, plain = found.groups()
        parts.append(b"$" if dollar else braced or plain)
        position = found.end()
    return [*parts, text_bytes(replacement[position:])]


def _replaced(budget: Budget, pattern: str, text: str, parts: list[bytes | str]) -> str:
    compiled, data = _compiled(budget, pattern), text_bytes(text)
    groups = {str(number): number for number in range(compiled.groups + 1)}
    groups |= {_name(name): number for name, number in compiled.groupindex.items()}
    pieces: list[bytes] = []
    position = size = 0
    for one in _matches(budget, compiled, data):
        pieces.append(data[position : one.start])
        for part in parts:
            piece = part if isinstance(part, bytes) else _group(data, one, groups.get(part))
            size += len(piece)
            pieces.append(piece)
        position = one.end
        budget.spend(len(parts))
        budget.spend_text(min(size, len(data) + size))
    return bytes_text(b"".join((*pieces, data[position:])))


def _name(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _group(data: bytes, one: _Match, number: int | None) -> bytes:
    if number is None or one.spans[number][0] < 0:
        return b""
    start, end = one.spans[number]
    return data[start:end]


def split(budget: Budget, pattern: str, text: str, limit: int) -> TextList:
    """The parts between matches, no more than a number of them if that is not negative."""
    compiled, data = _compiled(budget, pattern), text_bytes(text)
    if limit == 0:
        return TextList()
    if pattern and not data:
        return TextList([""])
    parts = TextList()
    start = end = 0
    for one in _matches(budget, compiled, data):
        if limit > 0 and len(parts) == limit - 1:
            break
        end = one.start
        if one.end != 0:
            parts.append(bytes_text(data[start:end]))
        start = one.end
    if end != len(data):
        parts.append(bytes_text(data[start:]))
    return parts


def quote_meta(text: str) -> str:
    """The pattern that finds exactly this text."""
    return _META.sub(r"\\\g<0>", text)


FUNCTIONS: Mapping[str, Function] = {
    "regexMatch": match,
    "mustRegexMatch": must_match,
    "regexFind": find,
    "mustRegexFind": find,
    "regexFindAll": find_all,
    "mustRegexFindAll": find_all,
    "regexReplaceAll": replace,
    "mustRegexReplaceAll": replace,
    "regexReplaceAllLiteral": replace_literally,
    "mustRegexReplaceAllLiteral": replace_literally,
    "regexSplit": split,
    "mustRegexSplit": split,
    "regexQuoteMeta": quote_meta,
}
