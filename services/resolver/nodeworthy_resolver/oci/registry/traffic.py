"""What registries were asked, and how hard they hold us back; for pacing, and for whoever counts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from yarl import URL

from nodeworthy.errors import RegistryBusyError
from nodeworthy.processes import EventLog
from nodeworthy_resolver.oci.registry.answers import Answer, display_host

_LOG = EventLog("resolver")

MAX_HOSTS = 1000
"""Hosts of which something is remembered."""
LONGEST_PAUSE = 3600.0
"""Seconds for which a host is left alone at most, whatever it asks for; then one request finds out."""
LOW = 0.1
"""Part of a limit from which on it is told: with a tenth left there is time to log in or to set a mirror up."""

_Value = TypeVar("_Value")

_NUMBER = re.compile(r"\s*(\d{1,12})\s*(?:;|,|$)")
_WINDOW = re.compile(r";\s*w\s*=\s*(\d{1,9})")


@dataclass(frozen=True)
class RateLimit:
    """What a registry says of its limit: ``RateLimit-Limit: 100;w=21600`` and ``RateLimit-Remaining: 76;w=21600``."""

    limit: int
    remaining: int
    seconds: int | None = None
    """The window."""

    @property
    def left(self) -> float:
        """The part of the limit that is left."""
        return min(self.remaining / self.limit, 1.0) if self.limit else 0.0


def parse_rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    """A registry's word on its limit (Docker Hub, "Pull usage and limits"); ``None``: it says nothing that can be read."""
    limit = _NUMBER.match(headers.get("RateLimit-Limit", ""))
    remaining = _NUMBER.match(headers.get("RateLimit-Remaining", ""))
    if limit is None or remaining is None:
        return None
    window = _WINDOW.search(headers.get("RateLimit-Limit", ""))
    return RateLimit(int(limit[1]), int(remaining[1]), int(window[1]) if window else None)


class Traffic:
    """What one client's requests met."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.requests: Counter[tuple[str, str]] = Counter()
        """By method, and by what came back: ``2xx`` to ``5xx``, ``429``, ``failed``."""
        self.waits: dict[str, float] = {"asked": 0.0, "backoff": 0.0}
        """Seconds waited before a request was sent again: ``asked`` by Retry-After, or by ``backoff`` of our own."""
        self.held_back = 0
        """Requests that were not sent, since the registry had asked to be left alone."""
        self._pauses: dict[str, float] = {}
        self._limits: dict[str, RateLimit] = {}

    @property
    def paused(self) -> int:
        """Hosts that are left alone now."""
        now = self._clock()
        return sum(until > now for until in self._pauses.values())

    @property
    def lowest_left(self) -> float:
        """The smallest part of a limit that any registry said is left; 1 where none has one."""
        return min((limit.left for limit in self._limits.values()), default=1.0)

    def check(self, url: URL) -> None:
        """See that a host does not want to be left alone.

        Raises:
            RegistryBusyError: it does. Asking all the same would make it ask for longer.
        """
        left = self._pauses.get(url.authority, 0.0) - self._clock()
        if left > 0:
            self.held_back += 1
            raise RegistryBusyError(
                f"{display_host(url)} is not asked now",
                why=f"it asked to be left alone for {left:.0f} s more",
                todo="try again later",
            )

    def pause(self, url: URL, seconds: float) -> None:
        """Leave a host alone, as it asked."""
        self._keep(self._pauses, url.authority, self._clock() + min(seconds, LONGEST_PAUSE))

    def count_failure(self, method: str) -> None:
        """Count a request without an answer."""
        self.requests[method, "failed"] += 1

    def count_wait(self, reason: str, seconds: float) -> None:
        """Count a wait before a request is sent again."""
        self.waits[reason] += seconds

    def note(self, method: str, answer: Answer) -> None:
        """Count an answer, and remember what it says of limits."""
        is_limited = answer.status == 429  # noqa: PLR2004 # HTTP's number
        self.requests[method, "429" if is_limited else f"{answer.status // 100}xx"] += 1
        limit = parse_rate_limit(answer.headers)
        if limit is None:
            return
        host = answer.url.authority
        before = self._limits.get(host)
        if limit.left < LOW and (before is None or before.left >= LOW):
            said = {"limit": limit.limit, "remaining": limit.remaining, "window_seconds": limit.seconds}
            _LOG.warning("resolver.rate_limit_low", about=host, host=display_host(answer.url), **said)
        self._keep(self._limits, host, limit)

    def _keep(self, memory: dict[str, _Value], host: str, value: _Value) -> None:
        if host not in memory and len(memory) >= MAX_HOSTS:
            memory.pop(next(iter(memory)))
        memory[host] = value
