"""What has to be looked at again, and when: each source's timer, what changed, and those who ask, gathered into rounds."""

import asyncio
import random
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from nodeworthy.bus.records import MAX_RESCANS
from nodeworthy_detector.settings import Pace

MAX_WAITING = 10 * MAX_RESCANS
"""Ids of rescans that wait for a snapshot; more are refused, which their askers notice by their own time limit."""


class Round(NamedTuple):
    """One look at the machine."""

    sources: frozenset[str]
    """Which sources."""
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


class _Plan:
    """When one source is to be looked at; one that many things change harms no other."""

    def __init__(self, pace: Pace, interval: float, now: float) -> None:
        self._pace = pace
        self._changes = Allowance(pace.burst, pace.burst_seconds)
        self._first_change = 0.0
        self._earliest = 0.0
        self._rested = 0.0
        self.interval = interval
        self.timer = now
        """When it is due though nothing happened."""
        self.settled: float | None = None
        """When it is due since something changed; ``None``: nothing did."""

    @property
    def due(self) -> float:
        return self.timer if self.settled is None else min(self.timer, self.settled)

    def note_change(self, now: float) -> None:
        if self.settled is None:
            self._first_change, self._earliest = now, max(self._changes.take(now), self._rested)
        self.settled = max(min(now + self._pace.quiet, self._first_change + self._pace.longest), self._earliest)

    def note_look(self, now: float, seconds: float) -> None:
        self.timer, self.settled = now + seconds, None

    def note_outcome(self, now: float, cpu_seconds: float, expires_in: float | None) -> None:
        if expires_in is not None:
            self.timer = min(self.timer, now + max(expires_in, 0.0) + self._pace.quiet)
        self.timer = max(self.timer, now + cpu_seconds / self._pace.share)
        self._rested = now + cpu_seconds / self._pace.busy_share

    def change_interval(self, interval: float) -> None:
        self.timer += min(interval - self.interval, 0.0)  # a longer one holds from the next look
        self.interval = interval


class Agenda:
    """Gathers what is to be looked at until a round is due; the first round is due at once and is over everything."""

    def __init__(
        self,
        pace: Pace,
        clock: Callable[[], float],
        intervals: Mapping[str, float],
        *,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """``intervals`` are the sources' names and the seconds between two looks at each."""
        self._pace = pace
        self._clock = clock
        self._jitter = jitter
        self._wake = asyncio.Event()
        self._requests = Allowance(pace.burst, pace.burst_seconds)
        self._plans = {name: _Plan(pace, interval, clock()) for name, interval in intervals.items()}
        self._asked: float | None = None
        self._sources: set[str] = set()
        self._rescans: list[str] = []

    @property
    def intervals(self) -> Mapping[str, float]:
        """Seconds between two looks at each source, if nothing changes."""
        return {name: plan.interval for name, plan in self._plans.items()}

    def set_intervals(self, intervals: Mapping[str, float]) -> None:
        """Look at these sources from now on, at those that are new at once, and no more at others."""
        now = self._clock()
        self._sources &= intervals.keys()
        for name in self._plans.keys() - intervals.keys():
            del self._plans[name]
        for name, interval in intervals.items():
            if name not in self._plans:
                self._plans[name] = _Plan(self._pace, interval, now)
            elif self._plans[name].interval != interval:
                self._plans[name].change_interval(interval)
        self._wake.set()

    def note_change(self, source: str) -> None:
        """Something of a source changed: look when it has been quiet for a moment, or the burst has lasted long enough."""
        if source in self._plans:  # one that is disabled is looked at by nobody
            self._plans[source].note_change(self._clock())
            self._wake.set()

    def ask_rescan(self, request: str, sources: Collection[str]) -> bool:
        """Look soon, and let the snapshot carry the request's id; ``False``: too many wait already."""
        if len(self._rescans) >= MAX_WAITING:
            return False
        if request not in self._rescans:
            self._rescans.append(request)
        self._sources.update(self._plans.keys() & sources if sources else self._plans)
        if self._asked is None:
            self._asked = self._requests.take(self._clock())
        self._wake.set()
        return True

    def note_look(self, source: str, cpu_seconds: float, expires_in: float | None = None) -> None:
        """Look again when what was found expires; but a machine's own work comes first, so what costs much is put off."""
        if source in self._plans:
            self._plans[source].note_outcome(self._clock(), cpu_seconds, expires_in)

    async def take(self) -> Round:
        """Wait until a round is due."""
        while (wait := self.due - self._clock()) > 0:
            self._wake.clear()
            try:
                async with asyncio.timeout(min(wait, _LONGEST_WAIT)):
                    await self._wake.wait()
            except TimeoutError:
                continue
        return self.gather()

    @property
    def due(self) -> float:
        """When the next round is due, on the clock."""
        dues = [plan.due for plan in self._plans.values()]
        if self._asked is not None:
            dues.append(self._asked)
        return min(dues, default=float("inf"))

    def gather(self) -> Round:
        """A round over every source that is due, or will soon be, and over what was asked for."""
        now = self._clock()
        is_asked = self._asked is not None and now >= self._asked
        chosen = {name for name, plan in self._plans.items() if self._is_due(plan, now)}
        found: tuple[str, ...] = ()
        if is_asked:
            chosen |= self._sources
            found, left = tuple(self._rescans[:MAX_RESCANS]), self._rescans[MAX_RESCANS:]
            self._asked, self._sources, self._rescans = None, set(), []
            for request in left:
                self.ask_rescan(request, chosen)
        # One draw for all: sources that are looked at together now are due together again, which costs one wake-up.
        factor = self._jitter(1 - self._pace.jitter, 1 + self._pace.jitter)
        for name in chosen:
            self._plans[name].note_look(now, factor * self._plans[name].interval)
        return Round(frozenset(chosen), found)

    def _is_due(self, plan: _Plan, now: float) -> bool:
        is_soon = plan.timer - now <= self._pace.jitter * plan.interval
        return is_soon or (plan.settled is not None and plan.settled <= now)


_LONGEST_WAIT = 86_400.0
"""Seconds; a loop cannot wait for ever, which is how long a detector without sources would."""
