"""What has to be looked at again, and when: the timer, changed files, and those who ask, gathered into rounds."""

import asyncio
import random
from collections.abc import Callable, Collection
from typing import NamedTuple

from nodeworthy.bus.records import MAX_RESCANS
from nodeworthy.processes import EventLog
from nodeworthy_detector.settings import Pace

_LOG = EventLog("detector")

MAX_WAITING = 10 * MAX_RESCANS
"""Ids of rescans that wait for a snapshot; more are refused, which their askers notice by their own time limit."""


class Round(NamedTuple):
    """One look at the machine."""

    sources: frozenset[str] | None
    """Which sources; ``None``: all."""
    rescans: tuple[str, ...] = ()
    """The requests that its snapshot answers."""


class Allowance:
    """So many at once, and then one in so many seconds."""

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst = burst
        self._seconds = seconds
        self._used_until = float("-inf")

    def take(self, now: float) -> float:
        """The time from which the next one may happen, ``now`` or later."""
        allowed = max(now, self._used_until - (self._burst - 1) * self._seconds)
        self._used_until = max(self._used_until, now) + self._seconds
        return allowed


class Agenda:
    """Gathers what is asked for until a round is due; the first round is due at once and is over everything."""

    def __init__(
        self, pace: Pace, clock: Callable[[], float], *, jitter: Callable[[float, float], float] = random.uniform
    ) -> None:
        self._pace = pace
        self._clock = clock
        self._jitter = jitter
        self._wake = asyncio.Event()
        self._changes = Allowance(pace.burst, pace.burst_seconds)
        self._requests = Allowance(pace.burst, pace.burst_seconds)
        self._timer = clock()
        self._settled: float | None = None
        self._first_change = 0.0
        self._earliest = 0.0
        self._asked: float | None = None
        self._sources: set[str] = set()
        self._is_full = False
        self._rescans: list[str] = []

    def note_change(self, source: str) -> None:
        """Files of a source changed: look when it has been quiet for a moment, or the burst has lasted long enough."""
        now = self._clock()
        if self._settled is None:
            self._first_change, self._earliest = now, self._changes.take(now)
        self._sources.add(source)
        self._settled = max(min(now + self._pace.quiet, self._first_change + self._pace.longest), self._earliest)
        self._wake.set()

    def ask_rescan(self, request: str, sources: Collection[str]) -> bool:
        """Look soon, and let the snapshot carry the request's id; ``False``: too many wait already."""
        if len(self._rescans) >= MAX_WAITING:
            return False
        if request not in self._rescans:
            self._rescans.append(request)
        self._sources.update(sources)
        self._is_full = self._is_full or not sources
        self._ask()
        return True

    def postpone(self, cpu_seconds: float) -> None:
        """Put the next round over everything off where this one cost much: a machine's own work comes first."""
        self._timer = max(self._timer, self._clock() + cpu_seconds / self._pace.share)

    async def take(self) -> Round:
        """Wait until a round is due; what else was asked for by then is done with it."""
        while (wait := self.due - self._clock()) > 0:
            self._wake.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                continue
        return self.gather()

    @property
    def due(self) -> float:
        """When the next round is due, on the clock."""
        return min(due for due in (self._timer, self._settled, self._asked) if due is not None)

    def gather(self) -> Round:
        """A round over everything that was asked for until now, due or not."""
        now = self._clock()
        is_full = self._is_full or now >= self._timer
        rescans, left = self._rescans[:MAX_RESCANS], self._rescans[MAX_RESCANS:]
        found = Round(None if is_full else frozenset(self._sources), tuple(rescans))
        if is_full:
            self._timer = now + self._jitter(1 - self._pace.jitter, 1 + self._pace.jitter) * self._pace.seconds
        self._settled = self._asked = None
        self._sources, self._is_full = set(), False
        self._rescans = []
        for request in left:
            self.ask_rescan(request, ())
        return found

    def _ask(self) -> None:
        if self._asked is None:
            self._asked = self._requests.take(self._clock())
        self._wake.set()
