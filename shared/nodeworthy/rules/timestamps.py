"""Points in time as NFD reads them: RFC 3339 through Go's time.Parse, with its liberties."""

import re
from calendar import monthrange

_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,][0-9]+)?"
    r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))"
)
_LEAP_YEAR_ZERO = 400
# The calendar module begins with year 1; year 0 has the days of year 400.


def is_timestamp(text: str) -> bool:
    """Whether ``text`` is a time such as ``2031-05-06T07:08:09Z``.

    Other than RFC 3339, Go takes an hour of one digit, a comma before the fraction, and offsets up to 24:60, and it does not
    take lower-case letters or the leap second 60.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return False
    year, month, day, hour, minute, second, off_hour, off_minute = (int(part or 0) for part in found.groups())
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year or _LEAP_YEAR_ZERO, month)[1]:  # noqa: PLR2004 # months
        return False
    return hour <= 23 and minute <= 59 and second <= 59 and off_hour <= 24 and off_minute <= 60  # noqa: PLR2004 # a clock
