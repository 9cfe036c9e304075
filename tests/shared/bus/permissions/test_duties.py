"""Each service does its job with its own user; on a real server."""

import asyncio
import json
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
from nodeworthy.bus.records import RescanRequest, Session
from nodeworthy.bus.requests import ResolveReply, ResolveRequest, ValidateReply, ValidateRequest
from nodeworthy.bus.serving import Served, Serving
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.sweeping import Sweeper
from nodeworthy.bus.watching import Complete, Watch
from nodeworthy.errors import BusDeniedError
from nodeworthy.features import FeatureSet, digest, encode
from nodeworthy.images import ImageKnowledge
from nodeworthy.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Eventually, MakeSnapshot, SecuredBus

NODE = "ip-10-0-1-2.eu-west-1.compute.internal"
NAMES = Names("test")
DETECTOR_USER = permissions.detector(NAMES, NODE)
PROGRAM_USER = permissions.operator_program(NAMES, NODE, "gpu-agent")
LABELER = permissions.labeler(NAMES)
VALIDATOR = permissions.validator(NAMES)
RESOLVER = permissions.resolver(NAMES)
READER = permissions.reader(NAMES)
GUEST = permissions.reader(NAMES, "guest", stock_inbox=True)
DATA = encode(FeatureSet(attributes={"major": "6"}))


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
    store, listener = await bus.store_as(DETECTOR_USER), await bus.store_as(VALIDATOR)
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
    store = await bus.store_as(DETECTOR_USER)
    for start in (1, 2):
        publisher = SnapshotPublisher(store, Identity(NODE, DETECTOR, Session("boot", start)))
        await publisher.publish(make_snapshot())
    assert publisher.revision == 2


async def test_a_program_publishes_its_own_facts_and_not_the_detectors(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot"
) -> None:
    store = await bus.store_as(PROGRAM_USER)
    publisher = SnapshotPublisher(store, Identity(NODE, program("gpu-agent"), Session("agent", 1)))
    await publisher.publish(make_snapshot())
    for producer in (DETECTOR, KUBERNETES, program("other-agent")):
        with pytest.raises(BusDeniedError):
            await store.put(Bucket.NODES, snapshot_key(NODE, producer), b"lies")


async def test_the_labeler_mirrors_labels_sweeps_and_removes(bus: "SecuredBus", make_snapshot: "MakeSnapshot") -> None:
    store = await bus.store_as(LABELER)
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


async def test_an_operator_has_one_node_look_afresh_and_no_other_hears_it(
    bus: "SecuredBus", eventually: "Eventually"
) -> None:
    operator, detector = await bus.connect_as(permissions.operator(NAMES)), await bus.connect_as(DETECTOR_USER)
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(payloads.decode(message.data, RescanRequest).id)

    async with detector.subscribed(NAMES.node_subject(Topic.RESCAN, NODE), hear):
        for node in ("another", NODE):
            request = payloads.encode(RescanRequest(id=f"of {node}"))
            await operator.publish(NAMES.node_subject(Topic.RESCAN, node), request)
        await eventually(lambda: heard == [f"of {NODE}"])
    assert not operator.denials.recent


async def test_the_resolver_keeps_its_cache(bus: "SecuredBus") -> None:
    store = await bus.store_as(RESOLVER)
    await store.put(Bucket.IMAGES, "tag-aa", b"1", seconds_to_live=60)
    assert await store.get(Bucket.IMAGES, "tag-aa") is not None


async def test_a_reader_reads_facts_and_labels_as_they_change(
    bus: "SecuredBus", make_snapshot: "MakeSnapshot", eventually: "Eventually"
) -> None:
    labeler, reader = await bus.store_as(LABELER), await bus.store_as(READER)
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
