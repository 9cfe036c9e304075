"""Nodes that go: when nobody tells of them any more."""

import asyncio
import time
from collections.abc import Iterable

from nodeworthy.bus.connection import Connection
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.requests import NodesRequest
from nodeworthy.bus.store import Store
from nodeworthy.bus.validating import list_nodes
from nodeworthy.bus.watching import Complete, Removed, Watch

_ASK_SECONDS = 0.02


class Records:
    """When nodes went from bucket ``labels``, which is where commands and services look for what is labelled."""

    def __init__(self, store: Store, nodes: Iterable[str]) -> None:
        self.removed: dict[str, float] = {}
        """By node: when it was heard."""
        self.is_complete = asyncio.Event()
        self.is_over = asyncio.Event()
        """Whether all have gone."""
        self._keys = {labels_key(node): node for node in nodes}
        self._watch = Watch(store, Bucket.LABELS)

    async def follow(self) -> None:
        """Follow it until cancelled."""
        async for change in self._watch.changes():
            if isinstance(change, Complete):
                self.is_complete.set()
            elif isinstance(change, Removed) and change.key in self._keys:
                self.removed[self._keys[change.key]] = time.perf_counter()
                if len(self.removed) == len(self._keys):
                    self.is_over.set()


class Answers:
    """When nodes went from the answers of a validator; it is asked again and again."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self.dropped: list[float] = []
        """When each was found to have gone, whichever it was."""
        self.is_over = asyncio.Event()
        """Whether as many have gone as should."""
        self._connection = connection
        self._names = names

    async def count(self) -> int:
        """Of how many nodes it tells."""
        return (await list_nodes(self._connection, self._names, NodesRequest(limit=1), seconds=10)).total

    async def follow(self, count: int, rest: int) -> None:
        """Ask until there are ``rest`` left of ``count`` nodes."""
        while not self.is_over.is_set():
            told = await self.count()
            self.dropped += [time.perf_counter()] * (count - len(self.dropped) - told)
            if told <= rest:
                self.is_over.set()
            await asyncio.sleep(_ASK_SECONDS)
