from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR, set_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.records import EventMessage, Session, SnapshotMessage
from nodeworthy.bus.snapshots import PublishingSettings, SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.errors import BusConflictError, BusNobodyError, BusSupersededError, BusUnreachableError
from nodeworthy.features import FeatureSet, digest, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import MakeSnapshot

KEY = "n1.detector"
CHANGED = {"cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}))}


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[..., SnapshotPublisher]


@pytest.fixture
def make_publisher(store: Store, clock: Clock) -> Make:
    def make(boot: str = "boot", start: int = 1, settings: PublishingSettings | None = None) -> SnapshotPublisher:
        identity = Identity("n1", DETECTOR, Session(boot, start))
        return SnapshotPublisher(
            store, identity, settings=settings or PublishingSettings(), clock=clock, chance=lambda: 0.5
        )

    return make


async def read_stored(store: Store) -> SnapshotMessage:
    stored = await store.get(Bucket.NODES, KEY)
    assert stored is not None
    return payloads.decode(stored.data, SnapshotMessage)


async def read_events(store: Store) -> list[EventMessage]:
    page = await store.read(store.names.events_stream, store.names.all_nodes(Topic.EVENTS), 0)
    return [payloads.decode(item.data, EventMessage) for item in page.messages]


async def test_the_first_snapshot_is_stored_with_its_sets_and_is_no_event(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    assert await make_publisher().publish(make_snapshot())
    message = await read_stored(store)
    assert (message.node, message.producer, message.session, message.sequence) == (
        "n1",
        "detector",
        Session("boot", 1),
        1,
    )
    assert await store.get(Bucket.SETS, set_key(message.sets["kernel.config"].digest)) is not None
    assert await read_events(store) == []


async def test_what_was_said_is_not_said_again_before_it_is_due(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", clock: Clock
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    clock.now += 599
    assert not await publisher.publish(make_snapshot())
    assert publisher.seconds_to_wait() == 1
    clock.now += 1
    assert await publisher.publish(make_snapshot())
    assert (await read_stored(store)).sequence == 2
    assert publisher.seconds_to_wait() == 600


async def test_a_change_is_an_event_with_what_changed(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await publisher.publish(make_snapshot(CHANGED))
    (event,) = await read_events(store)
    assert (event.set, event.sequence) == ("cpu.cpuid", 2)
    assert event.change is not None
    assert event.change.flags_removed == ("SSE42",)


async def test_after_a_restart_the_missing_event_comes_with_digests_only(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    await make_publisher(start=1).publish(make_snapshot())
    await make_publisher(start=2).publish(make_snapshot(CHANGED))
    (event,) = await read_events(store)
    assert (event.set, event.change) == ("cpu.cpuid", None)
    assert event.old_digest == digest(encode(make_snapshot().contents["cpu.cpuid"]))
    assert event.new_digest == digest(encode(CHANGED["cpu.cpuid"]))


async def test_a_restart_without_a_change_is_no_event_and_the_session_is_new(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    await make_publisher(start=1).publish(make_snapshot())
    assert await make_publisher(start=2).publish(make_snapshot())
    assert (await read_stored(store)).session.start == 2
    assert await read_events(store) == []


async def test_a_rescan_is_answered_even_if_nothing_changed(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    assert await publisher.publish(make_snapshot(), rescans=["request-7"])
    assert (await read_stored(store)).rescans == ("request-7",)


async def test_volatile_sets_go_out_once_a_minute_and_make_no_events(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", clock: Clock
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    veth = {"network.virtual": FeatureSet(instances=({"name": "veth1"},))}
    clock.now += 10
    assert not await publisher.publish(make_snapshot(veth))
    assert publisher.seconds_to_wait() == 50
    # Another change goes out at once, and does not take the volatile one with it.
    assert await publisher.publish(make_snapshot(veth | CHANGED))
    first = encode(make_snapshot().contents["network.virtual"])
    assert (await read_stored(store)).sets["network.virtual"].content == first
    clock.now += 50
    assert await publisher.publish(make_snapshot(veth | CHANGED))
    assert (await read_stored(store)).sets["network.virtual"].content == encode(veth["network.virtual"])
    assert [event.set for event in await read_events(store)] == ["cpu.cpuid"]


async def test_volatile_sets_make_events_for_who_asks(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", clock: Clock
) -> None:
    publisher = make_publisher(settings=PublishingSettings(volatile_events=frozenset({"network.virtual"})))
    await publisher.publish(make_snapshot())
    clock.now += 60
    await publisher.publish(make_snapshot({"network.virtual": FeatureSet(instances=())}))
    assert [event.set for event in await read_events(store)] == ["network.virtual"]


async def test_a_write_whose_acknowledgement_was_lost_counts_as_stored(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = make_publisher()
    put = store.put

    async def lose_the_answer(*args: object, **kwargs: object) -> int:
        await put(*args, **kwargs)  # type: ignore[arg-type] # passed through
        monkeypatch.setattr(store, "put", put)
        raise BusConflictError("as a client's retry of a stored message is answered")

    snapshot = make_snapshot({"kernel.config": None})
    monkeypatch.setattr(store, "put", lose_the_answer)
    await publisher.publish(snapshot)
    assert publisher.sequence == 1
    assert publisher.revision == 1
    assert (await store.measure(Bucket.NODES)).oldest.revision == 1  # type: ignore[union-attr] # there is one


async def test_after_a_lost_answer_the_next_try_goes_on_from_what_was_stored(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = make_publisher()
    put = store.put

    async def lose_the_answer(*args: object, **kwargs: object) -> int:
        await put(*args, **kwargs)  # type: ignore[arg-type] # passed through
        raise BusUnreachableError("no answer")

    await publisher.publish(make_snapshot())
    monkeypatch.setattr(store, "put", lose_the_answer)
    with pytest.raises(BusUnreachableError):
        await publisher.publish(make_snapshot(CHANGED))
    monkeypatch.setattr(store, "put", put)
    assert await publisher.publish(make_snapshot(CHANGED))
    assert [event.set for event in await read_events(store)] == ["cpu.cpuid"]
    assert publisher.rival == ""


async def test_a_newer_process_of_this_boot_ends_the_older_one(
    make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    old, new = make_publisher(start=1), make_publisher(start=2)
    await old.publish(make_snapshot())
    await new.publish(make_snapshot())
    with pytest.raises(BusSupersededError, match="a newer process publishes the facts of n1"):
        await old.publish(make_snapshot(CHANGED))
    with pytest.raises(BusSupersededError):
        await make_publisher(start=1).publish(make_snapshot())


async def test_a_late_write_of_an_older_process_is_written_over(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    old, new = make_publisher(start=1), make_publisher(start=2)
    await old.publish(make_snapshot())
    await new.publish(make_snapshot())
    late = payloads.encode(await read_stored(store)).replace(b"\xa5start\x02", b"\xa5start\x01")
    await store.put(Bucket.NODES, KEY, late)
    await new.publish(make_snapshot(CHANGED))
    assert (await read_stored(store)).session.start == 2


async def test_a_reboot_takes_over_without_noise(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    await make_publisher(boot="before", start=900).publish(make_snapshot())
    after = make_publisher(boot="after", start=1)
    await after.publish(make_snapshot())
    assert (await read_stored(store)).session == Session("after", 1)
    assert after.rival == ""


async def test_two_machines_with_one_name_are_told_loudly_and_to_readers(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = make_publisher(boot="one"), make_publisher(boot="other")
    for _ in range(3):
        for publisher in (one, other):
            clock.now += 700
            await publisher.publish(make_snapshot())
    assert (one.rival, other.rival) == ("other", "one")
    assert "bus.two_machines_one_name" in caplog.messages
    clock.now += 700
    await one.publish(make_snapshot())
    assert "boot other" in (await read_stored(store)).sources["bus"].error


@pytest.mark.parametrize("junk", [b'{"stream":"x","seq":3}', b"\xc1", b"", b'{"version": 9}'])
async def test_junk_under_the_key_is_written_over(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", junk: bytes
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await store.put(Bucket.NODES, KEY, junk)
    await publisher.publish(make_snapshot(CHANGED))
    assert (await read_stored(store)).sequence == 2
    await store.put(Bucket.NODES, KEY, junk)
    await make_publisher(start=2).publish(make_snapshot())
    assert (await read_stored(store)).session.start == 2


async def test_a_lost_store_is_noticed_at_the_renewal_and_filled_again(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", clock: Clock
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    for bucket in (Bucket.NODES, Bucket.SETS):
        await store.connection.request(f"$JS.API.STREAM.PURGE.{store.names.stream(bucket)}")
    clock.now += 700
    await publisher.publish(make_snapshot())
    assert (await store.measure(Bucket.SETS)).count == 1
    assert (await read_stored(store)).sequence == 2
    assert await read_events(store) == []


async def test_a_resync_puts_purged_sets_again(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await store.connection.request(f"$JS.API.STREAM.PURGE.{store.names.stream(Bucket.SETS)}")
    await publisher.resync(make_snapshot())
    assert (await store.measure(Bucket.SETS)).count == 1


async def test_a_key_that_was_removed_is_written_again(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await store.remove(Bucket.NODES, KEY)
    await publisher.publish(make_snapshot(CHANGED))
    assert (await read_stored(store)).sequence == 2


async def test_events_that_the_bus_does_not_take_wait_and_come_later(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.events_stream}")
    await publisher.publish(make_snapshot(CHANGED))
    assert publisher.seconds_to_wait() == 5
    await ensure_streams(store.connection, define_streams(store.names))
    assert not await publisher.publish(make_snapshot(CHANGED))
    assert [event.set for event in await read_events(store)] == ["cpu.cpuid"]


async def test_events_that_wait_are_bounded(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot", caplog: pytest.LogCaptureFixture
) -> None:
    publisher = make_publisher(settings=PublishingSettings(max_events=2))
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.events_stream}")
    for number in range(5):
        await publisher.publish(make_snapshot({"cpu.cpuid": FeatureSet(flags=frozenset({f"F{number}"}))}))
    assert "bus.events_dropped" in caplog.messages
    assert len(publisher._events) == 2


async def test_an_event_too_large_for_its_stream_carries_the_digests_only(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await publisher.publish(
        make_snapshot({"cpu.cpuid": FeatureSet(flags=frozenset(f"{'F' * 50}{n}" for n in range(6000)))})
    )
    (event,) = await read_events(store)
    assert event.change is None
    assert event.new_digest


async def test_without_a_bus_nothing_is_taken_for_said(
    store: Store, make_publisher: Make, make_snapshot: "MakeSnapshot"
) -> None:
    publisher = make_publisher()
    await publisher.publish(make_snapshot())
    await store.connection.request(f"$JS.API.STREAM.DELETE.{store.names.stream(Bucket.NODES)}")
    with pytest.raises(BusNobodyError):
        await publisher.publish(make_snapshot(CHANGED))
    await ensure_streams(store.connection, define_streams(store.names))
    assert await publisher.publish(make_snapshot(CHANGED))
    assert (await read_stored(store)).sets["cpu.cpuid"].content == encode(CHANGED["cpu.cpuid"])
