import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeVar

import pytest
import pytest_asyncio

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR, KUBERNETES, Producer, program, set_key, snapshot_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeReader, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.pending import PendingSettings
from nodeworthy.bus.records import ResyncRequest, Session, SetEntry, SnapshotMessage
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.watching import Complete, WatchSettings
from nodeworthy.features import FeatureSet, SetState, digest, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Eventually, MakeSnapshot

QUICK = WatchSettings(poll=0.2, check=0.2, retry_first=0.02, retry_most=0.1)
IMPATIENT = PendingSettings(wait=0.3, look=0.02)
PATIENT = PendingSettings(wait=60, look=0.02)
CONFIG = FeatureSet(attributes={f"OPTION_{number}": "m" for number in range(300)})
DATA = encode(CONFIG)
_Change = TypeVar("_Change", bound=NodeChange)


class Told:
    """What a reader told."""

    def __init__(self) -> None:
        self.changes: list[NodeChange] = []

    def of(self, kind: type[_Change]) -> list[_Change]:
        return [change for change in self.changes if isinstance(change, kind)]

    @property
    def newest(self) -> PublishedSnapshot:
        return self.of(PublishedSnapshot)[-1]


Read = Callable[..., NodeReader]


@pytest_asyncio.fixture
async def reading(store: Store) -> AsyncIterator[Callable[..., Told]]:
    tasks: list[asyncio.Task[None]] = []

    def start(pending: PendingSettings = IMPATIENT) -> Told:
        told = Told()
        reader = NodeReader(store, watch_settings=QUICK, pending_settings=pending)
        tasks.append(asyncio.create_task(reader.run(told.changes.append)))
        return told

    yield start
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()


def message_of(
    sets: dict[str, SetEntry], node: str = "n1", producer: str = "detector", catalogue: tuple[str, ...] = ()
) -> SnapshotMessage:
    return SnapshotMessage(
        node=node, producer=producer, session=Session("boot", 1), sequence=1, sets=sets, catalogue=catalogue
    )


async def put_message(store: Store, message: SnapshotMessage, key: str = "n1.detector") -> int:
    return await store.put(Bucket.NODES, key, payloads.encode(message))


NAMES_CONFIG = message_of({"kernel.config": SetEntry(SetState.PRESENT, digest=digest(DATA))})


async def test_what_was_published_is_read_with_its_contents(
    store: Store, reading: Callable[..., Told], make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    publisher = SnapshotPublisher(store, Identity("n.1", DETECTOR, Session("boot", 1)))
    snapshot = make_snapshot()
    await publisher.publish(snapshot)
    told = reading()
    await eventually(lambda: told.of(Complete))
    published = told.newest
    assert (published.node, published.producer, published.revision, published.missing) == ("n.1", DETECTOR, 1, ())
    assert published.snapshot.contents == snapshot.contents
    assert published.snapshot.catalogue == snapshot.catalogue
    assert published.snapshot.lookup("cpu.rdt") == snapshot.lookup("cpu.rdt")
    assert published.digests == {name: digest(encode(content)) for name, content in snapshot.contents.items()}


async def test_equal_contents_of_two_nodes_are_one_object(
    store: Store, reading: Callable[..., Told], make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    for node in ("a", "b"):
        await SnapshotPublisher(store, Identity(node, DETECTOR, Session("boot", 1))).publish(make_snapshot())
    told = reading()
    await eventually(lambda: told.of(Complete))
    one, other = (published.snapshot.contents for published in told.of(PublishedSnapshot))
    assert all(one[name] is other[name] for name in one)


async def test_every_producer_of_a_node_is_told_apart(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    producers = [DETECTOR, KUBERNETES, program("gpu-agent"), Producer("x", "extra", "kube-system")]
    for producer in producers:
        await put_message(store, message_of({}, producer=str(producer)), snapshot_key("n1", producer))
    told = reading()
    await eventually(lambda: told.of(Complete))
    assert [published.producer for published in told.of(PublishedSnapshot)] == producers


async def test_a_set_that_comes_late_is_waited_for(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    told = reading(PATIENT)
    await eventually(lambda: told.of(Complete))
    revision = await put_message(store, NAMES_CONFIG)
    await put_set(store, DATA)
    await eventually(lambda: told.of(PublishedSnapshot))
    assert (told.newest.revision, told.newest.snapshot.contents) == (revision, {"kernel.config": CONFIG})


async def test_a_set_that_never_comes_is_unknown_after_a_while_and_is_asked_for(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    asked: list[ResyncRequest] = []

    async def hear(message: Msg) -> None:
        asked.append(payloads.decode(message.data, ResyncRequest))

    async with store.connection.subscribed(store.names.node_subject(Topic.RESYNC, "n1"), hear):
        await put_message(store, NAMES_CONFIG)
        told = reading()
        await eventually(lambda: told.of(Complete))
        found = told.newest.snapshot.lookup("kernel.config")
        assert (found.state, found.content) == (SetState.UNKNOWN, None)
        assert "is not on the bus" in found.reason
        assert told.newest.missing == ("kernel.config",)
        await eventually(lambda: asked)
    assert len(asked) == 1


async def test_a_set_that_comes_after_it_was_waited_for_in_vain_is_there_with_the_next_snapshot(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    told = reading(PendingSettings(wait=0.5, look=0.02))
    await put_message(store, NAMES_CONFIG)
    await eventually(lambda: told.of(PublishedSnapshot))
    assert told.newest.missing == ("kernel.config",)
    await put_set(store, DATA)
    revision = await put_message(store, NAMES_CONFIG)  # at once, as a detector does that was asked to
    await eventually(lambda: told.newest.revision == revision)
    assert told.newest.snapshot.contents == {"kernel.config": CONFIG}


async def test_the_snapshot_before_counts_while_a_set_is_waited_for(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    told = reading(PATIENT)
    first = await put_message(store, message_of({"a": SetEntry(SetState.ABSENT)}))
    await eventually(lambda: told.of(PublishedSnapshot))
    await put_message(store, NAMES_CONFIG)
    other = message_of({"a": SetEntry(SetState.ABSENT)}, node="n2")
    await put_message(store, other, "n2.detector")
    await eventually(lambda: told.newest.node == "n2")
    assert [published.revision for published in told.of(PublishedSnapshot) if published.node == "n1"] == [first]


async def test_a_snapshot_that_was_overtaken_while_it_waited_is_never_told(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    told = reading(PATIENT)
    await put_message(store, NAMES_CONFIG)
    newer = await put_message(store, message_of({"a": SetEntry(SetState.ABSENT)}))
    await eventually(lambda: told.of(PublishedSnapshot))
    await put_set(store, DATA)
    last = await put_message(store, NAMES_CONFIG)
    await eventually(lambda: told.newest.revision == last)
    assert [published.revision for published in told.of(PublishedSnapshot)] == [newer, last]


async def test_bad_content_is_unknown_and_never_used(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    await store.put(Bucket.SETS, set_key(digest(DATA)), encode(FeatureSet(attributes={"lies": "yes"})))
    await put_message(store, NAMES_CONFIG)
    told = reading(PATIENT)
    await eventually(lambda: told.of(Complete))
    found = told.newest.snapshot.lookup("kernel.config")
    assert found.state is SetState.UNKNOWN
    assert "holds something else" in found.reason


@pytest.mark.parametrize(
    "entry",
    [
        SetEntry(SetState.PRESENT, digest="no digest at all"),
        SetEntry(SetState.PRESENT),
        SetEntry(SetState.PRESENT, content=b"\xc1"),
        SetEntry(SetState.PRESENT, content=b""),
    ],
)
async def test_an_entry_that_makes_no_sense_harms_only_itself(
    store: Store, reading: Callable[..., Told], eventually: "Eventually", entry: SetEntry
) -> None:
    good = SetEntry(SetState.PRESENT, content=DATA)
    await put_message(store, message_of({"a.bad": entry, "kernel.config": good}))
    told = reading()
    await eventually(lambda: told.of(Complete))
    assert told.newest.snapshot.lookup("a.bad").state is SetState.UNKNOWN
    assert told.newest.snapshot.lookup("kernel.config").content == CONFIG
    assert told.newest.missing == ("a.bad",)


@pytest.mark.parametrize(
    "body",
    [
        b"\xc1",
        b'{"stream":"x","seq":3}',
        b'{"version": 2}',
        payloads.encode(message_of({}, node="n7")),
        payloads.encode(message_of({}, producer="kubernetes")),
    ],
    ids=["junk", "other", "newer", "another node", "another producer"],
)
async def test_a_snapshot_that_cannot_be_used_is_told_and_the_one_before_stays(
    store: Store, reading: Callable[..., Told], eventually: "Eventually", body: bytes
) -> None:
    await put_message(store, message_of({"a": SetEntry(SetState.ABSENT)}))
    told = reading()
    await eventually(lambda: told.of(Complete))
    revision = await store.put(Bucket.NODES, "n1.detector", body)
    await eventually(lambda: told.of(NodeProblem))
    (problem,) = told.of(NodeProblem)
    assert (problem.node, problem.producer, problem.revision) == ("n1", DETECTOR, revision)
    assert len(told.of(PublishedSnapshot)) == 1


async def test_a_strange_key_is_passed_over(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    for key in ("n1", "n1.detector.extra", "N1.detector", "n1.unheard"):
        await store.put(Bucket.NODES, key, b"x")
    await put_message(store, message_of({}))
    told = reading()
    await eventually(lambda: told.of(Complete))
    assert [type(change) for change in told.changes] == [PublishedSnapshot, Complete]


async def test_a_removal_and_a_loss_are_told_apart(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    for node in ("n1", "n2"):
        await put_message(store, message_of({}, node=node), f"{node}.detector")
    told = reading()
    await eventually(lambda: told.of(Complete))
    revision = await store.remove(Bucket.NODES, "n1.detector")
    await eventually(lambda: told.of(NodeRemoved))
    await store.purge(Bucket.NODES, "n2.detector", up_to=100)
    await eventually(lambda: len(told.of(NodeRemoved)) == 2)
    assert told.of(NodeRemoved) == [
        NodeRemoved("n1", DETECTOR, is_lost=False, revision=revision),
        NodeRemoved("n2", DETECTOR, is_lost=True),
    ]


async def test_a_reader_knows_whether_it_has_told_all_that_the_bus_holds_of_a_node(
    store: Store, eventually: "Eventually"
) -> None:
    for node in ("n1", "n10"):
        await put_message(store, message_of({}, node=node), f"{node}.detector")
    told = Told()
    reader = NodeReader(store, watch_settings=QUICK)
    task = asyncio.create_task(reader.run(told.changes.append))
    await eventually(lambda: told.of(Complete))
    task.cancel()  # what comes later is not read any more
    await asyncio.wait([task])
    assert await reader.has_told("n1")
    assert await reader.has_told("nobody")
    await put_message(store, message_of({}, node="n10"), "n10.detector")
    assert await reader.has_told("n1")
    assert not await reader.has_told("n10")
    await store.remove(Bucket.NODES, "n1.detector")
    assert not await reader.has_told("n1")


async def test_a_snapshot_whose_sets_are_being_fetched_is_not_told_yet(store: Store, eventually: "Eventually") -> None:
    told = Told()
    reader = NodeReader(store, watch_settings=QUICK, pending_settings=PATIENT)
    task = asyncio.create_task(reader.run(told.changes.append))
    await eventually(lambda: told.of(Complete))
    await put_message(store, NAMES_CONFIG)
    assert not await reader.has_told("n1")
    await put_set(store, DATA)
    await eventually(lambda: told.of(PublishedSnapshot))
    assert await reader.has_told("n1")
    task.cancel()


async def test_a_thousand_nodes_that_name_one_missing_set_wait_together(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    asked: list[str] = []

    async def hear(message: Msg) -> None:
        asked.append(message.subject)

    entries = {"kernel.config": SetEntry(SetState.PRESENT, digest=digest(DATA))}
    await asyncio.gather(
        *(put_message(store, message_of(entries, node=f"n{number}"), f"n{number}.detector") for number in range(1000))
    )
    async with store.connection.subscribed(store.names.all_nodes(Topic.RESYNC), hear):
        told = reading(PATIENT)
        await eventually(lambda: asked)
        assert not told.of(PublishedSnapshot)
        await put_set(store, DATA)
        await eventually(lambda: told.of(Complete))
    assert len(told.of(PublishedSnapshot)) == 1000
    assert all(published.snapshot.contents == {"kernel.config": CONFIG} for published in told.of(PublishedSnapshot))
    assert len(asked) == IMPATIENT.asks


async def test_nodes_that_name_the_same_new_sets_wait_for_them_together(
    store: Store, reading: Callable[..., Told], eventually: "Eventually"
) -> None:
    """At the start all nodes of a fleet do: forty sets of each of 5,000 nodes would be 200,000 tasks."""
    sets = [encode(FeatureSet(attributes={"option": str(number)})) for number in range(10)]
    entries = {f"set.{number}": SetEntry(SetState.PRESENT, digest=digest(data)) for number, data in enumerate(sets)}
    for number in range(20):
        await put_message(store, message_of(entries, node=f"n{number}"), f"n{number}.detector")
    before = len(asyncio.all_tasks())
    told = reading(PATIENT)
    await eventually(lambda: sum(task.get_name().startswith("sets of") for task in asyncio.all_tasks()) == 20)
    assert len(asyncio.all_tasks()) - before < 20 + 5 * len(sets)  # 20 times 10 if each waited for itself
    for data in sets:
        await put_set(store, data)
    await eventually(lambda: told.of(Complete))
    assert [len(one.digests) for one in told.of(PublishedSnapshot)] == [10] * 20
