"""Times at which something that is known stops to count, unless more is heard before."""

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nodeworthy.fleet import Producer

MAX_STALE = 100_000
"""Times that were set and mean nothing any more, before they are swept: whoever states an expiry sets one with each word."""


class Lapse(NamedTuple):
    """What a producer said of a node stops to count."""

    time: float
    node: str
    producer: Producer
    heard: int
    """How often something was heard of the producer when the time was set."""
    reason: str
    """Why its facts are unknown then; empty: it is forgotten."""


class Lapses:
    """The times that were set, the next one first."""

    def __init__(self, means_something: Callable[[Lapse], bool]) -> None:
        """``means_something`` tells whether nothing was heard since a time was set."""
        self._means_something = means_something
        self._planned: list[Lapse] = []
        self._swept = 0

    def __len__(self) -> int:
        return len(self._planned)

    def plan(self, lapse: Lapse) -> None:
        """Set a time."""
        heapq.heappush(self._planned, lapse)
        if len(self._planned) > 2 * self._swept + MAX_STALE:
            self._planned = [one for one in self._planned if self._means_something(one)]
            heapq.heapify(self._planned)
            self._swept = len(self._planned)

    def due(self, now: float) -> Iterator[Lapse]:
        """Those whose time has come; each is given once."""
        while self._planned and self._planned[0].time <= now:
            lapse = heapq.heappop(self._planned)
            if self._means_something(lapse):
                yield lapse
