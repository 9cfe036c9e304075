"""No user does another one's work; on a real server."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Bucket, Endpoint, Names, Topic
from nodeworthy.bus.permissions import User
from nodeworthy.bus.sets import put_set
from nodeworthy.errors import BusDeniedError, BusError
from nodeworthy.features import FeatureSet, encode

if TYPE_CHECKING:
    from tests.shared.bus.conftest import SecuredBus
    from tests.shared.bus.permissions.conftest import Ignore

NODE = "ip-10-0-1-2.eu-west-1.compute.internal"
NAMES = Names("test")
DETECTOR_USER = permissions.detector(NAMES, NODE)
PROGRAM_USER = permissions.operator_program(NAMES, NODE, "gpu-agent")
LABELER = permissions.labeler(NAMES)
VALIDATOR = permissions.validator(NAMES)
RESOLVER = permissions.resolver(NAMES)
READER = permissions.reader(NAMES)
OPERATOR = permissions.operator(NAMES)
ADMIN = permissions.admin()
NODES = NAMES.stream(Bucket.NODES)
SETS = NAMES.stream(Bucket.SETS)
DATA = encode(FeatureSet(attributes={"major": "6"}))


async def test_no_answer_to_a_reader_can_be_sent_to_jetstream(bus: "SecuredBus") -> None:
    admin, reader = await bus.store_as(ADMIN), await bus.store_as(READER)
    await admin.append(NAMES.key_subject(Bucket.LABELS, "n1"), b"")
    await put_set(admin, DATA)
    get = f"$JS.API.DIRECT.GET.{NAMES.stream(Bucket.LABELS)}.{NAMES.key_subject(Bucket.LABELS, 'n1')}"
    await reader.connection.publish(get, reply=f"$JS.API.STREAM.DELETE.{SETS}")
    assert await reader.get(Bucket.LABELS, "n1") is not None
    assert (await admin.measure(Bucket.SETS)).count == 1


@pytest.mark.parametrize(
    "user", [DETECTOR_USER, PROGRAM_USER, LABELER, VALIDATOR, RESOLVER, READER, OPERATOR], ids=lambda user: user.name
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
        (OPERATOR, Bucket.NODES),
        (OPERATOR, Bucket.LABELS),
        (LABELER, Bucket.IMAGES),
    ],
    ids=lambda item: getattr(item, "name", item),
)
async def test_a_service_writes_no_bucket_of_another_one(bus: "SecuredBus", user: User, bucket: Bucket) -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.store_as(user)).put(bucket, "n1.detector", b"x")


async def test_the_resolver_reads_nothing_of_nodes(bus: "SecuredBus") -> None:
    store = await bus.store_as(RESOLVER)
    for bucket in (Bucket.NODES, Bucket.SETS, Bucket.LABELS):
        with pytest.raises(BusDeniedError):
            await store.get(bucket, "n1.detector")
        with pytest.raises(BusDeniedError):
            await store.read_bucket(bucket)


@pytest.mark.parametrize("subject", ["_INBOX.validator.>", "_INBOX.>", "_INBOX.*.*.*", "$KV.>", "nodeworthy.>", ">"])
async def test_a_reader_hears_nobodys_answers(bus: "SecuredBus", subject: str, ignore: "Ignore") -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(READER)).subscribe(subject, ignore)


async def test_a_reader_asks_for_no_attachment_and_an_author_may(bus: "SecuredBus") -> None:
    with pytest.raises(BusDeniedError):
        await (await bus.connect_as(READER)).request(NAMES.endpoint(Endpoint.ATTACH), b"{}", seconds=30)
    author = await bus.connect_as(permissions.author(NAMES))
    with pytest.raises(BusError) as error:
        await author.request(NAMES.endpoint(Endpoint.ATTACH), b"{}", seconds=0.2)
    assert not isinstance(error.value, BusDeniedError)


async def test_a_reader_asks_no_node_to_look_afresh_and_an_operator_asks_for_nothing_else(bus: "SecuredBus") -> None:
    rescan, resync = (NAMES.node_subject(topic, NODE) for topic in (Topic.RESCAN, Topic.RESYNC))
    for user, subject in ((READER, rescan), (OPERATOR, resync), (OPERATOR, NAMES.endpoint(Endpoint.ATTACH))):
        with pytest.raises(BusDeniedError):
            await (await bus.connect_as(user)).request(subject, b"{}", seconds=30)


@pytest.mark.parametrize(
    "make",
    [
        permissions.labeler,
        permissions.validator,
        permissions.resolver,
        permissions.reader,
        permissions.operator,
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
