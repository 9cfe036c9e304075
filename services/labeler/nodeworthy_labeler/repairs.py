"""Sets whose stored bytes are not what their digest says: they are purged, and whoever named them puts them again.

A set is written once, so nobody can put the right bytes as long as the wrong ones are there.
"""

import asyncio
from dataclasses import dataclass

from nodeworthy.bus.keys import set_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import PublishedSnapshot, ask_resync
from nodeworthy.bus.pending import PendingSettings
from nodeworthy.bus.sets import SetReader
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError
from nodeworthy.processes import EventLog

_LOG = EventLog("labeler")

RESYNC_SECONDS = PendingSettings.wait + 1.0
"""From the purge to the request to put the set again. A reader believes for a while that a bad set is bad."""

MAX_WAITING = 1000
"""Sets that wait to be purged; more are found when they are read again."""


@dataclass(frozen=True, slots=True)
class _Repair:
    digest: str
    revision: int
    node: str
    """Of the nodes that name the set, the first one that was seen."""


class Repairs:
    """Repairs what snapshots show to be bad."""

    def __init__(self, store: Store, sets: SetReader, *, resync_seconds: float = RESYNC_SECONDS) -> None:
        self._store = store
        self._sets = sets
        self._resync_seconds = resync_seconds
        self._waiting: dict[str, _Repair] = {}
        """By digest."""
        self._wake = asyncio.Event()
        self.purged = 0

    def look_at(self, said: PublishedSnapshot) -> None:
        """Note the bad sets that a snapshot names."""
        for name in said.missing:
            digest = said.message.sets[name].digest
            revision = self._sets.bad.get(digest)
            if revision is not None and len(self._waiting) < MAX_WAITING:
                self._waiting[digest] = _Repair(digest, revision, said.node)
                self._wake.set()

    async def run(self) -> None:
        """Repair until cancelled; what fails is tried again when the set is read again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            repairs, self._waiting = tuple(self._waiting.values()), {}
            try:
                for repair in repairs:
                    await self._purge(repair)
                await asyncio.sleep(self._resync_seconds)
                for node in sorted({repair.node for repair in repairs}):
                    await ask_resync(self._store, node, "a set that it names was bad")
            except BusError as error:
                _LOG.warning("labeler.sets_not_repaired", count=len(repairs), error=str(error))

    async def _purge(self, repair: _Repair) -> None:
        count = await self._store.purge(Bucket.SETS, set_key(repair.digest), up_to=repair.revision)
        self.purged += count
        _LOG.warning("labeler.bad_set_purged", about=repair.digest, digest=repair.digest, node=repair.node, count=count)
