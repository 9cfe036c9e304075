"""The streams and buckets, made by us and not by a client's defaults.

With rollup headers allowed, as client libraries make a key-value bucket, one detector can wipe every node's facts by one
message; without write-once sets, one node can change what another one's digest stands for. So every stream has one
definition, is made if it is missing, and is compared with it if it is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Bucket, Names, Topic
from nodeworthy.errors import BusDeniedError, BusError, BusSetupError
from nodeworthy.features import MAX_SET_BYTES

HEADER_BYTES = 4096
"""JetStream counts headers as part of a message's size; ours have at most 200 bytes."""

MAX_SNAPSHOT_BYTES = 256 * 1024
"""A snapshot has about 2 kB; a NodeFeature object may have 200 kB, since etcd holds 1.5 MB at most."""

MAX_LABELS_BYTES = 512 * 1024
"""500 keys with their rules and digests have about 150 kB."""

MAX_IMAGE_BYTES = 1024 * 1024 - HEADER_BYTES
"""An index of 40 platforms whose children each declare something; the server takes 1 MiB."""

IMAGES_BYTES = 1024**3
"""Bucket ``images`` is a cache: the oldest goes."""

MAX_EVENT_BYTES = 256 * 1024
"""An event that would have more carries the digests only."""

EVENTS_SECONDS = 7 * 24 * 3600
EVENTS_BYTES = 1024**3

_NANOSECONDS = 1_000_000_000
_NOT_FOUND = 10059


@dataclass(frozen=True)
class StreamDefinition:
    """A stream's name, and every property that matters; all others are the server's defaults."""

    name: str
    properties: Mapping[str, Any]


def define_streams(names: Names) -> tuple[StreamDefinition, ...]:
    """The definitions of one cluster: four buckets and the events."""
    return (
        _bucket(names, Bucket.NODES, MAX_SNAPSHOT_BYTES, republish=_republish(names, Bucket.NODES)),
        _bucket(names, Bucket.SETS, MAX_SET_BYTES, discard_new_per_subject=True),
        _bucket(names, Bucket.IMAGES, MAX_IMAGE_BYTES, discard="old", max_bytes=IMAGES_BYTES, allow_msg_ttl=True),
        _bucket(names, Bucket.LABELS, MAX_LABELS_BYTES, republish=_republish(names, Bucket.LABELS)),
        _events(names),
    )


def _bucket(names: Names, bucket: Bucket, largest: int, **others: object) -> StreamDefinition:
    return StreamDefinition(
        names.stream(bucket),
        {
            "subjects": [names.key_subject(bucket, ">")],
            "max_msgs_per_subject": 1,
            "discard": "new",
            "storage": "file",
            "max_msg_size": largest + HEADER_BYTES,
            "allow_direct": True,
            "allow_rollup_hdrs": False,
            "deny_delete": True,
            "deny_purge": False,
        }
        | others,
    )


def _republish(names: Names, bucket: Bucket) -> dict[str, object]:
    """What was stored is said again without its body: the hint on which watches read on."""
    return {
        "src": names.key_subject(bucket, ">"),
        "dest": names.stored_subject(bucket, ">"),
        "headers_only": True,
    }


def _events(names: Names) -> StreamDefinition:
    return StreamDefinition(
        names.events_stream,
        {
            "subjects": [names.all_nodes(Topic.EVENTS)],
            "max_age": EVENTS_SECONDS * _NANOSECONDS,
            "max_bytes": EVENTS_BYTES,
            "max_msg_size": MAX_EVENT_BYTES + HEADER_BYTES,
            "discard": "old",
            "storage": "file",
            "allow_direct": True,
            "allow_rollup_hdrs": False,
            "deny_delete": True,
            "deny_purge": False,
        },
    )


async def ensure_streams(
    connection: Connection, definitions: Sequence[StreamDefinition], *, replicas: int | None = None
) -> tuple[str, ...]:
    """Make the streams that are missing, compare those that are there; the names of those that were made.

    Two services that do it at once make each stream once.

    Args:
        connection: with the permission to ask for each stream, and to make it.
        definitions: what must be there.
        replicas: how many servers hold each stream; ``None``: one where it is made, any where it is there.

    Raises:
        BusSetupError: a stream is there and differs, or cannot be made.
        BusDeniedError: this user may not do that.
        BusUnreachableError: JetStream does not answer, or is not enabled.
    """
    return tuple([item.name for item in definitions if await _ensure(connection, item, replicas)])


async def _ensure(connection: Connection, definition: StreamDefinition, replicas: int | None) -> bool:
    found = await _read_properties(connection, definition.name)
    is_new = found is None
    if found is None:
        problem = await _make(connection, definition, replicas or 1)
        # Another service may have made it in between; what counts is what is there now.
        found = await _read_properties(connection, definition.name)
        if found is None:
            raise BusSetupError(f"stream {definition.name} cannot be made", (problem or "it is gone again",))
        is_new = not problem
    expected = {**definition.properties, **({"num_replicas": replicas} if replicas else {})}
    differences = compare_properties(expected, found)
    if differences:
        raise BusSetupError(
            f"stream {definition.name} is not as nodeworthy needs it",
            differences,
            todo="delete it (nothing on the bus is the only copy), or change it with: nats stream edit",
        )
    return is_new


def compare_properties(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, ...]:
    """What differs, in words; a property that the server does not list is zero."""
    pairs = {name: (wanted, found.get(name, type(wanted)())) for name, wanted in expected.items()}
    return tuple(f"{name} is {has!r}, not {wanted!r}" for name, (wanted, has) in pairs.items() if wanted != has)


class _Problem(msgspec.Struct):
    description: str = ""
    err_code: int = 0


class _Answer(msgspec.Struct):
    config: dict[str, Any] = {}
    error: _Problem | None = None


async def _read_properties(connection: Connection, name: str) -> Mapping[str, Any] | None:
    answer = await _call(connection, f"$JS.API.STREAM.INFO.{name}", b"")
    if answer.error is None:
        return answer.config
    if answer.error.err_code == _NOT_FOUND:
        return None
    raise BusSetupError(f"stream {name} cannot be looked at", (answer.error.description,))


async def _make(connection: Connection, definition: StreamDefinition, replicas: int) -> str:
    """Make a stream; what JetStream has against it."""
    body = {"name": definition.name, "num_replicas": replicas, **definition.properties}
    answer = await _call(connection, f"$JS.API.STREAM.CREATE.{definition.name}", msgspec.json.encode(body))
    return answer.error.description if answer.error else ""


async def _call(connection: Connection, subject: str, body: bytes) -> _Answer:
    try:
        message = await connection.request(subject, body)
    except BusDeniedError as error:
        raise BusDeniedError(error.what, todo="the labeler and the admin make streams; start one of them") from error
    try:
        return msgspec.json.decode(message.data, type=_Answer)
    except msgspec.MsgspecError as error:
        raise BusError("JetStream gave an answer that cannot be read", why=str(error)) from error
