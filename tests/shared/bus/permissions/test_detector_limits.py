"""A detector speaks for its own node and hears what is for it, whatever it tries; on a real server."""

from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.client import Msg
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR, KUBERNETES, program, set_key, snapshot_key
from nodeworthy.bus.names import Bucket, Endpoint, Names, Topic
from nodeworthy.bus.records import Session
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.errors import BusDeniedError, BusError, BusFullError
from nodeworthy.features import FeatureSet, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import MakeSnapshot, SecuredBus
    from tests.shared.bus.permissions.conftest import Ignore

NODE = "ip-10-0-1-2.eu-west-1.compute.internal"
OTHERS = ("ip-10-0-1-2.eu-west-1.compute", "ip-10-0-1-2", "ip-10-0-1-2_eu-west-1", "*", ">", "a b", "ip-10-0-1-3")
NAMES = Names("test")
DETECTOR_USER = permissions.detector(NAMES, NODE)
LABELER = permissions.labeler(NAMES)
ADMIN = permissions.admin()
NODES = NAMES.stream(Bucket.NODES)
SETS = NAMES.stream(Bucket.SETS)
OWN_KEY = NAMES.key_subject(Bucket.NODES, snapshot_key(NODE, DETECTOR))
DATA = encode(FeatureSet(attributes={"major": "6"}))


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
    store = await bus.store_as(DETECTOR_USER)
    for producer in (KUBERNETES, program("x")):
        with pytest.raises(BusDeniedError):
            await store.put(Bucket.NODES, snapshot_key(NODE, producer), b"lies")


async def test_a_detector_cannot_roll_up_a_bucket(bus: "SecuredBus", make_snapshot: "MakeSnapshot") -> None:
    labeler, detector = await bus.store_as(LABELER), await bus.store_as(DETECTOR_USER)
    await SnapshotPublisher(labeler, Identity("n1", KUBERNETES, Session("labeler", 1))).publish(make_snapshot())
    for subject in (OWN_KEY, NAMES.key_subject(Bucket.SETS, "aa")):
        with pytest.raises(BusError, match="rollup not permitted"):
            await detector.append(subject, b"x", {"Nats-Rollup": "all"})
    assert (await labeler.measure(Bucket.NODES)).count == 1


async def test_a_detector_cannot_change_or_delete_a_set(bus: "SecuredBus") -> None:
    labeler, detector = await bus.store_as(LABELER), await bus.store_as(DETECTOR_USER)
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
async def test_a_detector_hears_nothing_that_is_not_for_it(bus: "SecuredBus", subject: str, ignore: "Ignore") -> None:
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
    admin, detector = await bus.store_as(ADMIN), await bus.store_as(DETECTOR_USER)
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
