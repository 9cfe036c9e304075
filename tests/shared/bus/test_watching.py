import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.store import Page, Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.watching import Change, Complete, Put, Removed, Watch, WatchSettings

if TYPE_CHECKING:
    from tests.conftest import NatsServer
    from tests.shared.bus.conftest import Connect, Eventually

QUICK = WatchSettings(poll=0.2, check=0.2, retry_first=0.02, retry_most=0.1)
HINTS_ONLY = WatchSettings(poll=3600, check=3600)
POLL_ONLY = WatchSettings(poll=0.05, check=3600)


class Deaf(Names):
    """Names for a watch that hears no hint."""

    def stored_subject(self, bucket: Bucket, key: str) -> str:
        return f"nowhere.{bucket}.{key}"


class CountedReads(Store):
    """A store that counts the pages that are read of buckets."""

    count = 0

    async def read_bucket(self, bucket: Bucket, after: int = 0, *, keys: str = ">") -> Page:
        self.count += 1
        return await super().read_bucket(bucket, after, keys=keys)


class Seen:
    """What a watch told, and the state that follows from it."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.changes: list[Change] = []
        self.state: dict[str, bytes] = {}

    @property
    def completes(self) -> int:
        return sum(isinstance(change, Complete) for change in self.changes)

    @property
    def lost(self) -> list[str]:
        return [change.key for change in self.changes if isinstance(change, Removed) and change.is_lost]

    async def follow(self) -> None:
        async with aclosing(self.watch.changes()) as changes:
            async for change in changes:
                self.changes.append(change)
                if isinstance(change, Put):
                    self.state[change.key] = change.data
                elif isinstance(change, Removed):
                    self.state.pop(change.key, None)


@pytest_asyncio.fixture
async def following(eventually: "Eventually") -> AsyncIterator["Follow"]:
    tasks: list[asyncio.Task[None]] = []

    async def follow(store: Store, settings: WatchSettings = QUICK, keys: str = ">") -> Seen:
        seen = Seen(Watch(store, Bucket.NODES, keys=keys, settings=settings))
        tasks.append(asyncio.create_task(seen.follow()))
        await eventually(lambda: seen.completes)
        return seen

    yield follow
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()


if TYPE_CHECKING:
    from typing import Protocol

    class Follow(Protocol):
        async def __call__(self, store: Store, settings: WatchSettings = ..., keys: str = ...) -> Seen: ...


async def put_nodes(store: Store, count: int, text: str = "facts") -> None:
    for number in range(count):
        await store.put(Bucket.NODES, f"n{number}.detector", f"{text} {number}".encode())


async def purge_stream(store: Store) -> None:
    await store.connection.request(f"$JS.API.STREAM.PURGE.{store.names.stream(Bucket.NODES)}")


async def make_streams_again(store: Store) -> None:
    await ensure_streams(store.connection, define_streams(store.names))


async def test_everything_comes_first_then_the_mark(store: Store, following: "Follow") -> None:
    await put_nodes(store, 5)
    seen = await following(store)
    assert [type(change) for change in seen.changes] == [Put] * 5 + [Complete]
    assert seen.changes[-1] == Complete(is_first=True)
    assert seen.state["n3.detector"] == b"facts 3"


async def test_an_empty_bucket_is_complete_too(store: Store, following: "Follow") -> None:
    assert (await following(store)).changes == [Complete(is_first=True)]


async def test_more_keys_than_a_page_holds_come_all(store: Store, following: "Follow") -> None:
    await asyncio.gather(*(store.put(Bucket.NODES, f"n{number}.detector", b"x") for number in range(2500)))
    assert len((await following(store)).state) == 2500


@pytest.mark.parametrize("settings", [HINTS_ONLY, POLL_ONLY])
async def test_a_change_comes_by_its_hint_and_without_one_by_the_poll(
    store: Store,
    connecting: "Connect",
    following: "Follow",
    eventually: "Eventually",
    settings: WatchSettings,
) -> None:
    reader = Store(await connecting(), Deaf("test") if settings is POLL_ONLY else store.names)
    seen = await following(reader, settings)
    revision = await store.put(Bucket.NODES, "n1.detector", b"new")
    await eventually(lambda: seen.state == {"n1.detector": b"new"})
    put = seen.changes[-1]
    assert isinstance(put, Put)
    assert put.revision == revision


async def test_the_last_value_of_a_key_that_changes_fast_comes(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    seen = await following(store, HINTS_ONLY)
    await asyncio.gather(*(store.put(Bucket.NODES, "n1.detector", b"%d" % number) for number in range(200)))
    last = await store.put(Bucket.NODES, "n1.detector", b"last")
    await eventually(lambda: seen.state["n1.detector"] == b"last")
    revisions = [change.revision for change in seen.changes if isinstance(change, Put)]
    assert revisions == sorted(revisions)
    assert revisions[-1] == last


async def test_changes_that_may_wait_are_read_together(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    reads = CountedReads(store.connection, store.names)
    seen = await following(reads, replace(HINTS_ONLY, gather=1.0))
    reads.count = 0
    await put_nodes(store, 400)
    await eventually(lambda: len(seen.state) == 400)
    assert reads.count <= 10


async def test_a_loss_before_anything_was_read_is_found(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    """Whoever wrote it takes it for stored until a complete read does not tell it."""
    seen = await following(store, replace(QUICK, gather=0.5))
    await put_nodes(store, 1)
    await purge_stream(store)
    await eventually(lambda: seen.completes == 2)
    assert not seen.state


async def test_only_the_wanted_keys_come(store: Store, following: "Follow", eventually: "Eventually") -> None:
    await put_nodes(store, 3)
    seen = await following(store, keys="n1.>")
    assert list(seen.state) == ["n1.detector"]
    await store.put(Bucket.NODES, "n2.detector", b"new")
    await store.put(Bucket.NODES, "n1.detector", b"new")
    await eventually(lambda: seen.state == {"n1.detector": b"new"})
    assert not seen.lost


async def test_a_removal_is_no_loss(store: Store, following: "Follow", eventually: "Eventually") -> None:
    await put_nodes(store, 2)
    seen = await following(store)
    revision = await store.remove(Bucket.NODES, "n1.detector")
    removed = Removed("n1.detector", is_lost=False, revision=revision)
    await eventually(lambda: removed in seen.changes)
    again = await following(store)
    assert list(again.state) == ["n0.detector"]
    # Who was not there when it was said must know it too: a removal is evidence.
    assert removed in again.changes


async def test_a_purged_key_is_told_as_lost_after_a_complete_read(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    await put_nodes(store, 3)
    seen = await following(store)
    await store.purge(Bucket.NODES, "n1.detector", up_to=100)
    await eventually(lambda: seen.completes == 2)
    assert seen.changes[-2:] == [Removed("n1.detector", is_lost=True), Complete(is_first=False)]


async def test_a_bucket_that_was_purged_is_noticed_and_read_again(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    await put_nodes(store, 3)
    seen = await following(store)
    await purge_stream(store)
    await eventually(lambda: len(seen.lost) == 3)
    await put_nodes(store, 3, "again")
    await eventually(lambda: seen.state.get("n2.detector") == b"again 2")


async def test_a_stream_made_anew_is_noticed_at_its_first_hint(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    await put_nodes(store, 20)
    seen = await following(store, HINTS_ONLY)
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.stream(Bucket.NODES)}")
    await make_streams_again(store)
    await put_nodes(store, 2, "again")
    await eventually(lambda: seen.state == {"n0.detector": b"again 0", "n1.detector": b"again 1"})
    # One that is put again a moment later may be told as lost first.
    assert {f"n{number}.detector" for number in range(2, 20)} <= set(seen.lost)


async def test_a_stream_made_anew_with_as_many_keys_is_noticed(
    store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    await put_nodes(store, 3)
    seen = await following(Store(store.connection, Deaf("test")), QUICK)
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.stream(Bucket.NODES)}")
    await make_streams_again(store)
    await put_nodes(store, 3, "again")
    await eventually(lambda: set(seen.state.values()) == {b"again 0", b"again 1", b"again 2"})


async def test_changes_while_the_server_was_away_come_after_the_reconnect(
    server: "NatsServer", store: Store, following: "Follow", eventually: "Eventually", connecting: "Connect"
) -> None:
    await put_nodes(store, 3)
    seen = await following(store, HINTS_ONLY)
    server.kill()
    await eventually(lambda: not store.connection.is_connected)
    server.start()
    other = Store(await connecting(), store.names)
    await other.put(Bucket.NODES, "n1.detector", b"meanwhile")
    await eventually(lambda: seen.state["n1.detector"] == b"meanwhile")
    assert not seen.lost


async def test_a_store_lost_with_its_server_is_told_as_lost_and_fills_again(
    server: "NatsServer", store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    await put_nodes(store, 3)
    seen = await following(store)
    server.kill()
    server.wipe()
    server.start()
    await eventually(lambda: seen.watch.problem)
    assert len(seen.state) == 3  # a stream that is missing says nothing of what it held
    await make_streams_again(store)
    await eventually(lambda: len(seen.lost) == 3)
    await put_nodes(store, 3, "again")
    await eventually(lambda: seen.state.get("n2.detector") == b"again 2")
    assert not seen.watch.problem


async def test_a_server_that_froze_is_read_on_when_it_thaws(
    server: "NatsServer", connecting: "Connect", store: Store, following: "Follow", eventually: "Eventually"
) -> None:
    reader = Store(await connecting(request_seconds=0.2, ping_seconds=0.1), store.names)
    await put_nodes(store, 3)
    seen = await following(reader)
    server.freeze()
    await eventually(lambda: seen.watch.problem)
    server.thaw()
    await eventually(lambda: not seen.watch.problem)
    assert len(seen.state) == 3
    assert not seen.lost
    await store.put(Bucket.NODES, "n1.detector", b"after")
    await eventually(lambda: seen.state["n1.detector"] == b"after")


async def test_nobody_holds_a_consumer(store: Store, following: "Follow") -> None:
    await put_nodes(store, 3)
    await following(store)
    message = await store.connection.request(f"$JS.API.CONSUMER.NAMES.{store.names.stream(Bucket.NODES)}")
    assert b'"total":0' in message.data


async def test_a_hint_that_is_none_is_passed_over(store: Store, following: "Follow", eventually: "Eventually") -> None:
    seen = await following(store, HINTS_ONLY)
    subject = store.names.stored_subject(Bucket.NODES, "n1.detector")
    await store.connection.publish(subject, b"lies", headers={"Nats-Sequence": "9" * 400})
    await store.connection.publish(subject, b"lies")
    await store.put(Bucket.NODES, "n2.detector", b"truth")
    await eventually(lambda: seen.state == {"n2.detector": b"truth"})
