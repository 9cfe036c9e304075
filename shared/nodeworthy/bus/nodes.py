"""Readers' side of bucket ``nodes``: every producer's facts of every node, with their contents, as they change.

What cannot be read never hides what could: a snapshot that does not decode, names somebody else or is of a newer version is
told as a :class:`NodeProblem`, and the one before stays; a set whose content does not come is unknown.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import Producer, parse_snapshot_key
from nodeworthy.bus.names import Bucket, Topic, encode_token
from nodeworthy.bus.pending import PendingSets, PendingSettings
from nodeworthy.bus.records import ResyncRequest, SnapshotMessage
from nodeworthy.bus.sets import SetReader
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import MAX_SNAPSHOT_BYTES
from nodeworthy.bus.watching import Complete, Put, Removed, Watch, WatchSettings
from nodeworthy.errors import BusContentError, BusError, NodeworthyError, PayloadError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    """What one producer says of one node, with the contents."""

    node: str
    producer: Producer
    revision: int
    time: float
    """Unix time when the bus stored it: ``now - time`` is the age of the facts."""
    message: SnapshotMessage
    snapshot: Snapshot
    digests: Mapping[str, str]
    """Set name to the digest of its content, for sets whose content is known."""
    missing: tuple[str, ...] = ()
    """Present sets whose content is not on the bus, or is bad; they are unknown in ``snapshot``."""


@dataclass(frozen=True, slots=True)
class NodeRemoved:
    """A producer withdrew or, with ``is_lost``, its key is gone for a reason that nobody told: keep what was known."""

    node: str
    producer: Producer
    is_lost: bool
    revision: int = 0
    """Of the withdrawal; 0: nobody told of one."""


@dataclass(frozen=True, slots=True)
class NodeProblem:
    """A producer's newest snapshot cannot be used; the one before stays."""

    node: str
    producer: Producer
    revision: int
    problem: str


NodeChange = PublishedSnapshot | NodeRemoved | NodeProblem | Complete


Held = tuple[str, FeatureSet]
"""A content and its digest."""


class _Contents(NamedTuple):
    """The contents of a snapshot's present sets."""

    held: dict[str, Held]
    reasons: dict[str, str]
    """Why others are not known."""
    awaited: dict[str, asyncio.Task[FeatureSet | BusError]]
    """Of many snapshots that name one digest all wait for one task: at the start that is every node of a fleet."""


class NodeReader:
    """Follows bucket ``nodes``; :meth:`run` does the work."""

    def __init__(
        self,
        store: Store,
        *,
        sets: SetReader | None = None,
        watch_settings: WatchSettings | None = None,
        pending_settings: PendingSettings | None = None,
    ) -> None:
        self._store = store
        self._watch = Watch(store, Bucket.NODES, settings=watch_settings or WatchSettings())
        self.sets = sets or SetReader(store)
        self._pending = PendingSets(self.sets, self._want_resync, settings=pending_settings or PendingSettings())
        self._newest: dict[str, int] = {}
        self._tasks: dict[asyncio.Task[None], str] = {}
        """Snapshots whose sets are being fetched, with their nodes."""
        self._group: asyncio.TaskGroup | None = None

    @property
    def problem(self) -> str:
        """Why the bucket cannot be read now; empty when it can."""
        return self._watch.problem

    async def has_told(self, node: str) -> bool:
        """Ask the bus whether everything that it holds of a node has been told.

        Raises:
            BusError: no answer.
        """
        page = await self._store.read_bucket(Bucket.NODES, keys=f"{encode_token(node)}.>")
        return all(map(self._watch.has_told, page.messages)) and node not in self._tasks.values()

    async def run(self, deliver: Callable[[NodeChange], None]) -> None:
        """Tell ``deliver`` everything, then :class:`Complete`, then every change; until cancelled.

        Raises:
            BusDeniedError: this user may not read the buckets.
        """
        try:
            async with asyncio.TaskGroup() as group, aclosing(self._watch.changes()) as changes:
                self._group = group
                async for change in changes:
                    if isinstance(change, Put):
                        self._take(change, deliver)
                    elif isinstance(change, Removed):
                        self._drop(change, deliver)
                    elif self._tasks:
                        waiting = frozenset(self._tasks)
                        group.create_task(_complete(change, waiting, deliver), name="nodes complete")
                    else:
                        deliver(change)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors.exceptions[0].__cause__

    def _take(self, put: Put, deliver: Callable[[NodeChange], None]) -> None:
        self._newest[put.key] = put.revision
        try:
            node, producer = parse_snapshot_key(put.key)
        except NodeworthyError as error:
            _LOG.warning("bus.strange_key", about=put.key, key=put.key, error=str(error))
            return
        try:
            message = read_snapshot(put.data, node, producer)
        except PayloadError as error:
            _LOG.warning("bus.bad_snapshot", about=put.key, key=put.key, revision=put.revision, error=str(error))
            deliver(NodeProblem(node, producer, put.revision, str(error)))
            return
        contents = self._begin(message, node)
        if not contents.awaited:
            deliver(build_snapshot(put, node, producer, message, contents.held, contents.reasons))
            return
        assert self._group is not None
        task = self._group.create_task(
            self._finish(put, node, producer, message, contents, deliver), name=f"sets of {put.key} at {put.revision}"
        )
        self._tasks[task] = node
        task.add_done_callback(self._tasks.pop)

    def _drop(self, removed: Removed, deliver: Callable[[NodeChange], None]) -> None:
        self._newest.pop(removed.key, None)
        try:
            deliver(NodeRemoved(*parse_snapshot_key(removed.key), removed.is_lost, removed.revision))
        except NodeworthyError as error:
            _LOG.warning("bus.strange_key", about=removed.key, key=removed.key, error=str(error))

    def _begin(self, message: SnapshotMessage, node: str) -> _Contents:
        """The contents of the present sets that can be had without asking; the others are being fetched."""
        assert self._group is not None
        contents = _Contents({}, {}, {})
        for name, entry in message.sets.items():
            if entry.state is not SetState.PRESENT:
                continue
            if entry.content is not None:
                try:
                    contents.held[name] = self.sets.intern(entry.content)
                except BusContentError as error:
                    contents.reasons[name] = str(error)
            elif (content := self.sets.peek(entry.digest)) is not None:
                contents.held[name] = (entry.digest, content)
            else:
                contents.awaited[name] = self._pending.fetch(self._group, entry.digest, node)
        return contents

    async def _finish(
        self,
        put: Put,
        node: str,
        producer: Producer,
        message: SnapshotMessage,
        contents: _Contents,
        deliver: Callable[[NodeChange], None],
    ) -> None:
        await asyncio.wait(contents.awaited.values())
        if self._newest.get(put.key) != put.revision:
            return  # a newer snapshot of this key came meanwhile
        for name, task in contents.awaited.items():
            found = task.result()
            if isinstance(found, BusError):
                contents.reasons[name] = str(found)
            else:
                contents.held[name] = (message.sets[name].digest, found)
        deliver(build_snapshot(put, node, producer, message, contents.held, contents.reasons))

    def _want_resync(self, node: str, reason: str) -> None:
        assert self._group is not None
        self._group.create_task(self._ask_resync(node, reason), name=f"resync {node}")

    async def _ask_resync(self, node: str, reason: str) -> None:
        try:
            await ask_resync(self._store, node, reason)
        except BusError as error:
            _LOG.warning("bus.resync_not_asked", about=node, node=node, error=str(error))


async def _complete(
    mark: Complete, waiting: frozenset[asyncio.Task[None]], deliver: Callable[[NodeChange], None]
) -> None:
    """Tell the mark when the snapshots before it have been told, while newer ones go on."""
    await asyncio.wait(waiting)
    deliver(mark)


def read_snapshot(data: bytes, node: str, producer: Producer) -> SnapshotMessage:
    """The message under a key; what it says of itself must be what the key says.

    Raises:
        PayloadError: it does not decode, or speaks for somebody else.
    """
    message = payloads.decode(data, SnapshotMessage, limit=MAX_SNAPSHOT_BYTES)
    if message.node != node or message.producer != str(producer):
        said = f"{message.producer} of {message.node}"[:200]
        raise PayloadError(f"a snapshot of {producer} of {node} was not read", why=f"it says that it is of {said}")
    return message


def build_snapshot(
    put: Put,
    node: str,
    producer: Producer,
    message: SnapshotMessage,
    held: Mapping[str, Held],
    reasons: Mapping[str, str],
) -> PublishedSnapshot:
    """The snapshot of a message and the contents that are known; ``reasons`` says why others are not."""
    statuses = {
        name: SetStatus(
            SetState.UNKNOWN if entry.state is SetState.PRESENT else entry.state, reasons.get(name, entry.reason)
        )
        for name, entry in message.sets.items()
        if name not in held
    }
    catalogue = None if message.catalogue is None else frozenset(message.catalogue)
    return PublishedSnapshot(
        node=node,
        producer=producer,
        revision=put.revision,
        time=put.time,
        message=message,
        snapshot=Snapshot({name: found[1] for name, found in held.items()}, statuses, catalogue, message.sources),
        digests={name: found[0] for name, found in held.items()},
        missing=tuple(sorted(reasons)),
    )


async def ask_resync(store: Store, node: str, reason: str) -> None:
    """Ask a node's detector to publish everything again."""
    subject = store.names.node_subject(Topic.RESYNC, node)
    await store.connection.publish(subject, payloads.encode(ResyncRequest(reason=reason)))
