"""When a request is sent again, and after how long; pure."""

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_PASSING = frozenset({429, 502, 503, 504})
"""Too many requests, and what a proxy says of a server that is just then restarted or overloaded."""

_FIRST_WAIT, _LONGEST_BACKOFF = 0.25, 8.0
"""Seconds; doubled each time. Three waits of 0.25 to 1 s pass over the restart of one server behind a load balancer."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})


def is_safe(method: str) -> bool:
    """Whether sending the request twice does what sending it once does. Uploads are steps of a session, so none is."""
    return method in _SAFE_METHODS


def is_passing(status: int) -> bool:
    """Whether an answer says that the same request may get another one later."""
    return status in _PASSING


def is_worth_it(status: int, attempt: int) -> bool:
    """Whether the answer to attempt number ``attempt`` (the first is 0) may be another one next time.

    An internal error may be a passing one too, but mostly is not: it gets one more chance.
    """
    return is_passing(status) or (status == 500 and attempt == 0)  # noqa: PLR2004 # HTTP's number


def backoff(attempt: int, jitter: Callable[[], float]) -> float:
    """Seconds to wait after attempt number ``attempt``: a random part of a doubling time; clients must not come in step."""
    return min(_FIRST_WAIT * float(2**attempt), _LONGEST_BACKOFF) * (0.5 + jitter() / 2)


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Seconds that a Retry-After asks for, ``120`` or ``Fri, 31 Dec 1999 23:59:59 GMT``; ``None`` if it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])  # ten digits are three centuries; more would only overflow
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # of numbers that no date has
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
