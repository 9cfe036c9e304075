"""What the bus knows of nodes, read from its buckets: no service has to run for this."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping

import msgspec

from nodeworthy.bus.composing import entry_digest
from nodeworthy.bus.keys import DETECTOR, KUBERNETES, Producer, labels_key, parse_labels_key, parse_snapshot_key
from nodeworthy.bus.labels import read_live_labels
from nodeworthy.bus.names import Bucket, encode_token
from nodeworthy.bus.nodes import read_snapshot
from nodeworthy.bus.records import SetEntry, SnapshotMessage
from nodeworthy.bus.requests import Hardware, NodeSummary, ProducerSummary
from nodeworthy.bus.sets import SetReader
from nodeworthy.bus.store import Store, Stored
from nodeworthy.errors import BusContentError, NodeworthyError, PayloadError, UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth, is_blind
from nodeworthy.verdicts import NodeFacts
from nodeworthy_cli.node_hardware import SETS, describe_hardware

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
    describer = _Describer(SetReader(store))
    return [
        await _summarize_node(node, found, labels.get(node, {}), describer) for node, found in sorted(snapshots.items())
    ]


_Found = Mapping[Producer, tuple[Stored, SnapshotMessage | str]]
"""Producer to what is stored, and what it says or why it cannot be read."""


async def _summarize_node(node: str, found: _Found, labels: Mapping[str, str], describer: "_Describer") -> NodeSummary:
    _, message = found.get(DETECTOR, (None, ""))
    platform, hardware = ("", Hardware()) if isinstance(message, str) else await describer.describe(message)
    return NodeSummary(
        node=node,
        platform=platform,
        producers=tuple(summarize(producer, *found[producer]) for producer in sorted(found, key=str)),
        labels=labels,
        hardware=hardware,
        health="" if isinstance(message, str) else judge_health(message.sources),
    )


async def _read_snapshots(store: Store, only: Collection[str]) -> dict[str, _Found]:
    nodes: defaultdict[str, dict[Producer, tuple[Stored, SnapshotMessage | str]]] = defaultdict(dict)
    for pattern in [f"{encode_token(node)}.>" for node in only] or [">"]:
        async for key, stored in read_keys(store, Bucket.NODES, pattern):
            try:
                node, producer = parse_snapshot_key(key)
            except UsageError:  # nobody of ours writes such a key, so it is nobody's node
                continue
            nodes[node][producer] = (stored, _read_message(stored.data, node, producer))
    return {node: found for node, found in nodes.items() if not is_gone(found)}


def is_gone(found: _Found) -> bool:
    """Whether the cluster had this node and has it no more; as validators see it (bus.records.SnapshotMessage)."""
    marked, said = found.get(KUBERNETES, (None, ""))
    if marked is None or isinstance(said, str) or not said.is_node_gone:
        return False
    others = [(stored, message) for stored, message in found.values() if not isinstance(message, str)]
    return not any(
        stored.revision > marked.revision and message.node_uid and said.node_uid and message.node_uid != said.node_uid
        for stored, message in others
    )


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
        sources={name: health for name, health in message.sources.items() if health != SourceHealth()},
    )


def judge_health(sources: Mapping[str, SourceHealth]) -> str:
    """How a detector's sources fare together; see :attr:`NodeSummary.health`."""
    if is_blind(sources):
        return "blind"
    failing = sum(bool(health.error) for health in sources.values())
    if failing:
        return f"{failing} failing"
    faults = sum(len(health.faults) for health in sources.values())
    return f"{faults} fault{'s' if faults > 1 else ''}" if faults else "ok"


def _names(message: SnapshotMessage) -> set[str]:
    # What is in the catalogue and was not delivered is unknown.
    return {*message.sets, *(message.catalogue or ())}


class _Describer:
    """Says what nodes are; nodes with the same contents are described once."""

    def __init__(self, sets: SetReader) -> None:
        self._sets = sets
        self._described: dict[object, tuple[str, Hardware]] = {}

    async def describe(self, message: SnapshotMessage) -> tuple[str, Hardware]:
        """The platform and the hardware that a detector's sets tell of; empty where they do not."""
        entries = {name: message.sets.get(name) for name in SETS}
        key = tuple(_key(entry) for entry in entries.values())
        if key not in self._described:
            contents = {name: found for name, entry in entries.items() if (found := await self._content(entry))}
            self._described[key] = (_platform(contents), describe_hardware(contents))
        return self._described[key]

    async def _content(self, entry: SetEntry | None) -> FeatureSet | None:
        if entry is None or entry.state is not SetState.PRESENT:
            return None
        try:
            if entry.content is not None:
                return self._sets.add(entry_digest(entry), entry.content)
            return await self._sets.fetch(entry.digest)
        except (BusContentError, UsageError):  # what cannot be used is not known
            return None


def _key(entry: SetEntry | None) -> tuple[SetState | None, str, bytes | None]:
    return (None, "", None) if entry is None else (entry.state, entry.digest, entry.content)


def _platform(contents: Mapping[str, FeatureSet]) -> str:
    known = {name: contents[name] for name in _PLATFORM_SETS if name in contents}
    statuses = {name: SetStatus(SetState.UNKNOWN) for name in _PLATFORM_SETS if name not in contents}
    platform = NodeFacts.of(Snapshot(known, statuses)).platform
    return str(platform) if platform else ""


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
