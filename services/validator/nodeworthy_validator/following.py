"""Following the bus: facts and labels as they are and as they change, until there is no more bus."""

import asyncio

from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import NodeChange, NodeReader
from nodeworthy.bus.pending import PendingSettings
from nodeworthy.bus.store import Store
from nodeworthy.bus.watching import Complete, Watch
from nodeworthy.processes import EventLog
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.node_labels import NodeLabels

_LOG = EventLog("validator")


class Following:
    """What is read of the bus, and how far that is."""

    def __init__(
        self, store: Store, inventory: Inventory, labels: NodeLabels, metrics: Metrics, *, pending_seconds: float
    ) -> None:
        self._inventory = inventory
        self._labels = labels
        self._metrics = metrics
        self._nodes = NodeReader(store, pending_settings=PendingSettings(wait=pending_seconds))
        self._watch = Watch(store, Bucket.LABELS)
        self._nodes_complete, self._labels_complete = asyncio.Event(), asyncio.Event()

    def why_not_complete(self) -> str:
        """Why not everything was read yet; empty when it was."""
        if not self._nodes_complete.is_set():
            return self._nodes.problem or "the facts of the nodes are being read"
        if not self._labels_complete.is_set():
            return self._watch.problem or "the labels of the nodes are being read"
        return ""

    def why_behind(self) -> str:
        """Why what was read may be old; empty when it is read as it changes."""
        return self._nodes.problem or self._watch.problem

    async def wait(self) -> None:
        """Wait for the first complete read."""
        await self._nodes_complete.wait()
        await self._labels_complete.wait()

    async def follow_nodes(self) -> None:
        """Read facts until cancelled.

        Raises:
            BusDeniedError: this user may not read them.
        """
        await self._nodes.run(self._take)

    async def follow_labels(self) -> None:
        """Read labels until cancelled.

        Raises:
            BusDeniedError: this user may not read them.
        """
        async for change in self._watch.changes():
            if isinstance(change, Complete):
                self._labels_complete.set()
            else:
                self._labels.take(change)
                self._metrics.refused_labels.set(self._labels.refused)

    def _take(self, change: NodeChange) -> None:
        if isinstance(change, Complete):
            self._nodes_complete.set()
            _LOG.info("validator.nodes_read", nodes=len(self._inventory), is_first=change.is_first)
        else:
            self._inventory.take(change)
        self._metrics.nodes.set(len(self._inventory))
        self._metrics.refused.set(self._inventory.refused)
        self._metrics.content_bytes.set(self._inventory.fleet.content_bytes)
