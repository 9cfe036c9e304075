import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.nodes import ask_resync
from nodeworthy.bus.publishing import Publication, PublicationSettings
from nodeworthy.bus.records import Heartbeat, RescanRequest, Session, SnapshotMessage
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.errors import BusSupersededError
from nodeworthy.features import FeatureSet

if TYPE_CHECKING:
    from tests.conftest import NatsServer
    from tests.shared.bus.conftest import Eventually, MakeSnapshot

QUICK = PublicationSettings(heartbeat=0.05, resync=0.05, retry_first=0.02, retry_most=0.1, reconnect_spread=0.05)
CHANGED = {"cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}))}

Start = Callable[..., AbstractAsyncContextManager[Publication]]


@pytest.fixture
def publishing(store: Store) -> Start:
    """Run a publication while the context lasts."""

    @contextlib.asynccontextmanager
    async def start(
        on_rescan: Callable[[RescanRequest], None] = lambda _: None,
        on_bad_request: Callable[[], None] = lambda: None,
        *,
        session: int = 1,
    ) -> AsyncIterator[Publication]:
        identity = Identity("n1", DETECTOR, Session("boot", session))
        publisher = SnapshotPublisher(store, identity)
        publication = Publication(
            store.connection,
            store.names,
            identity,
            publisher,
            settings=QUICK,
            on_rescan=on_rescan,
            on_bad_request=on_bad_request,
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(publication.run())
            yield publication
            task.cancel()

    return start


class Snapshots:
    """The snapshots that the bus has stored, newest last, read again whenever somebody looks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def newest(self) -> SnapshotMessage | None:
        stored = await self._store.get(Bucket.NODES, "n1.detector")
        return None if stored is None else payloads.decode(stored.data, SnapshotMessage)

    async def until(self, is_right: Callable[[SnapshotMessage], object]) -> SnapshotMessage:
        async with asyncio.timeout(20):
            while True:
                message = await self.newest()
                if message is not None and is_right(message):
                    return message
                await asyncio.sleep(0.01)


async def test_what_is_offered_is_published(store: Store, publishing: Start, make_snapshot: "MakeSnapshot") -> None:
    async with publishing() as publication:
        publication.offer(make_snapshot())
        await Snapshots(store).until(lambda message: message.sequence == 1)
        publication.offer(make_snapshot(CHANGED), rescans=("r1",))
        await Snapshots(store).until(lambda message: message.rescans == ("r1",))


async def test_a_rescan_reaches_the_producer_and_a_bad_one_only_its_log(
    store: Store,
    publishing: Start,
    make_snapshot: "MakeSnapshot",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked: list[RescanRequest] = []
    bad: list[None] = []
    subject = store.names.node_subject(Topic.RESCAN, "n1")
    async with publishing(asked.append, lambda: bad.append(None)) as publication:
        publication.offer(make_snapshot())
        await Snapshots(store).until(lambda message: message.sequence == 1)
        await store.connection.publish(subject, b"\xc1")
        await store.connection.publish(subject, b'{"version": 2}')
        await store.connection.publish(subject, payloads.encode(RescanRequest(id="r1", sources=("pci",))))
        await eventually(lambda: asked)
    assert asked == [RescanRequest(id="r1", sources=("pci",))]
    assert caplog.messages.count("bus.bad_request") == len(bad) == 2


async def test_a_resync_brings_back_what_was_purged(
    store: Store, publishing: Start, make_snapshot: "MakeSnapshot"
) -> None:
    async with publishing() as publication:
        publication.offer(make_snapshot())
        await Snapshots(store).until(lambda message: message.sequence == 1)
        await store.connection.request(f"$JS.API.STREAM.PURGE.{store.names.stream(Bucket.SETS)}")
        await ask_resync(store, "n1", "a set is missing")
        await Snapshots(store).until(lambda message: message.sequence == 2)
    assert (await store.measure(Bucket.SETS)).count == 1


async def test_a_store_that_was_lost_with_its_server_is_filled_again_after_the_reconnect(
    server: "NatsServer", store: Store, publishing: Start, make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    async with publishing() as publication:
        publication.offer(make_snapshot())
        await Snapshots(store).until(lambda message: message.sequence == 1)
        server.kill()
        server.wipe()
        await eventually(lambda: not store.connection.is_connected)
        publication.offer(make_snapshot(CHANGED))
        server.start()
        await eventually(lambda: store.connection.is_connected)
        await ensure_streams(store.connection, define_streams(store.names))
        message = await Snapshots(store).until(lambda message: message.sequence > 1)
        await eventually(lambda: not publication.problem)
    assert message.sets["cpu.cpuid"].content is not None
    assert (await store.measure(Bucket.SETS)).count == 1


async def test_a_failure_is_said_once(
    store: Store,
    publishing: Start,
    make_snapshot: "MakeSnapshot",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.stream(Bucket.NODES)}")
    async with publishing() as publication:
        publication.offer(make_snapshot())
        await eventually(lambda: "nobody listens" in publication.problem)
        await ensure_streams(store.connection, define_streams(store.names))
        await Snapshots(store).until(lambda message: message.sequence == 1)
        await eventually(lambda: not publication.problem)
    assert caplog.messages.count("bus.publish_failed") == 1
    assert caplog.messages.count("bus.published_again") <= 1


async def test_a_sign_of_life_comes_again_and_again(
    store: Store, publishing: Start, make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    beats: list[Heartbeat] = []

    async def hear(message: Msg) -> None:
        assert store.names.parse_node_subject(message.subject).node == "n1"
        beats.append(payloads.decode(message.data, Heartbeat))

    async with store.connection.subscribed(store.names.all_nodes(Topic.HEARTBEAT), hear), publishing() as publication:
        publication.offer(make_snapshot())
        await eventually(lambda: len(beats) > 2)
    assert (beats[-1].node, beats[-1].session, beats[-1].revision) == ("n1", Session("boot", 1), 1)


async def test_a_newer_process_ends_this_one(store: Store, publishing: Start, make_snapshot: "MakeSnapshot") -> None:
    newer = SnapshotPublisher(store, Identity("n1", DETECTOR, Session("boot", 9)))
    await newer.publish(make_snapshot())

    async def publish() -> None:
        async with publishing() as publication:
            publication.offer(make_snapshot())
            await asyncio.Event().wait()

    with pytest.raises(BaseExceptionGroup) as errors:
        await publish()
    assert errors.group_contains(BusSupersededError)
