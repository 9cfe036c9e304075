"""A whole labeler on a real API server and a real bus."""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nodeworthy.bus.keys import DETECTOR, Producer, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import read_snapshot
from nodeworthy.features import decode
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.roll import LeaseSettings
from nodeworthy.labels import LabelMemory
from nodeworthy_labeler.settings import ClusterSettings

if TYPE_CHECKING:
    from tests.kubernetes.api import Object
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.counting import AuditedRequest
    from tests.labeler.conftest import Bus, Eventually, Running, Start

SECONDS = 90
LEASES = LeaseSettings(renew=0.3, duration=2, retry=0.1, timeout=1.0)


class WatchedBus:
    """What tests wait for on the bus."""

    def __init__(self, bus: "Bus", eventually: "Eventually") -> None:
        self._bus = bus
        self._eventually = eventually
        self.publish = bus.publish
        self.resync = bus.resync
        self.memory = bus.memory
        self.writes = bus.writes
        self.settled_writes = bus.settled_writes
        self.purge = bus.purge

    async def has_key(self, node: str, producer: Producer = DETECTOR) -> bool:
        stored = await self._bus.store.get(Bucket.NODES, snapshot_key(node, producer))
        return stored is not None and not stored.is_removal

    async def no_key(self, node: str, producer: Producer = DETECTOR) -> None:
        """Wait until a producer says nothing of a node any more."""

        async def is_gone() -> bool:
            return not await self.has_key(node, producer)

        await self._eventually(is_gone)

    async def no_record(self, node: str) -> None:
        """Wait until nothing is remembered of a node."""

        async def is_gone() -> bool:
            return await self._bus.memory(node) is None

        await self._eventually(is_gone)

    async def record_of(self, node: str) -> LabelMemory:
        """Wait until something is remembered of a node."""

        async def read() -> LabelMemory | None:
            return await self._bus.memory(node)

        found: LabelMemory = await self._eventually(read)
        return found

    async def snapshot_of(self, node: str, producer: Producer) -> dict[str, Mapping[str, str]]:
        """Wait until a producer says something of a node; the attributes of its small sets."""

        async def read() -> dict[str, Mapping[str, str]] | None:
            stored = await self._bus.store.get(Bucket.NODES, snapshot_key(node, producer))
            if stored is None or stored.is_removal:
                return None
            entries = read_snapshot(stored.data, node, producer).sets
            return {
                name: decode(entry.content).attributes or {}
                for name, entry in entries.items()
                if entry.content is not None
            }

        found: dict[str, Mapping[str, str]] = await self._eventually(read)
        return found


class Whole:
    """The labelers of one test, the cluster and the bus."""

    def __init__(
        self, cluster: "Cluster", access: Access, bus: "Bus", begin: "Start", eventually: "Eventually"
    ) -> None:
        self.cluster = cluster
        self.bus = WatchedBus(bus, eventually)
        self._eventually = eventually
        self.settings = ClusterSettings(access, RequestLimits(timeout=1.0), LEASES)
        self._begin = begin

    async def start(self, *, wait: bool = True, **changes: Any) -> "Running":
        """Another labeler; fields of the cluster's settings may be given."""
        return await self._begin(wait=wait, kubernetes=dataclasses.replace(self.settings, **changes))

    def writes(self, mark: int) -> list["AuditedRequest"]:
        """What labelers wrote since the mark."""
        return [one for one in self.cluster.read_writes(mark) if one.user_agent == "nodeworthy"]

    async def event_on(self, name: str) -> "Object":
        """Wait until there is an Event on a Node."""
        path = "/apis/events.k8s.io/v1/namespaces/default/events"

        async def find() -> "Object | None":
            events = await asyncio.to_thread(self.cluster.admin.must, "GET", path)
            return next((event for event in events["items"] if event["regarding"]["name"] == name), None)

        found: Object = await self._eventually(find)
        return found

    def object(self, name: str) -> "Object":
        found: Object = self.cluster.admin.must("GET", f"/api/v1/nodes/{name}")
        return found

    def labels(self, name: str, prefix: str = "x.org/") -> dict[str, str]:
        """The labels under one name."""
        labels = self.object(name)["metadata"]["labels"]
        return {key: value for key, value in labels.items() if key.startswith(prefix)}

    async def labels_are(self, name: str, labels: Mapping[str, str], prefix: str = "x.org/") -> None:
        """Wait until a Node has these labels under one name and no others."""
        await self.node_is(name, lambda node: _under(node, prefix) == labels)

    async def object_is(self, collection: str, name: str, condition: "Callable[[Object], bool]") -> "Object":
        """Wait until an object is as wanted."""
        return await asyncio.to_thread(self.cluster.admin.wait_for, collection, name, condition, seconds=SECONDS)

    async def node_is(self, name: str, condition: "Callable[[Object], bool]") -> "Object":
        """Wait until a Node is as wanted."""
        return await self.object_is("/api/v1/nodes", name, condition)


def _under(node: "Object", prefix: str) -> dict[str, str]:
    labels = node["metadata"].get("labels", {})
    return {key: value for key, value in labels.items() if key.startswith(prefix)}
