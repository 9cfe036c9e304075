"""Points in time, durations and Go's layouts for them (https://pkg.go.dev/time#pkg-constants)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BILLION = 1_000_000_000
_CYCLE_YEARS = 400
_CYCLE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar and its days of the week repeat; Python knows the years 1 to 9999 only."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_LAYOUT = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|__2|_2(?!006)|002|0[1-6]|15|PM|pm"
    r"|-07:00:00|-070000|-07:00|-0700|-07|Z07:00:00|Z070000|Z07:00|Z0700|Z07|[.,](?:0+|9+)(?![0-9])|[1-5]"
)
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": _BILLION,
    "m": 60 * _BILLION,
    "h": 3600 * _BILLION,
}
_DURATION = re.compile(rf"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))({'|'.join(_UNITS)})")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, to the nanosecond."""

    nanoseconds: int
    """Since 1970-01-01 UTC."""
    offset: int = 0
    """Seconds east of UTC."""
    zone: str = "UTC"
    """The name of the offset; empty where only the offset is known."""

    go_type: ClassVar[str] = "time.Time"
    go_kind: ClassVar[str] = "struct"

    def calendar(self) -> tuple[int, datetime]:
        """Year and, in a like year, date and time of day at the offset."""
        cycles, seconds = divmod(self.nanoseconds // _BILLION + self.offset, _CYCLE)
        like = _EPOCH + timedelta(seconds=seconds)
        return like.year + cycles * _CYCLE_YEARS, like

    def __str__(self) -> str:
        return format_moment(self, "2006-01-02 15:04:05.999999999 -0700 MST")

    def json_text(self) -> str:
        """The text that stands for it in JSON."""
        return format_moment(self, "2006-01-02T15:04:05.999999999Z07:00")


ZERO = Moment(int((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * _BILLION)
"""Go's zero time, which a text that is no time becomes."""


def parse_layout(layout: str) -> list[tuple[str, bool]]:
    """The parts of a layout, and whether each stands for a part of a time."""
    parts: list[tuple[str, bool]] = []
    position = 0
    for found in _LAYOUT.finditer(layout):
        if found.start() > position:
            parts.append((layout[position : found.start()], False))
        parts.append((found[0], True))
        position = found.end()
    return [*parts, (layout[position:], False)]


def format_moment(moment: Moment, layout: str) -> str:
    """A time in a layout of Go."""
    year, time = moment.calendar()
    return "".join([_formatted(part, year, time, moment) if stands else part for part, stands in parse_layout(layout)])


def _formatted(part: str, year: int, time: datetime, moment: Moment) -> str:
    hour = time.hour % 12 or 12
    simple: dict[str, Callable[[], str]] = {
        "2006": lambda: f"{year:04}" if year >= 0 else f"{year:05}",
        "06": lambda: f"{year % 100:02}",
        "January": lambda: _MONTHS[time.month - 1],
        "Jan": lambda: _MONTHS[time.month - 1][:3],
        "01": lambda: f"{time.month:02}",
        "1": lambda: str(time.month),
        "Monday": lambda: _DAYS[time.weekday()],
        "Mon": lambda: _DAYS[time.weekday()][:3],
        "02": lambda: f"{time.day:02}",
        "_2": lambda: f"{time.day:2}",
        "2": lambda: str(time.day),
        "002": lambda: f"{time.timetuple().tm_yday:03}",
        "__2": lambda: f"{time.timetuple().tm_yday:3}",
        "15": lambda: f"{time.hour:02}",
        "03": lambda: f"{hour:02}",
        "3": lambda: str(hour),
        "04": lambda: f"{time.minute:02}",
        "4": lambda: str(time.minute),
        "05": lambda: f"{time.second:02}",
        "5": lambda: str(time.second),
        "PM": lambda: "AM" if time.hour < 12 else "PM",  # noqa: PLR2004 # noon
        "pm": lambda: "am" if time.hour < 12 else "pm",  # noqa: PLR2004 # noon
        "MST": lambda: moment.zone or _offset("-0700", moment.offset),
    }
    if part in simple:
        return simple[part]()
    if part[0] in ".,":
        return _fraction(part, moment.nanoseconds % _BILLION)
    return _offset(part, moment.offset)


def _fraction(part: str, nanoseconds: int) -> str:
    digits = f"{nanoseconds:09}"[: len(part) - 1]
    if part[1] == "9":
        digits = digits.rstrip("0")
    return part[0] + digits if digits else ""


def _offset(part: str, offset: int) -> str:
    if part[0] == "Z" and offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    fields = [f"{minutes // 60:02}"]
    if len(part) > len("-07"):
        fields.append(f"{minutes % 60:02}")
    if len(part) > len("-07:00"):
        fields.append(f"{seconds:02}")
    return ("-" if offset < 0 else "+") + (":" if ":" in part else "").join(fields)


_FIELDS = {
    "2006": r"(?P<year>[0-9]{4})",
    "06": r"(?P<short_year>[0-9]{2})",
    "January": rf"(?P<month_name>{'|'.join(_MONTHS)})",
    "Jan": rf"(?P<month_name>{'|'.join(name[:3] for name in _MONTHS)})",
    "01": r"(?P<month>[0-9]{2})",
    "1": r"(?P<month>[0-9]{1,2})",
    "Monday": f"(?:{'|'.join(_DAYS)})",
    "Mon": f"(?:{'|'.join(name[:3] for name in _DAYS)})",
    "02": r"(?P<day>[0-9]{2})",
    "_2": r" ?(?P<day>[0-9]{1,2})",
    "2": r" ?(?P<day>[0-9]{1,2})",
    "002": r"(?P<year_day>[0-9]{3})",
    "__2": r" {0,2}(?P<year_day>[0-9]{1,3})",
    "15": r"(?P<hour>[0-9]{1,2})",
    "03": r"(?P<half_hour>[0-9]{2})",
    "3": r"(?P<half_hour>[0-9]{1,2})",
    "04": r"(?P<minute>[0-9]{2})",
    "4": r"(?P<minute>[0-9]{1,2})",
    "05": r"(?P<second>[0-9]{2})(?P<fraction>[.,][0-9]{1,9})?",
    "5": r"(?P<second>[0-9]{1,2})(?P<fraction>[.,][0-9]{1,9})?",
    "PM": "(?P<half>AM|PM)",
    "pm": "(?P<half>am|pm)",
    "MST": "(?P<zone>[A-Z]{3,4})",
}


def parse_moment(text: str, layout: str) -> Moment | None:
    """The time that a text is in a layout of Go; ``None`` if it is none."""
    pattern, seen = _pattern(layout)
    found = re.fullmatch(pattern, text, re.IGNORECASE | re.ASCII) if pattern is not None else None
    if found is None:
        return None
    fields = {name: found[name] for name in seen if found[name] is not None}
    try:
        return _moment(fields)
    except (ValueError, OverflowError):
        return None


def _pattern(layout: str) -> tuple[str | None, set[str]]:
    parts: list[str] = []
    seen: set[str] = set()
    for part, stands in parse_layout(layout):
        pattern = _field_pattern(part, has_second="second" in seen) if stands else re.escape(part)
        names = set(re.findall(r"\?P<(\w+)>", pattern)) if stands else set()
        if names & seen:
            # One part twice: Go takes the last one, which nobody means.
            return None, seen
        seen |= names
        parts.append(pattern)
    return "".join(parts), seen


def _field_pattern(part: str, *, has_second: bool) -> str:
    if part in _FIELDS:
        return _FIELDS[part]
    if part[0] in ".,":
        # The second has taken its fraction.
        return "" if has_second else f"(?P<fraction>[.,][0-9]{{{len(part) - 1}}})"
    digits = "(?::?[0-9]{2}){2}" if len(part) > len("-07:00") else ":?[0-9]{2}" if len(part) > len("-07") else ""
    digits = digits if ":" in part else digits.replace(":?", "")
    return f"(?P<offset>{'Z|' if part[0] == 'Z' else ''}[+-][0-9]{{2}}{digits})"


def _moment(fields: dict[str, str]) -> Moment:
    year = int(fields.get("year", "0"))
    if "short_year" in fields:
        short = int(fields["short_year"])
        year = short + (1900 if short >= 69 else 2000)  # noqa: PLR2004 # time.Parse's turn of the century
    month = int(fields.get("month", "1"))
    if "month_name" in fields:
        month = next(
            number for number, name in enumerate(_MONTHS, 1) if name.lower().startswith(fields["month_name"].lower())
        )
    hour = int(fields.get("hour", "0"))
    if "half_hour" in fields:
        hour = int(fields["half_hour"])
        if not 1 <= hour <= 12:  # noqa: PLR2004 # half a day
            raise ValueError("no hour of half a day")
        if "half" in fields:
            hour = hour % 12 + (12 if fields["half"].lower() == "pm" else 0)
    minute, second = int(fields.get("minute", "0")), int(fields.get("second", "0"))
    cycles, like_year = year // _CYCLE_YEARS - 5, year % _CYCLE_YEARS + 5 * _CYCLE_YEARS
    start = datetime(like_year, month, int(fields.get("day", "1")), hour, minute, second, tzinfo=UTC)
    if "year_day" in fields and "day" not in fields:
        start = start.replace(month=1, day=1) + timedelta(days=int(fields["year_day"]) - 1)
        if start.year != like_year:
            raise ValueError("no day of that year")
    offset = _parse_offset(fields.get("offset", "Z"))
    seconds = (start - _EPOCH) // timedelta(seconds=1) + cycles * _CYCLE - offset
    nanoseconds = int(fields.get("fraction", ".0")[1:].ljust(9, "0"))
    zone = fields.get("zone", "UTC" if not offset else "").upper()
    return Moment(seconds * _BILLION + nanoseconds, offset, zone)


def _parse_offset(text: str) -> int:
    if text in "zZ":
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if hours > 24 or minutes > 59 or seconds > 59:  # noqa: PLR2004 # a day and its parts
        raise ValueError("no offset")
    offset = hours * 3600 + minutes * 60 + seconds
    return -offset if text[0] == "-" else offset


def parse_duration(text: str) -> int | None:
    """The nanoseconds of a duration as ``1h30m`` or ``-1.5s``; ``None`` if it is none or does not fit into 64 bits."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total = position = 0
    while position < len(rest):
        found = _DURATION.match(rest, position)
        if found is None:
            return None
        number, fraction, only_fraction, unit = found.groups("")
        if len(number) > _MAX_DIGITS:
            return None
        digits = (fraction or only_fraction)[:_MAX_DIGITS]
        total += int(number or "0") * _UNITS[unit] + (int(digits) * _UNITS[unit] // 10 ** len(digits) if digits else 0)
        position = found.end()
    if not rest or total > 2**63 - (text[0] != "-"):
        return None
    return -total if text[0] == "-" else total


_MAX_DIGITS = 19
"""More digits than 64 bits have."""


def duration_text(nanoseconds: int) -> str:
    """A duration as Go writes it: ``1h0m0s``, ``1.5s``, ``300ms``."""
    size = abs(nanoseconds)
    if size < _BILLION:
        unit = next((name for name in ("ms", "\u00b5s") if size >= _UNITS[name]), "ns")
        text = f"{_decimal(size, _UNITS[unit])}{unit}" if size else "0s"
    else:
        minutes, rest = divmod(size, 60 * _BILLION)
        text = f"{_decimal(rest, _BILLION)}s"
        text = f"{minutes % 60}m{text}" if minutes else text
        text = f"{minutes // 60}h{text}" if minutes >= 60 else text  # noqa: PLR2004 # minutes of an hour
    return ("-" if nanoseconds < 0 else "") + text


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    fraction = f"{rest:0{len(str(unit)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
