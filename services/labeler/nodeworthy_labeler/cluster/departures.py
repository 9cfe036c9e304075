"""What the bus holds of nodes that the cluster does not have any more: it is removed when they were gone for a while."""

import asyncio
from collections.abc import Callable, Iterable

from nodeworthy.bus.keys import KUBERNETES, snapshot_key
from nodeworthy.bus.names import Bucket, encode_token
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusConflictError, BusError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.members import Sharing

_LOG = EventLog("labeler")

_LOOKS = 60.0
"""How many looks there are in the time that a node may be gone, so that it is at most a sixtieth late."""


class Departures:
    """Removes the keys of nodes that are gone.

    Args:
        store: The bus.
        members: Who removes what.
        missing: The nodes that somebody speaks of on the bus and that the cluster does not have now.
        seconds: How long a node is gone before its keys are removed.
        write_seconds: How long one write may take.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        store: Store,
        members: Sharing,
        missing: Callable[[], Iterable[str]],
        *,
        seconds: float,
        write_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._members = members
        self._missing = missing
        self._seconds = seconds
        self._write_seconds = write_seconds
        self._clock = clock
        self._since: dict[str, float] = {}
        self.removed = 0
        """Keys that were removed."""

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds / _LOOKS)
            for node in self._due():
                if self._members.is_mine(node) and self._members.has_lease(self._write_seconds):
                    await self._clear(node)

    def _due(self) -> list[str]:
        now = self._clock()
        self._since = {node: self._since.get(node, now) for node in self._missing()}
        return [node for node, since in self._since.items() if now - since >= self._seconds]

    async def _clear(self, node: str) -> None:
        """Remove what is there now; whoever speaks of the node in between wins."""
        try:
            page = await self._store.read_bucket(Bucket.NODES, keys=f"{encode_token(node)}.>")
            last = self._store.names.key_subject(Bucket.NODES, snapshot_key(node, KUBERNETES))
            # That the Node is gone is said until nothing is left that it could be said of.
            for stored in sorted(page.messages, key=lambda one: one.subject == last):
                if not stored.is_removal:
                    key = stored.subject.removeprefix(self._store.names.key_subject(Bucket.NODES, ""))
                    await self._store.remove(Bucket.NODES, key, expected=stored.revision)
                    self.removed += 1
        except BusConflictError:
            return
        except BusError as error:
            _LOG.warning("labeler.departed_not_cleared", about=node, node=node, error=str(error))
            return
        _LOG.info("labeler.departed_cleared", about=node, node=node)
