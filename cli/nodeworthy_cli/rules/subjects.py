"""The node that rules are tried on: this machine, a node of the bus, a features file or a NodeFeature object."""

import platform
import time
from typing import Any, NamedTuple

import click
import msgspec

from nodeworthy import features
from nodeworthy.bus.keys import labels_key, parse_snapshot_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket, encode_token
from nodeworthy.bus.nodes import PublishedSnapshot, build_snapshot, read_snapshot
from nodeworthy.bus.records import SetEntry
from nodeworthy.bus.sets import SetReader
from nodeworthy.bus.store import Store, Stored
from nodeworthy.bus.watching import Put
from nodeworthy.errors import BusContentError, FeatureDocumentError, PayloadError, UsageError
from nodeworthy.features import FeatureSet, Lookup, SetState, SetStatus, Snapshot
from nodeworthy.features.node_feature import NODE_NAME_LABEL
from nodeworthy.fleet import Fleet
from nodeworthy.labels import LabelMemory, NodeFacts
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.facts import THIS, read_file, read_machine
from nodeworthy_cli.fleet_question import is_on_bus
from nodeworthy_cli.node_summaries import read_keys
from nodeworthy_labeler.facts import NodeTable

on_option = click.option(
    "--on",
    "on",
    default=THIS,
    show_default=True,
    metavar="this|NODE|FILE",
    help="This machine; a node of the bus; or a features file or NodeFeature object"
    " (its name has a slash or ends in .json or .yaml).",
)


class Subject(NamedTuple):
    """One node."""

    name: str
    facts: NodeFacts
    is_on_bus: bool = False
    memory: LabelMemory | None = None
    """What the labeler remembers of it; ``None``: nothing, or nobody was asked."""
    problems: tuple[str, ...] = ()
    """What of it could not be read."""


def read_subject(on: str, bus: BusOptions, verb: str) -> Subject:
    """The node that ``--on`` names.

    Raises:
        UsageError: the file cannot be read, or there is no such node, or more than one is named.
        FeatureDocumentError: the file holds no features.
        BusError: the bus could not be read.
    """
    if on == THIS:
        return Subject(platform.node(), read_machine())
    if not is_on_bus(on):
        return _read_file_subject(on)
    if not on or "," in on or on == "all":
        raise UsageError(f"--on {on!r} names no node", why="rules are tried on one node at a time")
    return run_on_bus(bus, verb, lambda store: _read_bus_subject(store, on))


def _read_file_subject(name: str) -> Subject:
    data = read_file(name, features.MAX_DOCUMENT_BYTES, "features file")
    shown = "standard input" if name == "-" else name
    if not data.lstrip().startswith(b"{"):
        from nodeworthy_cli.text_yaml import read_text_yaml

        data = read_text_yaml(data, shown)
    node, data = _unwrap(data, shown)
    return Subject(node or shown, features.read_document(data, shown))


def _unwrap(data: bytes, shown: str) -> tuple[str, bytes]:
    """The node's name and the features of a NodeFeature object; what is none is left as it is."""
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "", data  # whoever reads it says why
    if not isinstance(found, dict) or found.get("kind") is None:
        return "", data
    if found["kind"] != "NodeFeature":
        raise FeatureDocumentError(
            f"{shown} holds no features",
            why=f"it is a {str(found['kind'])[:80]}",
            todo="give a NodeFeature object, or what is written by: nodeworthy features -o json",
        )
    metadata, spec = _map(found, "metadata"), _map(found, "spec")
    node = _map(metadata, "labels").get(NODE_NAME_LABEL) or metadata.get("name") or ""
    return str(node), msgspec.json.encode(spec.get("features") or {"flags": {}})


def _map(found: dict[str, Any], name: str) -> dict[str, Any]:
    inner = found.get(name)
    return inner if isinstance(inner, dict) else {}


class _RowFacts:
    """The effective facts of a node of the bus, with their digests."""

    def __init__(self, fleet: Fleet, node: str) -> None:
        self._facts = fleet.facts(node)

    def lookup(self, name: str) -> Lookup:
        return self._facts.lookup(name)

    def status(self, name: str) -> SetStatus:
        found = self.lookup(name)
        contents = {} if found.content is None else {name: found.content}
        return Snapshot(contents, {name: SetStatus(found.state, found.reason)}).status(name)


async def _read_bus_subject(store: Store, node: str) -> Subject:
    """The newest facts of every producer of a node, put together as the labeler does, and what it remembers."""
    table = NodeTable(Fleet(), time.time)
    sets = SetReader(store)
    problems: list[str] = []
    async for key, stored in read_keys(store, Bucket.NODES, f"{encode_token(node)}.>"):
        try:
            table.take(await _read_producer(sets, key, stored))
        except (PayloadError, UsageError) as error:
            problems.append(str(error))
    if node not in table.fleet:
        why = "; ".join(problems) or "nobody has published facts of it"
        raise UsageError(f"no node is named {node!r} on the bus", why=why, todo="see the nodes: nodeworthy nodes")
    memory = None
    record = await store.get(Bucket.LABELS, labels_key(node))
    if record is not None and not record.is_removal:
        try:
            memory = read_memory(record.data)
        except PayloadError as error:
            problems.append(str(error))
    return Subject(node, _RowFacts(table.fleet, node), is_on_bus=True, memory=memory, problems=tuple(problems))


async def _read_producer(sets: SetReader, key: str, stored: Stored) -> PublishedSnapshot:
    node, producer = parse_snapshot_key(key)
    message = read_snapshot(stored.data, node, producer)
    held: dict[str, tuple[str, FeatureSet]] = {}
    reasons: dict[str, str] = {}
    for name, entry in message.sets.items():
        if entry.state is SetState.PRESENT:
            found = await _read_set(sets, entry)
            if isinstance(found, str):
                reasons[name] = found
            else:
                held[name] = found
    put = Put(key, stored.data, stored.revision, stored.time)
    return build_snapshot(put, node, producer, message, held, reasons)


async def _read_set(sets: SetReader, entry: SetEntry) -> tuple[str, FeatureSet] | str:
    """The content of a set under its digest, or why it is not known."""
    try:
        if entry.content is not None:
            return sets.intern(entry.content)
        content = await sets.fetch(entry.digest)
    except BusContentError as error:
        return str(error)
    return "its content is not on the bus" if content is None else (entry.digest, content)
