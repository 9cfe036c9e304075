"""Sets that a snapshot names and that are not there yet: waited for together, for a short time.

Two streams are not ordered against each other, and a set may have been purged or lost while its digest is still named. Many
snapshots name the same set, so what waits is the digest, not each snapshot.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nodeworthy.bus.sets import SetReader
from nodeworthy.errors import BusContentError, BusError, UsageError
from nodeworthy.features import FeatureSet
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")


@dataclass(frozen=True)
class PendingSettings:
    """How long sets are waited for, in seconds."""

    wait: float = 5.0
    """After this the set is unknown; until then the snapshot before counts."""
    look: float = 0.25
    """Between two looks."""
    asks: int = 3
    """Nodes that are asked to put one set again; each of them puts the same."""
    fetches: int = 64
    """At once."""


class MissingSetError(BusError):
    """A set is not on the bus, also after waiting for it."""


class PendingSets:
    """Gets sets by digest; ``ask_again`` is called with a node that named a set which is not there, or is bad."""

    def __init__(
        self, reader: SetReader, ask_again: Callable[[str, str], None], *, settings: PendingSettings = PendingSettings()
    ) -> None:
        self.reader = reader
        self._ask_again = ask_again
        self._settings = settings
        self._fetching: dict[str, asyncio.Task[FeatureSet | BusError]] = {}
        self._failed: dict[str, float] = {}
        """Digests that did not come, and until when no snapshot waits for them."""
        self._askers: dict[str, dict[str, bool]] = {}
        """Digest to the first nodes that named it, and whether each was asked."""
        self._slots = asyncio.Semaphore(settings.fetches)

    def fetch(self, group: asyncio.TaskGroup, digest: str, node: str) -> asyncio.Task[FeatureSet | BusError]:
        """The content of a digest that a snapshot of ``node`` names, or why it is not known, when the task is done.

        All who want it wait for this one task, and nobody may cancel it. Why it is not known is a :class:`MissingSetError`,
        or a :class:`~nodeworthy.errors.BusContentError`: what is there is not what the digest says.
        """
        nodes = self._askers.setdefault(digest, {})
        if len(nodes) < self._settings.asks:
            nodes.setdefault(node, False)
        task = self._fetching.get(digest)
        if task is None:
            # What was waited for in vain just now is looked for once: this snapshot may have come with it.
            is_failed = asyncio.get_running_loop().time() < self._failed.get(digest, 0.0)
            wait = 0.0 if is_failed else self._settings.wait
            task = group.create_task(self._fetch(digest, wait), name=f"set {digest}")
            self._fetching[digest] = task
        return task

    async def _fetch(self, digest: str, wait: float) -> FeatureSet | BusError:
        """The content or the error; raising would end the task group, and with it everything else."""
        loop = asyncio.get_running_loop()
        end = loop.time() + wait
        try:
            while True:
                async with self._slots:
                    found = await self._look(digest)
                if isinstance(found, FeatureSet):
                    self._failed.pop(digest, None)
                    self._askers.pop(digest, None)
                    return found
                self._ask(digest, found)
                if isinstance(found, BusContentError) or loop.time() >= end:
                    self._remember(digest, loop.time() + self._settings.wait)
                    return found
                await asyncio.sleep(self._settings.look)
        finally:
            del self._fetching[digest]

    async def _look(self, digest: str) -> FeatureSet | BusError:
        missing = MissingSetError(f"set {digest} is not on the bus", why="its node was asked to put it again")
        try:
            return await self.reader.fetch(digest) or missing
        except UsageError as error:
            return BusContentError(f"{digest[:80]!r} is no digest", why=error.why)
        except BusContentError as error:
            return error
        except BusError as error:  # the bus does not answer: the same as not there yet
            _LOG.debug("bus.set_not_read", digest=digest, error=str(error))
            return missing

    def _remember(self, digest: str, until: float) -> None:
        self._failed[digest] = until
        while len(self._failed) > _MAX_FAILED:
            oldest = next(iter(self._failed))
            del self._failed[oldest]
            self._askers.pop(oldest, None)

    def _ask(self, digest: str, error: BusError) -> None:
        nodes = self._askers.get(digest, {})
        for node in [node for node, was_asked in nodes.items() if not was_asked]:
            nodes[node] = True
            self._ask_again(node, str(error))


_MAX_FAILED = 10_000
"""Digests that are remembered as missing; whoever can write snapshots can name as many as he likes."""
