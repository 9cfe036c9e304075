"""The text of one file of features.d, as NFD reads it.

A line is ``name``, ``name=value`` or a comment; three comments are directives::

    # +expiry-time=2031-05-06T07:08:09Z
    # +no-label
    # +no-feature

Two things differ from NFD: spaces around ``=`` are trimmed, and a directive that cannot be used is reported.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

import msgspec

_DIRECTIVE = "# +"

_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Unicode's property White_Space, which NFD trims; Python's own ``strip`` takes off four control characters more."""

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
"""RFC 3339 as Go's time package reads it: the hour may have one digit, the fraction may follow a comma."""

_NANOSECONDS = 10**9


class FeatureFile(msgspec.Struct, frozen=True):
    """What one file says."""

    features: dict[str, str]
    labels: dict[str, str]
    faults: tuple[str, ...]
    """Lines that could not be used, each with its number."""
    expiry: int | None = None
    """When the first of its lines expires, in nanoseconds since the epoch; ``None``: never."""


class _State(msgspec.Struct):
    expiry: int | None = None
    """Nanoseconds since the epoch; ``None`` is "never expires"."""
    is_label: bool = True
    is_feature: bool = True


def parse_feature_file(
    text: str, now: datetime, *, find_problem: Callable[[str], str | None] = lambda _name: None
) -> FeatureFile:
    """Read every line; lines whose expiry time is before ``now`` are passed over.

    ``find_problem`` tells what is wrong with a name; such a line is a fault and nothing else. A directive that cannot be
    used changes nothing: what an earlier one said still holds. ``no-label`` and ``no-feature`` hold for the next line that
    has not expired, and take away what an earlier line of the file gave that name.
    """
    features: dict[str, str] = {}
    labels: dict[str, str] = {}
    faults: list[str] = []
    expiries: list[int] = []
    state = _State()
    instant = nanoseconds(now)
    for number, line in _lines(text):
        if line.startswith(_DIRECTIVE):
            fault = _direct(state, line.removeprefix(_DIRECTIVE))
            faults += [f"line {number}: {fault}"] if fault else []
        elif not line.startswith("#") and (state.expiry is None or state.expiry >= instant):
            expiries += [state.expiry] if state.expiry is not None else []
            name, equals, value = line.partition("=")
            name, value = name.strip(_WHITE_SPACE), value.strip(_WHITE_SPACE) if equals else "true"
            problem = find_problem(name)
            if problem is not None:
                faults.append(f"line {number}: {problem}")
                continue
            _put(features, name, value, is_wanted=state.is_feature)
            _put(labels, name, value, is_wanted=state.is_label)
            state.is_label = state.is_feature = True
    return FeatureFile(features, labels, tuple(faults), min(expiries, default=None))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip(_WHITE_SPACE)
        if content:
            yield number, content


def _put(target: dict[str, str], name: str, value: str, *, is_wanted: bool) -> None:
    if is_wanted:
        target[name] = value
    else:
        target.pop(name, None)


def _direct(state: _State, directive: str) -> str | None:
    """Carry out one directive; the answer is why it could not be."""
    name, _, value = directive.partition("=")
    if name == "no-label":
        state.is_label = False
    elif name == "no-feature":
        state.is_feature = False
    elif name == "expiry-time":
        expiry = parse_time(value.strip(_WHITE_SPACE))
        if expiry is None:
            return f"expiry-time {value[:60]!r} is no time as 2031-05-06T07:08:09Z; the lines below keep the one before"
        state.expiry = expiry
    else:
        return f"{directive[:60]!r} is no directive; there are expiry-time, no-label and no-feature"
    return None


def parse_time(text: str) -> int | None:
    """The instant of an RFC 3339 time, in nanoseconds since the epoch; ``None`` if it is no such time."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, offset_hour, offset_minute = found.groups()[6:]
    if hour > 23 or minute > 59 or second > 59 or int(offset_hour or 0) > 24 or int(offset_minute or 0) > 60:  # noqa: PLR2004 # a clock
        return None
    try:
        days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    offset = (int(offset_hour or 0) * 60 + int(offset_minute or 0)) * (-60 if sign == "-" else 60)
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    return seconds * _NANOSECONDS + int((fraction or "0")[:9].ljust(9, "0"))


def nanoseconds(instant: datetime) -> int:
    """An instant as :func:`parse_time` gives it, without the rounding of a floating-point number."""
    since = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1_000
