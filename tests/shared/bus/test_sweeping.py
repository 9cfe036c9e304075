import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.keys import DETECTOR, set_key, snapshot_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.records import Session, SetEntry, SnapshotMessage
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.store import Store
from nodeworthy.bus.sweeping import Sweeper
from nodeworthy.features import FeatureSet, SetState, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Eventually

HOUR = 3600.0


@dataclass
class Clock:
    now: float

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time() + 1)


async def put(store: Store, text: str) -> str:
    return await put_set(store, encode(FeatureSet(attributes={"text": text})))


async def name_sets(store: Store, *entries: SetEntry, node: str = "n1") -> None:
    message = SnapshotMessage(
        node=node,
        producer="detector",
        session=Session("boot", 1),
        sequence=1,
        sets={f"set.{number}": entry for number, entry in enumerate(entries)},
    )
    await store.put(Bucket.NODES, snapshot_key(node, DETECTOR), payloads.encode(message))


async def kept(store: Store, *digests: str) -> list[bool]:
    return [await store.get(Bucket.SETS, set_key(digest)) is not None for digest in digests]


async def test_what_no_snapshot_names_goes_after_two_passes_and_two_days(store: Store, clock: Clock) -> None:
    named, old, unnamed = await put(store, "named"), await put(store, "old"), await put(store, "unnamed")
    await name_sets(
        store, SetEntry(SetState.PRESENT, digest=named), SetEntry(SetState.UNKNOWN, reason="?", last_digest=old)
    )
    sweeper = Sweeper(store, clock)
    assert (await sweeper.sweep()).unnamed == 1
    clock.now += HOUR
    assert (await sweeper.sweep()).purged == ()  # too young
    clock.now += 48 * HOUR
    assert (await sweeper.sweep()).purged == (set_key(unnamed),)
    assert await kept(store, named, old, unnamed) == [True, True, False]


async def test_one_pass_alone_purges_nothing_however_old(store: Store, clock: Clock) -> None:
    unnamed = await put(store, "unnamed")
    clock.now += 1000 * HOUR
    sweeper = Sweeper(store, clock)
    assert (await sweeper.sweep()).purged == ()
    clock.now += HOUR / 2
    assert not (await sweeper.sweep()).is_done  # too early
    assert await kept(store, unnamed) == [True]
    clock.now += HOUR / 2
    assert (await sweeper.sweep()).purged == (set_key(unnamed),)


async def test_what_is_named_between_two_passes_stays(store: Store, clock: Clock) -> None:
    digest = await put(store, "late")
    clock.now += 100 * HOUR
    sweeper = Sweeper(store, clock)
    await sweeper.sweep()
    await name_sets(store, SetEntry(SetState.PRESENT, digest=digest))
    clock.now += HOUR
    assert (await sweeper.sweep()).purged == ()
    await name_sets(store)
    clock.now += HOUR
    assert (await sweeper.sweep()).purged == ()  # unnamed in one pass again
    assert await kept(store, digest) == [True]


async def test_a_set_that_was_put_again_since_the_pass_before_stays(store: Store, clock: Clock) -> None:
    digest = await put(store, "again")
    clock.now += 100 * HOUR
    sweeper = Sweeper(store, clock)
    await sweeper.sweep()
    await store.purge(Bucket.SETS, set_key(digest), up_to=1)
    await put(store, "again")
    clock.now += HOUR
    assert (await sweeper.sweep()).purged == ()


async def test_a_node_that_names_a_set_while_it_is_swept_is_asked_to_put_it_again(
    store: Store, clock: Clock, eventually: "Eventually", monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = await put(store, "raced")
    clock.now += 100 * HOUR
    sweeper = Sweeper(store, clock)
    await sweeper.sweep()
    clock.now += HOUR
    purge, asked = store.purge, []

    async def name_it_first(bucket: Bucket, key: str, *, up_to: int) -> int:
        await name_sets(store, SetEntry(SetState.PRESENT, digest=digest), node="n.7")
        return await purge(bucket, key, up_to=up_to)

    async def hear(message: Msg) -> None:
        asked.append(message.subject)

    monkeypatch.setattr(store, "purge", name_it_first)
    async with store.connection.subscribed(store.names.all_nodes(Topic.RESYNC), hear):
        swept = await sweeper.sweep()
        await eventually(lambda: asked == [store.names.node_subject(Topic.RESYNC, "n.7")])
    assert swept.resynced == ("n.7",)


async def test_nothing_goes_while_a_snapshot_of_a_newer_format_may_name_it(store: Store, clock: Clock) -> None:
    await put(store, "unnamed")
    await store.put(Bucket.NODES, "n1.detector", b'{"version": 2}')
    clock.now += 100 * HOUR
    sweeper = Sweeper(store, clock)
    for _ in range(3):
        clock.now += HOUR
        swept = await sweeper.sweep()
        assert (swept.purged, swept.is_done) == ((), False)


async def test_junk_does_not_keep_everything_for_ever(store: Store, clock: Clock) -> None:
    digest = await put(store, "unnamed")
    await store.put(Bucket.NODES, "n1.detector", b"\xc1")
    await store.put(Bucket.NODES, "strange", b"x")
    await store.put(Bucket.SETS, "no-digest", b"x")
    clock.now += 100 * HOUR
    sweeper = Sweeper(store, clock)
    await sweeper.sweep()
    clock.now += HOUR
    assert set((await sweeper.sweep()).purged) == {set_key(digest), "no-digest"}
