"""sprig's functions of times. They work on times that a template gives; the clock is never read, and the zone is UTC."""

from collections.abc import Mapping

from nodeworthy.rules.templating.functions.conversions import parse_decimal
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.moments import (
    ZERO,
    Moment,
    duration_text,
    format_moment,
    parse_duration,
    parse_moment,
)
from nodeworthy.rules.templating.problems import FunctionError, shown
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Int64, Value, type_name, wrap_int64

_SECOND = 1_000_000_000
_UTC_NAMES = frozenset({"", "UTC", "Local"})
_HOUR = 3600 * _SECOND
_LARGE_UNITS = (
    ("y", 365 * 24 * _HOUR),
    ("mo", 30 * 24 * _HOUR),
    ("d", 24 * _HOUR),
    ("h", _HOUR),
    ("m", 60 * _SECOND),
    ("s", _SECOND),
)


def _moment(value: Value) -> Moment:
    if isinstance(value, Moment):
        return value
    if type(value) is int or isinstance(value, Int64):
        return Moment(int(value) * _SECOND)
    raise FunctionError(f"this needs a time or the seconds since 1970, not {type_name(value)}; the clock is not read")


def date(budget: Budget, layout: str, value: object) -> str:
    """A time, or seconds since 1970, in a layout of Go, in UTC."""
    budget.spend(len(layout))
    return format_moment(Moment(_moment(value).nanoseconds), layout)


def date_in_zone(budget: Budget, layout: str, value: object, zone: str) -> str:
    """As :func:`date`. Other zones than UTC would need a database that not every machine has."""
    if zone not in _UTC_NAMES:
        raise FunctionError(f"the zone {shown(zone)} is not known here: only UTC is")
    return date(budget, layout, value)


def html_date(budget: Budget, value: object) -> str:
    """A time as ``2006-01-02``."""
    return date(budget, "2006-01-02", value)


def html_date_in_zone(budget: Budget, value: object, zone: str) -> str:
    """As :func:`html_date`."""
    return date_in_zone(budget, "2006-01-02", value, zone)


def date_modify(change: str, moment: Moment) -> Moment:
    """A time moved by a duration; as it is where that is none."""
    duration = parse_duration(change)
    return moment if duration is None else _moved(moment, duration)


def must_date_modify(change: str, moment: Moment) -> Moment:
    """A time moved by a duration."""
    duration = parse_duration(change)
    if duration is None:
        raise FunctionError(f"{shown(change)} is no duration")
    return _moved(moment, duration)


def _moved(moment: Moment, duration: int) -> Moment:
    return Moment(moment.nanoseconds + duration, moment.offset, moment.zone)


def to_date(budget: Budget, layout: str, text: str) -> Moment:
    """The time that a text is in a layout of Go; Go's zero time where it is none."""
    budget.spend(len(layout) + len(text))
    return parse_moment(text, layout) or ZERO


def must_to_date(budget: Budget, layout: str, text: str) -> Moment:
    """The time that a text is in a layout of Go."""
    budget.spend(len(layout) + len(text))
    found = parse_moment(text, layout)
    if found is None:
        raise FunctionError(f"{shown(text)} is no time in the layout {shown(layout)}")
    return found


def unix_epoch(moment: Moment) -> str:
    """The seconds since 1970, as text."""
    return str(moment.nanoseconds // _SECOND)


def duration(seconds: object) -> str:
    """Seconds as a duration: ``1m35s``. They come as text or as ``int64``; anything else is 0, as in sprig."""
    number = int(seconds) if isinstance(seconds, Int64) else 0
    if isinstance(seconds, str):
        number = parse_decimal(seconds)
    return duration_text(wrap_int64(number * _SECOND))


def duration_round(value: object) -> str:
    """A duration in its largest unit: ``2h``, ``3mo``."""
    if isinstance(value, Moment):
        raise FunctionError("a time has a duration only by the clock, which is not read")
    nanoseconds = 0
    if isinstance(value, str):
        nanoseconds = parse_duration(value) or 0
    elif isinstance(value, Int64):
        nanoseconds = int(value)
    size = abs(nanoseconds)
    return next((f"{size // unit}{name}" for name, unit in _LARGE_UNITS if size > unit), "0s")


FUNCTIONS: Mapping[str, Function] = {
    "date": date,
    "dateInZone": date_in_zone,
    "date_in_zone": date_in_zone,
    "htmlDate": html_date,
    "htmlDateInZone": html_date_in_zone,
    "dateModify": date_modify,
    "date_modify": date_modify,
    "mustDateModify": must_date_modify,
    "must_date_modify": must_date_modify,
    "toDate": to_date,
    "mustToDate": must_to_date,
    "unixEpoch": unix_epoch,
    "duration": duration,
    "durationRound": duration_round,
}
