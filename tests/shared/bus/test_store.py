import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.store import Store, Stored
from nodeworthy.bus.streams import MAX_SNAPSHOT_BYTES
from nodeworthy.errors import (
    BusConflictError,
    BusError,
    BusFullError,
    BusNobodyError,
    BusUnreachableError,
    PayloadError,
)

if TYPE_CHECKING:
    from tests.conftest import NatsServer
    from tests.shared.bus.conftest import Connect


async def test_what_was_put_is_read_with_its_revision_and_time(store: Store) -> None:
    revision = await store.put(Bucket.NODES, "n1.detector", b"facts")
    stored = await store.get(Bucket.NODES, "n1.detector")
    assert stored is not None
    assert (stored.data, stored.revision, stored.is_removal) == (b"facts", revision, False)
    assert abs(stored.time - time.time()) < 60
    assert await store.get(Bucket.NODES, "n2.detector") is None


async def test_a_write_that_expects_an_older_revision_is_refused(store: Store) -> None:
    first = await store.put(Bucket.NODES, "n1.detector", b"1", expected=0)
    await store.put(Bucket.NODES, "n1.detector", b"2", expected=first)
    for stale in (0, first):
        with pytest.raises(BusConflictError):
            await store.put(Bucket.NODES, "n1.detector", b"3", expected=stale)
    stored = await store.get(Bucket.NODES, "n1.detector")
    assert stored is not None
    assert stored.data == b"2"


async def test_a_write_once_key_is_full(store: Store) -> None:
    await store.put(Bucket.SETS, "aa", b"1")
    with pytest.raises(BusFullError) as error:
        await store.put(Bucket.SETS, "aa", b"2")
    assert error.value.is_key


async def test_a_value_larger_than_its_bucket_takes_is_refused(store: Store) -> None:
    with pytest.raises(PayloadError, match="larger than its stream takes"):
        await store.put(Bucket.NODES, "n1.detector", b"x" * (MAX_SNAPSHOT_BYTES + 5000))


async def test_pages_hold_every_key_once_in_the_order_of_their_revisions(store: Store) -> None:
    for number in range(25):
        await store.put(Bucket.NODES, f"n{number % 10}.detector", b"%d" % number)
    after = 0
    read: list[Stored] = []
    while True:
        page = await store.read(
            store.names.stream(Bucket.NODES), store.names.key_subject(Bucket.NODES, ">"), after, limit=4
        )
        read += page.messages
        if page.is_last:
            break
        after = page.messages[-1].revision
    assert [item.data for item in read] == [b"%d" % number for number in range(15, 25)]


async def test_the_end_of_a_bucket_is_an_empty_page(store: Store) -> None:
    page = await store.read_bucket(Bucket.NODES, 0)
    assert (page.messages, page.is_last) == ((), True)
    revision = await store.put(Bucket.NODES, "n1.detector", b"1")
    assert (await store.read_bucket(Bucket.NODES, revision)).messages == ()


async def test_a_page_of_large_messages_is_cut_and_read_on(store: Store) -> None:
    for number in range(20):
        await store.put(Bucket.SETS, f"{number}", b"x" * 512 * 1024)
    after, count, pages = 0, 0, 0
    is_last = False
    while not is_last:
        page = await store.read_bucket(Bucket.SETS, after)
        after, is_last = page.messages[-1].revision, page.is_last
        count, pages = count + len(page.messages), pages + 1
    assert count == 20
    assert pages > 1


async def test_many_questions_at_once_get_their_own_answers(store: Store) -> None:
    for number in range(20):
        await store.put(Bucket.NODES, f"n{number}.detector", b"%d" % number)
    pages = await asyncio.gather(*(store.read_bucket(Bucket.NODES, 0, keys=f"n{number}.>") for number in range(20)))
    assert [page.messages[0].data for page in pages] == [b"%d" % number for number in range(20)]


async def test_a_bucket_is_measured(store: Store) -> None:
    extent = await store.measure(Bucket.NODES)
    assert (extent.count, extent.oldest) == (0, None)
    for number in range(3):
        await store.put(Bucket.NODES, f"n{number}.detector", b"%d" % number)
    extent = await store.measure(Bucket.NODES)
    assert extent.count == 3
    assert extent.oldest is not None
    assert extent.oldest.data == b"0"
    assert (await store.measure(Bucket.NODES, keys="n2.>")).count == 1


async def test_a_removal_is_told_and_a_purge_is_not(store: Store) -> None:
    revision = await store.put(Bucket.NODES, "n1.detector", b"1")
    await store.remove(Bucket.NODES, "n1.detector", expected=revision)
    stored = await store.get(Bucket.NODES, "n1.detector")
    assert stored is not None
    assert stored.is_removal
    assert await store.purge(Bucket.NODES, "n1.detector", up_to=stored.revision) == 1
    assert await store.get(Bucket.NODES, "n1.detector") is None


async def test_a_purge_spares_what_was_written_after_the_look(store: Store) -> None:
    seen = await store.put(Bucket.NODES, "n1.detector", b"1")
    await store.put(Bucket.NODES, "n1.detector", b"2")
    assert await store.purge(Bucket.NODES, "n1.detector", up_to=seen) == 0
    assert await store.get(Bucket.NODES, "n1.detector") is not None


async def test_a_purged_set_can_be_put_again_at_once(store: Store) -> None:
    revision = await store.put(Bucket.SETS, "aa", b"1")
    await store.purge(Bucket.SETS, "aa", up_to=revision)
    await store.put(Bucket.SETS, "aa", b"1")
    assert await store.get(Bucket.SETS, "aa") is not None


async def test_a_short_lived_key_is_taken_where_its_bucket_allows_it(store: Store) -> None:
    await store.put(Bucket.IMAGES, "tag-aa", b"1", seconds_to_live=3600)
    assert await store.get(Bucket.IMAGES, "tag-aa") is not None
    with pytest.raises(BusError):
        await store.put(Bucket.NODES, "n1.detector", b"1", seconds_to_live=3600)


async def test_missing_streams_are_told(connecting: "Connect", names: Names) -> None:
    store = Store(await connecting(), names)
    with pytest.raises(BusNobodyError):
        await store.put(Bucket.NODES, "n1.detector", b"1")
    with pytest.raises(BusNobodyError):
        await store.get(Bucket.NODES, "n1.detector")
    with pytest.raises(BusNobodyError):
        await store.read_bucket(Bucket.NODES)


async def test_a_frozen_server_is_no_answer_in_time(server: "NatsServer", connecting: "Connect", names: Names) -> None:
    store = Store(await connecting(request_seconds=0.2, ping_seconds=60), names)
    server.freeze()
    with pytest.raises(BusUnreachableError):
        await store.get(Bucket.NODES, "n1.detector")
    with pytest.raises(BusUnreachableError):
        await store.read_bucket(Bucket.NODES)
    server.thaw()
