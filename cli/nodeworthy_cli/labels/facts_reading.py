"""The facts on the bus: all that there are, then what comes, as a labeler would count them."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeReader, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.store import Store
from nodeworthy.bus.watching import Complete
from nodeworthy.fleet import Fleet
from nodeworthy_labeler.cluster.identity import FactsGate, NodeIdentity
from nodeworthy_labeler.cluster.mirror import MIRRORED
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.facts import NodeTable

_Result = TypeVar("_Result")


class Facts:
    """The facts that count: in a cluster, those of the Nodes that there are now."""

    def __init__(self, nodes: Mapping[str, NodeObject] | None, own_namespace: str = "") -> None:
        """``nodes`` are those of the cluster; ``None``: there is none."""
        self.table = NodeTable(Fleet(own_namespace=own_namespace), time.time)
        self.detectors: dict[str, PublishedSnapshot] = {}
        """Node to what its detector says."""
        self.answered: set[str] = set()
        """Ids of the rescans that snapshots have answered."""
        self.changed = asyncio.Event()
        """Set at every change."""
        self._nodes = nodes
        self._gate = FactsGate(self._identify)

    def take(self, change: NodeChange) -> None:
        """Learn from the bus; what a labeler copies there from the cluster is passed over where there is one."""
        self.changed.set()
        if self._nodes is None:
            self._count(change)
        elif isinstance(change, PublishedSnapshot | NodeRemoved | NodeProblem) and change.producer.kind not in MIRRORED:
            for counted in self._gate.take(change):
                self._count(counted)

    def _count(self, change: NodeChange) -> None:
        if isinstance(change, PublishedSnapshot) and change.producer == DETECTOR:
            self.detectors[change.node] = change
            self.answered.update(change.message.rescans)
        self.table.take(change)

    def _identify(self, name: str) -> NodeIdentity | None:
        node = (self._nodes or {}).get(name)
        return None if node is None else NodeIdentity(node.uid, node.created)


class FactsReading:
    """Follows bucket ``nodes`` for as long as the context lasts; it begins when everything was told once."""

    def __init__(self, store: Store, take: Callable[[NodeChange], None]) -> None:
        self._reader = NodeReader(store)
        self._take = take
        self._complete = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reading = asyncio.create_task(self._reader.run(self._tell), name="facts")
        try:
            await self.wait_for(self._complete.wait())
        except BaseException:
            await self._end(self._reading)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reading is not None
        await self._end(self._reading)

    async def wait_for(self, waiting: Coroutine[Any, Any, _Result]) -> _Result:
        """Wait for something that facts bring about; raises what reading them raises."""
        assert self._reading is not None
        task = asyncio.create_task(waiting, name="waiting for facts")
        try:
            await asyncio.wait({self._reading, task}, return_when=asyncio.FIRST_COMPLETED)
            if self._reading.done():
                self._reading.result()
            return await task
        finally:
            task.cancel()

    def _tell(self, change: NodeChange) -> None:
        if isinstance(change, Complete):
            self._complete.set()
        else:
            self._take(change)

    @staticmethod
    async def _end(reading: asyncio.Task[None]) -> None:
        reading.cancel()
        await asyncio.wait({reading})
