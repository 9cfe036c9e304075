"""Each service does its job with its own user, and nothing else; on a real server."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads, permissions
from nodeworthy.bus.asking import ask
from nodeworthy.bus.client import Msg
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.findings import FindingMessage
from nodeworthy.bus.keys import DETECTOR, KUBERNETES, program, set_key, snapshot_key
from nodeworthy.bus.names import RESOLVER_SERVICE, VALIDATOR_SERVICE, Bucket, Endpoint, Names, Topic
from nodeworthy.bus.nodes import NodeChange, NodeReader, PublishedSnapshot, ask_resync
from nodeworthy.bus.permissions import User
from nodeworthy.bus.publishing import Publication, PublicationSettings
from nodeworthy.bus.records import Message, Session
from nodeworthy.bus.requests import ResolveReply, ResolveRequest, ValidateReply, ValidateRequest
from nodeworthy.bus.serving import Served, Serving
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.sweeping import Sweeper
from nodeworthy.bus.watching import Complete, Watch
from nodeworthy.errors import BusDeniedError, BusError, BusFullError
from nodeworthy.features import FeatureSet, digest, encode
from nodeworthy.images import ImageKnowledge
from nodeworthy.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Eventually, MakeSnapshot, SecuredBus, StartSecured

NODE = "ip-10-0-1-2.eu-west-1.compute.internal"
OTHERS = ("ip-10-0-1-2.eu-west-1.compute", "ip-10-0-1-2", "ip-10-0-1-2_eu-west-1", "*", ">", "a b", "ip-10-0-1-3")
NAMES = Names("test")
DETECTOR_USER = permissions.detector(NAMES, NODE)
PROGRAM_USER = permissions.operator_program(NAMES, NODE, "gpu-agent")
LABELER, VALIDATOR, RESOLVER = (
    make(NAMES) for make in (permissions.labeler, permissions.validator, permissions.resolver)
)
READER, ADMIN = permissions.reader(NAMES), permissions.admin()
GUEST = permissions.reader(NAMES, "guest", stock_inbox=True)
EVERYBODY = (DETECTOR_USER, PROGRAM_USER, LABELER, VALIDATOR, RESOLVER, READER, GUEST, permissions.author(NAMES), ADMIN)
NODES, SETS = NAMES.stream(Bucket.NODES), NAMES.stream(Bucket.SETS)
OWN_KEY = NAMES.key_subject(Bucket.NODES, snapshot_key(NODE, DETECTOR))
DATA = encode(FeatureSet(attributes={"major": "6"}))


@pytest.fixture
async def bus(secured: "StartSecured") -> "SecuredBus":
    """A server with every user, whose streams the labeler made with its own rights."""
    started = await secured(*EVERYBODY)
    await ensure_streams(await started.connect_as(LABELER), define_streams(NAMES))
    return started


async def store_of(bus: "SecuredBus", user: User) -> Store:
    return Store(await bus.connect_as(user), NAMES)


async def ignore(_: Message | Msg) -> None:
    pass


async def read_everything(store: Store) -> list[NodeChange]:
    told: list[NodeChange] = []
    done = asyncio.Event()

    def take(change: NodeChange) -> None:
        told.append(change)
        if isinstance(change, Complete):
            done.set()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        task = group.create_task(NodeReader(store).run(take))
        await done.wait()
        task.cancel()
    return told


async def test_a_detector_publishes_answers_and_lives(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    store, listener = await store_of(bus, DETECTOR_USER), await store_of(bus, VALIDATOR)
    identity = Identity(NODE, DETECTOR, Session("boot", 1))
    publisher = SnapshotPublisher(store, identity)
    asked: list[str] = []
    publication = Publication(
        store.connection,
        NAMES,
        identity,
        publisher,
        settings=PublicationSettings(heartbeat=0.05),
        on_rescan=lambda request: asked.append(request.id),
    )
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(message.subject)

    async with (
        listener.connection.subscribed(NAMES.all_nodes(Topic.HEARTBEAT), hear),
        listener.connection.subscribed(NAMES.all_nodes(Topic.EVENTS), hear),
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(publication.run())
        publication.offer(make_snapshot())
        await eventually(lambda: publisher.revision == 1)
        publication.offer(make_snapshot({"cpu.cpuid": None}))
        await eventually(lambda: NAMES.node_subject(Topic.EVENTS, NODE, "cpu.cpuid") in heard)
        await eventually(lambda: NAMES.node_subject(Topic.HEARTBEAT, NODE) in heard)
        await ask_resync(listener, NODE, "please")
        await eventually(lambda: publisher.sequence == 3)
        running.cancel()
    told = await read_everything(listener)
    assert isinstance(told[0], PublishedSnapshot)
    assert (told[0].node, told[0].message.sequence, told[0].missing) == (NODE, 3, ())


async def test_a_detector_finds_its_stored_snapshot_after_a_restart(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot"
) -> None:
    store = await store_of(bus, DETECTOR_USER)
    for start in (1, 2):
        publisher = SnapshotPublisher(store, Identity(NODE, DETECTOR, Session("boot", start)))
        await publisher.publish(make_snapshot())
    assert publisher.revision == 2


async def test_a_program_publishes_its_own_facts_and_not_the_detectors(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot"
) -> None:
    store = await store_of(bus, PROGRAM_USER)
    publisher = SnapshotPublisher(store, Identity(NODE, program("gpu-agent"), Session("agent", 1)))
    await publisher.publish(make_snapshot())
    for producer in (DETECTOR, KUBERNETES, program("other-agent")):
        with pytest.raises(BusDeniedError):
            await store.put(Bucket.NODES, snapshot_key(NODE, producer), b"lies")


async def test_the_labeler_mirrors_labels_sweeps_and_removes(bus: "SecuredBus", make_snapshot: "MakeSnapshot") -> None:
    store = await store_of(bus, LABELER)
    await SnapshotPublisher(store, Identity("n1", KUBERNETES, Session("labeler", 1))).publish(make_snapshot())
    assert await read_everything(store)
    await store.put(Bucket.LABELS, "n1", b"labels", expected=0)
    await put_set(store, DATA)
    await store.purge(Bucket.SETS, set_key(digest(DATA)), up_to=100)
    await store.remove(Bucket.NODES, snapshot_key("n1", KUBERNETES))
    assert (await Sweeper(store, lambda: 0.0).sweep()).is_done
    await ask_resync(store, "n1", "please")
    assert not store.connection.denials.recent


@pytest.mark.parametrize("asker", [READER, GUEST], ids=lambda user: user.name)
async def test_the_validator_asks_the_resolver_and_people_ask_the_validator(bus: "SecuredBus", asker: User) -> None:
    at_validator, at_resolver, reader = [await bus.connect_as(user) for user in (VALIDATOR, RESOLVER, asker)]
    knowledge = ImageKnowledge("alpine", "sha256:00", "m", ())

    async def resolve(request: ResolveRequest) -> ResolveReply:
        return ResolveReply(knowledge=ImageKnowledge(request.reference, "sha256:00", "m", ()))

    async def validate(request: ValidateRequest) -> ValidateReply:
        reply = await ask(at_validator, NAMES, Endpoint.RESOLVE, ResolveRequest(reference=request.image), ResolveReply)
        assert reply.knowledge == knowledge
        return ValidateReply(verdicts=(Verdict(request.image, "n1", Answer.COMPATIBLE, "it fits"),))

    ready, stop = asyncio.Event(), asyncio.Event()
    ready.set()
    validating = Served(Endpoint.VALIDATE, ValidateRequest, ValidateReply, validate)
    resolving = Served(Endpoint.RESOLVE, ResolveRequest, ResolveReply, resolve)
    found: set[str] = set()

    async def find(message: Msg) -> None:
        info = json.loads(message.data)
        found.update(f"{info['name']} {endpoint['name']}" for endpoint in info["endpoints"])

    async with asyncio.TaskGroup() as group:
        group.create_task(Serving(at_validator, NAMES, VALIDATOR_SERVICE, "1.0.0").run([validating], ready, stop))
        group.create_task(Serving(at_resolver, NAMES, RESOLVER_SERVICE, "1.0.0").run([resolving], ready, stop))
        # As ``nats micro ls`` looks for services: as many answers as come.
        inbox = f"{asker.inbox_prefix}.abc"
        async with reader.subscribed(inbox, find), asyncio.timeout(20):
            while len(found) < 2:
                await reader.publish("$SRV.INFO", b"", reply=inbox)
                await asyncio.sleep(0.02)
        reply = await ask(reader, NAMES, Endpoint.VALIDATE, ValidateRequest(image="alpine"), ValidateReply, seconds=10)
        stop.set()
    assert reply.verdicts[0].verdict is Answer.COMPATIBLE
    assert found == {"nodeworthy-validator validate", "nodeworthy-resolver resolve"}
    assert not any(connection.denials.recent for connection in (at_validator, at_resolver, reader))


async def test_the_validator_says_what_it_finds_and_the_reader_hears_it(
    bus: "SecuredBus", eventually: "Eventually"
) -> None:
    validator, reader = await bus.connect_as(VALIDATOR), await bus.connect_as(READER)
    heard: list[FindingMessage] = []

    async def hear(message: Msg) -> None:
        heard.append(payloads.decode(message.data, FindingMessage))

    finding = FindingMessage(node=NODE, verdict=Verdict("alpine", NODE, Answer.INCOMPATIBLE, "no AVX2"))
    async with reader.subscribed(NAMES.all_nodes(Topic.FINDINGS), hear):
        await validator.publish(NAMES.node_subject(Topic.FINDINGS, NODE), payloads.encode(finding))
        await eventually(lambda: heard == [finding])


async def test_the_resolver_keeps_its_cache(bus: "SecuredBus") -> None:
    store = await store_of(bus, RESOLVER)
    await store.put(Bucket.IMAGES, "tag-aa", b"1", seconds_to_live=60)
    assert await store.get(Bucket.IMAGES, "tag-aa") is not None


async def test_a_reader_reads_facts_and_labels_as_they_change(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    labeler, reader = await store_of(bus, LABELER), await store_of(bus, READER)
    await SnapshotPublisher(labeler, Identity("n1", KUBERNETES, Session("labeler", 1))).publish(make_snapshot())
    told = await read_everything(reader)
    assert isinstance(told[0], PublishedSnapshot)
    assert told[0].missing == ()
    keys: list[str] = []

    async def watch() -> None:
        async with aclosing(Watch(reader, Bucket.LABELS).changes()) as changes:
            async for change in changes:
                keys.append(getattr(change, "key", "complete"))  # noqa: PERF401 # seen while it goes on

    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch())
        await eventually(lambda: keys == ["complete"])
        await labeler.put(Bucket.LABELS, "n1", b"labels")
        await eventually(lambda: keys == ["complete", "n1"])
        task.cancel()
    page = await reader.read(NAMES.events_stream, NAMES.all_nodes(Topic.EVENTS), 0)
    assert page.is_last


@pytest.mark.parametrize("other", OTHERS)
async def test_a_detector_speaks_for_no_other_node(bus: "SecuredBus", other: str) -> None:
    connection = await bus.connect_as(DETECTOR_USER)
    for subject in (
        NAMES.key_subject(Bucket.NODES, snapshot_key(other, DETECTOR)),
        NAMES.key_subject(Bucket.NODES, snapshot_key(other, program("x"))),
        NAMES.node_subject(Topic.EVENTS, other, "cpu.cpuid"),
        NAMES.node_subject(Topic.HEARTBEAT, other),
    ):
        with pytest.raises(BusDeniedError):
            await connection.request(subject, b"lies", seconds=30)


async def test_a_detector_speaks_for_no_other_producer_of_its_node(bus: "SecuredBus") -> None:
    store = await store_of(bus, DETECTOR_USER)
    for producer in (KUBERNETES, program("x")):
        with pytest.raises(BusDeniedError):
            await store.put(Bucket.NODES, snapshot_key(NODE, producer), b"lies")


async def test_a_detector_cannot_roll_up_a_bucket(bus: "SecuredBus", make_snapshot: "MakeSnapshot") -> None:
    labeler, detector = await store_of(bus, LABELER), await store_of(bus, DETECTOR_USER)
    await SnapshotPublisher(labeler, Identity("n1", KUBERNETES, Session("labeler", 1))).publish(make_snapshot())
    for subject in (OWN_KEY, NAMES.key_subject(Bucket.SETS, "aa")):
        with pytest.raises(BusError, match="rollup not permitted"):
            await detector.append(subject, b"x", {"Nats-Rollup": "all"})
    assert (await labeler.measure(Bucket.NODES)).count == 1


async def test_a_detector_cannot_change_or_delete_a_set(bus: "SecuredBus") -> None:
    labeler, detector = await store_of(bus, LABELER), await store_of(bus, DETECTOR_USER)
    name = await put_set(labeler, DATA)
    for headers in ({}, {"KV-Operation": "DEL"}, {"KV-Operation": "PURGE"}):
        with pytest.raises(BusFullError):
            await detector.append(NAMES.key_subject(Bucket.SETS, set_key(name)), b"evil", headers)
    with pytest.raises(BusError, match="rollup not permitted"):
        await detector.append(NAMES.key_subject(Bucket.SETS, set_key(name)), b"evil", {"Nats-Rollup": "sub"})
    for verb in (f"STREAM.PURGE.{SETS}", f"STREAM.MSG.DELETE.{SETS}", f"STREAM.DELETE.{SETS}", f"STREAM.UPDATE.{SETS}"):
        with pytest.raises(BusDeniedError):
            await detector.connection.request(f"$JS.API.{verb}", b"{}", seconds=30)
    stored = await labeler.get(Bucket.SETS, set_key(name))
    assert stored is not None
    assert stored.data == DATA


@pytest.mark.parametrize(
    "subject",
    [
        f"$JS.API.DIRECT.GET.{NODES}.{NAMES.key_subject(Bucket.NODES, 'n1.detector')}",
        f"$JS.API.DIRECT.GET.{NODES}.{NAMES.key_subject(Bucket.NODES, '>')}",
        f"$JS.API.DIRECT.GET.{NODES}",
        f"$JS.API.DIRECT.GET.{SETS}",
        f"$JS.API.STREAM.MSG.GET.{NODES}",
        f"$JS.API.STREAM.INFO.{NODES}",
        f"$JS.API.CONSUMER.CREATE.{NODES}",
        NAMES.endpoint(Endpoint.ATTACH),
        NAMES.endpoint(Endpoint.NODES),
    ],
)
async def test_a_detector_reads_no_other_nodes_facts(bus: "SecuredBus", subject: str) -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(DETECTOR_USER)).request(subject, b"{}", seconds=30)


@pytest.mark.parametrize(
    "subject",
    [
        "_INBOX.>",
        "_INBOX.validator.>",
        f"{permissions.detector(NAMES, 'n1').inbox_prefix}.>",
        ">",
        "$KV.>",
        NAMES.all_nodes(Topic.EVENTS),
        NAMES.all_nodes(Topic.HEARTBEAT),
        NAMES.all_nodes(Topic.RESYNC),
        NAMES.node_subject(Topic.RESYNC, "n1"),
        NAMES.stored_subject(Bucket.NODES, ">"),
        NAMES.endpoint(Endpoint.VALIDATE),
    ],
)
async def test_a_detector_hears_nothing_that_is_not_for_it(bus: "SecuredBus", subject: str) -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(DETECTOR_USER)).subscribe(subject, ignore)


@pytest.mark.parametrize(
    "target",
    [
        f"$JS.API.STREAM.PURGE.{NODES}",
        f"$JS.API.STREAM.DELETE.{SETS}",
        NAMES.key_subject(Bucket.NODES, "n7.detector"),
        NAMES.key_subject(Bucket.LABELS, "n7"),
        NAMES.node_subject(Topic.EVENTS, "n7", "cpu.cpuid"),
        NAMES.node_subject(Topic.HEARTBEAT, "n7"),
        NAMES.endpoint(Endpoint.ATTACH),
        NAMES.stored_subject(Bucket.NODES, "n7.detector"),
    ],
)
@pytest.mark.parametrize("body", [b"", b"the detector's own words"])
async def test_no_answer_to_a_detector_can_be_sent_to_somebody_else(
    bus: "SecuredBus", target: str, body: bytes
) -> None:
    """What the server answers goes where the asker says; the accounts keep it from meaning anything there."""
    admin, detector = await store_of(bus, ADMIN), await store_of(bus, DETECTOR_USER)
    await put_set(admin, DATA)
    await detector.append(OWN_KEY, body)
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(message.subject)

    async with admin.connection.subscribed(target, hear):
        await detector.connection.publish(f"$JS.API.DIRECT.GET.{NODES}.{OWN_KEY}", reply=target)
        await detector.connection.publish(OWN_KEY, body, reply=target)
        # One more exchange on the same connection: what was sent before it has been answered.
        assert await detector.get(Bucket.NODES, snapshot_key(NODE, DETECTOR)) is not None
        await admin.connection.client.flush()
    assert heard == []
    assert (await admin.measure(Bucket.NODES)).count == 1
    assert (await admin.measure(Bucket.SETS)).count == 1


async def test_no_answer_to_a_reader_can_be_sent_to_jetstream(bus: "SecuredBus") -> None:
    admin, reader = await store_of(bus, ADMIN), await store_of(bus, READER)
    await admin.append(NAMES.key_subject(Bucket.LABELS, "n1"), b"")
    await put_set(admin, DATA)
    get = f"$JS.API.DIRECT.GET.{NAMES.stream(Bucket.LABELS)}.{NAMES.key_subject(Bucket.LABELS, 'n1')}"
    await reader.connection.publish(get, reply=f"$JS.API.STREAM.DELETE.{SETS}")
    assert await reader.get(Bucket.LABELS, "n1") is not None
    assert (await admin.measure(Bucket.SETS)).count == 1


@pytest.mark.parametrize(
    "user", [DETECTOR_USER, PROGRAM_USER, LABELER, VALIDATOR, RESOLVER, READER], ids=lambda user: user.name
)
@pytest.mark.parametrize(
    "subject",
    [
        f"$JS.API.CONSUMER.CREATE.{SETS}",
        f"$JS.API.CONSUMER.CREATE.{SETS}.evil.>",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{SETS}.evil",
        f"$JS.API.STREAM.DELETE.{NODES}",
        f"$JS.API.STREAM.UPDATE.{NODES}",
        "$JS.API.STREAM.CREATE.evil",
        NAMES.stored_subject(Bucket.NODES, "n1.detector"),
    ],
)
async def test_nobody_makes_a_consumer_or_changes_a_stream(bus: "SecuredBus", user: User, subject: str) -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(user)).request(subject, b"{}", seconds=30)


@pytest.mark.parametrize(
    ("user", "bucket"),
    [
        (VALIDATOR, Bucket.NODES),
        (VALIDATOR, Bucket.SETS),
        (VALIDATOR, Bucket.LABELS),
        (VALIDATOR, Bucket.IMAGES),
        (RESOLVER, Bucket.NODES),
        (RESOLVER, Bucket.SETS),
        (RESOLVER, Bucket.LABELS),
        (READER, Bucket.NODES),
        (READER, Bucket.SETS),
        (READER, Bucket.LABELS),
        (READER, Bucket.IMAGES),
        (LABELER, Bucket.IMAGES),
    ],
    ids=lambda item: getattr(item, "name", item),
)
async def test_a_service_writes_no_bucket_of_another_one(bus: "SecuredBus", user: User, bucket: Bucket) -> None:
    with pytest.raises(BusDeniedError):
        await (await store_of(bus, user)).put(bucket, "n1.detector", b"x")


async def test_the_resolver_reads_nothing_of_nodes(bus: "SecuredBus") -> None:
    store = await store_of(bus, RESOLVER)
    for bucket in (Bucket.NODES, Bucket.SETS, Bucket.LABELS):
        with pytest.raises(BusDeniedError):
            await store.get(bucket, "n1.detector")
        with pytest.raises(BusDeniedError):
            await store.read_bucket(bucket)


@pytest.mark.parametrize("subject", ["_INBOX.validator.>", "_INBOX.>", "_INBOX.*.*.*", "$KV.>", "nodeworthy.>", ">"])
async def test_a_reader_hears_nobodys_answers(bus: "SecuredBus", subject: str) -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(READER)).subscribe(subject, ignore)


async def test_a_reader_asks_for_no_attachment_and_an_author_may(bus: "SecuredBus") -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(READER)).request(NAMES.endpoint(Endpoint.ATTACH), b"{}", seconds=30)
    author = await bus.connect_as(permissions.author(NAMES))
    with pytest.raises(BusError) as error:
        await author.request(NAMES.endpoint(Endpoint.ATTACH), b"{}", seconds=0.2)
    assert not isinstance(error.value, BusDeniedError)


@pytest.mark.parametrize(
    "make",
    [
        permissions.labeler,
        permissions.validator,
        permissions.resolver,
        permissions.reader,
        lambda names: permissions.detector(names, "n1"),
    ],
)
def test_no_user_reaches_another_cluster(make: Callable[[Names], User]) -> None:
    """A name that begins with another cluster's name is no part of it."""
    one, other = make(Names("a")), make(Names("a-b"))
    patterns = {subject for subject in (*one.publish, *one.subscribe) if "nodeworthy" in subject}
    assert patterns
    assert not patterns & {*other.publish, *other.subscribe} - set(_not_of_a_cluster(one))


def _not_of_a_cluster(user: User) -> tuple[str, ...]:
    """Services are looked for by names that all clusters share; the cluster stands in their metadata."""
    return tuple(subject for subject in user.subscribe if subject.startswith("$SRV."))
