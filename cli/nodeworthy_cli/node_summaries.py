"""What the bus knows of nodes, read from its buckets: no service has to run for this."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping

import msgspec

from nodeworthy.bus.composing import entry_digest
from nodeworthy.bus.keys import DETECTOR, Producer, labels_key, parse_labels_key, parse_snapshot_key
from nodeworthy.bus.labels import read_live_labels
from nodeworthy.bus.names import Bucket, encode_token
from nodeworthy.bus.nodes import read_snapshot
from nodeworthy.bus.records import SetEntry, SnapshotMessage
from nodeworthy.bus.requests import NodeSummary, ProducerSummary
from nodeworthy.bus.sets import SetReader
from nodeworthy.bus.store import Store, Stored
from nodeworthy.errors import BusContentError, NodeworthyError, PayloadError, UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.verdicts import NodeFacts

STALE_SECONDS = 1500.0
"""A snapshot is put again every 600 s give or take 60; after twice that and a little it is known that it was not."""

_PLATFORM_SETS = ("system.architecture", "cpu.cpuid")
"""What tells a node's platform and its variant."""


async def read_nodes(store: Store, only: Collection[str] = ()) -> list[NodeSummary]:
    """Every node on the bus by name, or ``only`` some.

    Raises:
        UsageError: a name is none.
        BusError: the bus could not be read.
    """
    snapshots = await _read_snapshots(store, only)
    labels = await _read_labels(store, snapshots)
    sets = SetReader(store)
    return [
        NodeSummary(
            node=node,
            platform=await _platform(found, sets),
            producers=tuple(summarize(producer, *found[producer]) for producer in sorted(found, key=str)),
            labels=labels.get(node, {}),
        )
        for node, found in sorted(snapshots.items())
    ]


_Found = Mapping[Producer, tuple[Stored, SnapshotMessage | str]]
"""Producer to what is stored, and what it says or why it cannot be read."""


async def _read_snapshots(store: Store, only: Collection[str]) -> dict[str, _Found]:
    nodes: defaultdict[str, dict[Producer, tuple[Stored, SnapshotMessage | str]]] = defaultdict(dict)
    for pattern in [f"{encode_token(node)}.>" for node in only] or [">"]:
        async for key, stored in read_keys(store, Bucket.NODES, pattern):
            try:
                node, producer = parse_snapshot_key(key)
            except UsageError:  # nobody of ours writes such a key, so it is nobody's node
                continue
            nodes[node][producer] = (stored, _read_message(stored.data, node, producer))
    return dict(nodes)


def _read_message(data: bytes, node: str, producer: Producer) -> SnapshotMessage | str:
    try:
        return read_snapshot(data, node, producer)
    except NodeworthyError as error:
        return str(error)


async def read_keys(store: Store, bucket: Bucket, pattern: str) -> AsyncIterator[tuple[str, Stored]]:
    """Every key of a bucket that matches, with what is stored under it; keys that were removed are left out."""
    prefix = store.names.key_subject(bucket, "")
    cursor, is_last = 0, False
    while not is_last:
        page = await store.read_bucket(bucket, cursor, keys=pattern)
        is_last = page.is_last
        for stored in page.messages:
            cursor = max(cursor, stored.revision)
            if not stored.is_removal:
                yield stored.subject.removeprefix(prefix), stored


async def _read_labels(store: Store, nodes: Collection[str]) -> dict[str, Mapping[str, str]]:
    """Node to its labels; a record that cannot be read gives none, as one that was never written."""
    found: dict[str, Mapping[str, str]] = {}
    pattern = labels_key(next(iter(nodes))) if len(nodes) == 1 else ">"
    async for key, stored in read_keys(store, Bucket.LABELS, pattern):
        try:
            found[parse_labels_key(key)] = read_live_labels(stored.data)
        except (PayloadError, UsageError):
            continue
    return found


def summarize(producer: Producer, stored: Stored, message: SnapshotMessage | str) -> ProducerSummary:
    """What one producer's snapshot is worth now."""
    summary = ProducerSummary(str(producer), stored.revision, max(0.0, time.time() - stored.time))
    if isinstance(message, str):
        return msgspec.structs.replace(summary, problem=message)
    states = [message.sets[name].state if name in message.sets else SetState.UNKNOWN for name in _names(message)]
    return msgspec.structs.replace(
        summary,
        expires=message.expires,
        present=states.count(SetState.PRESENT),
        absent=states.count(SetState.ABSENT),
        unknown=states.count(SetState.UNKNOWN),
        sources={name: health for name, health in message.sources.items() if health.error or health.faults},
    )


def _names(message: SnapshotMessage) -> set[str]:
    # What is in the catalogue and was not delivered is unknown.
    return {*message.sets, *(message.catalogue or ())}


async def _platform(found: _Found, sets: SetReader) -> str:
    """The platform as the detector's sets tell it; empty where it is not known."""
    _, message = found.get(DETECTOR, (None, ""))
    if isinstance(message, str):
        return ""
    contents = {}
    for name in _PLATFORM_SETS:
        content = await _content(message.sets.get(name), sets)
        if content is not None:
            contents[name] = content
    statuses = {name: SetStatus(SetState.UNKNOWN) for name in _PLATFORM_SETS if name not in contents}
    platform = NodeFacts.of(Snapshot(contents, statuses)).platform
    return str(platform) if platform else ""


async def _content(entry: SetEntry | None, sets: SetReader) -> FeatureSet | None:
    if entry is None or entry.state is not SetState.PRESENT:
        return None
    try:
        if entry.content is not None:
            return sets.add(entry_digest(entry), entry.content)
        return await sets.fetch(entry.digest)
    except (BusContentError, UsageError):  # what cannot be used is not known
        return None


def mark(node: NodeSummary, now: float) -> str:
    """How a node's facts stand: ``fresh``, ``stale``, ``expired``, ``unreadable``, or ``never`` if no detector spoke."""
    detector = next((producer for producer in node.producers if producer.producer == str(DETECTOR)), None)
    if detector is None:
        return "never"
    if detector.problem:
        return "unreadable"
    if detector.expires is not None and detector.expires < now:
        return "expired"
    return "stale" if detector.age > STALE_SECONDS else "fresh"
