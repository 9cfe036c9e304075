"""Many producers and readers on one server, and everything that can happen to it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Bucket, Names, Topic
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeReader, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.pending import PendingSettings
from nodeworthy.bus.publishing import Publication, PublicationSettings
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.watching import WatchSettings
from nodeworthy.errors import BusError
from nodeworthy.features import FeatureSet, Snapshot

if TYPE_CHECKING:
    from tests.conftest import NatsServer
    from tests.shared.bus.conftest import Connect, Eventually, MakeSnapshot

COUNT = 20
QUICK_PUBLICATION = PublicationSettings(retry_first=0.02, retry_most=0.2, reconnect_spread=0.2, resync=0.1)
QUICK_WATCH = WatchSettings(poll=0.2, check=0.2, retry_first=0.02, retry_most=0.2)


class Fleet:
    """Nodes that publish, a keeper that makes the streams again when they are gone, and what a reader knows."""

    def __init__(self, publications: list[Publication], publishers: list[SnapshotPublisher]) -> None:
        self.publications = publications
        self.publishers = publishers
        self.known: dict[str, Snapshot] = {}
        self.lost = 0
        self.problems: list[NodeProblem] = []

    def take(self, change: NodeChange) -> None:
        if isinstance(change, PublishedSnapshot):
            self.known[change.node] = change.snapshot
        elif isinstance(change, NodeProblem):
            self.problems.append(change)
        elif isinstance(change, NodeRemoved):
            assert change.is_lost, "nobody removed anything"
            self.lost += 1

    def offer(self, snapshot: Snapshot) -> None:
        for publication in self.publications:
            publication.offer(snapshot)

    def agrees(self, snapshot: Snapshot) -> bool:
        """Whether the reader knows every node, with these very contents."""
        return len(self.known) == COUNT and all(known.contents == snapshot.contents for known in self.known.values())


async def keep_streams(connection: Connection, names: Names) -> None:
    while True:
        with contextlib.suppress(BusError):
            await ensure_streams(connection, define_streams(names))
        await asyncio.sleep(0.05)


@pytest_asyncio.fixture
async def fleet(connecting: "Connect", store: Store) -> AsyncIterator[Fleet]:
    names = store.names
    publications, publishers = [], []
    for number in range(COUNT):
        own = Store(await connecting(request_seconds=1), names)
        identity = Identity(f"node.{number}", DETECTOR, Session(f"boot-{number}", 1))
        publishers.append(SnapshotPublisher(own, identity))
        publications.append(Publication(own.connection, names, identity, publishers[-1], settings=QUICK_PUBLICATION))
    made = Fleet(publications, publishers)
    reader = NodeReader(
        Store(await connecting(request_seconds=1), names),
        watch_settings=QUICK_WATCH,
        pending_settings=PendingSettings(look=0.05),
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(publication.run()) for publication in publications]
        tasks.append(group.create_task(reader.run(made.take)))
        tasks.append(group.create_task(keep_streams(store.connection, names)))
        yield made
        for task in tasks:
            task.cancel()


@pytest.fixture
def snapshots(make_snapshot: "MakeSnapshot") -> list[Snapshot]:
    """A snapshot for each moment of a test; each has another shared set."""
    return [
        make_snapshot({"kernel.config": FeatureSet(attributes={f"O_{n}": str(moment) for n in range(200)})})
        for moment in range(5)
    ]


async def test_a_server_that_is_killed_again_and_again_loses_nothing(
    server: "NatsServer", fleet: Fleet, snapshots: list[Snapshot], eventually: "Eventually"
) -> None:
    for snapshot in snapshots:
        fleet.offer(snapshot)
        server.kill()
        server.start()
        await eventually(lambda wanted=snapshot: fleet.agrees(wanted))  # type: ignore[misc] # bound now, not at the end
    assert (fleet.lost, fleet.problems) == (0, [])


async def test_a_store_that_is_wiped_comes_back_and_readers_keep_what_they_knew(
    server: "NatsServer", fleet: Fleet, snapshots: list[Snapshot], eventually: "Eventually"
) -> None:
    fleet.offer(snapshots[0])
    await eventually(lambda: fleet.agrees(snapshots[0]))
    server.kill()
    server.wipe()
    server.start()
    fleet.offer(snapshots[1])
    await eventually(lambda: fleet.agrees(snapshots[1]))
    assert fleet.problems == []


@pytest.mark.parametrize("bucket", [Bucket.NODES, Bucket.SETS])
async def test_a_bucket_that_is_deleted_under_load_comes_back(
    store: Store, fleet: Fleet, snapshots: list[Snapshot], eventually: "Eventually", bucket: Bucket
) -> None:
    fleet.offer(snapshots[0])
    await eventually(lambda: fleet.agrees(snapshots[0]))
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.stream(bucket)}")
    for snapshot in snapshots[1:]:
        fleet.offer(snapshot)
    await eventually(lambda: fleet.agrees(snapshots[-1]))
    assert fleet.problems == []


async def test_a_server_that_freezes_is_waited_out(
    server: "NatsServer", fleet: Fleet, snapshots: list[Snapshot], eventually: "Eventually"
) -> None:
    fleet.offer(snapshots[0])
    await eventually(lambda: fleet.agrees(snapshots[0]))
    server.freeze()
    fleet.offer(snapshots[1])
    await eventually(lambda: all(publication.problem for publication in fleet.publications))
    server.thaw()
    await eventually(lambda: fleet.agrees(snapshots[1]))
    assert (fleet.lost, fleet.problems) == (0, [])
    assert not any(publisher.rival for publisher in fleet.publishers)


async def test_every_change_is_an_event_also_across_a_crash(
    server: "NatsServer", store: Store, fleet: Fleet, snapshots: list[Snapshot], eventually: "Eventually"
) -> None:
    fleet.offer(snapshots[0])
    await eventually(lambda: fleet.agrees(snapshots[0]))
    for snapshot in snapshots[1:3]:
        server.kill()
        fleet.offer(snapshot)
        server.start()
        await eventually(lambda wanted=snapshot: fleet.agrees(wanted))  # type: ignore[misc] # bound now, not at the end
    await eventually(lambda: not any(publisher._events for publisher in fleet.publishers))
    page = await store.read(store.names.events_stream, store.names.all_nodes(Topic.EVENTS), 0)
    changed = {store.names.parse_node_subject(item.subject) for item in page.messages}
    assert len(changed) == COUNT
    # At least two for each node; an event whose acknowledgement was lost may be there twice.
    assert len(page.messages) >= 2 * COUNT
