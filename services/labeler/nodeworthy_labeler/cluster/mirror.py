"""What the cluster says of nodes, brought to the bus: NodeFeature objects and what kubelets tell, as producers.

Each labeler follows the objects; the one that a node belongs to writes. What is on the bus is compared before anything is
written, so a restart writes nothing.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Composed, Identity, compose
from nodeworthy.bus.keys import Producer, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot, read_snapshot
from nodeworthy.bus.records import Session, SnapshotMessage
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusConflictError, BusError, EncodingError, PayloadError
from nodeworthy.features import Snapshot
from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.members import Sharing

_LOG = EventLog("labeler")

_OBJECT = "x"
MIRRORED = frozenset({"kubernetes", _OBJECT})
"""Kinds of producers that the labeler speaks for."""

_SESSION = Session("labeler", 0)
"""Labelers speak with one voice: what they say of a node is what the cluster says, whoever of them says it."""

_RETRY_SECONDS = 1.0

_WRITES = 16
"""Requests at once, as for Nodes: a thousand of them may go together, and each is to be told of within a second."""


class Key(NamedTuple):
    """Whose word it is, of which node."""

    node: str
    producer: Producer


class _Stored(NamedTuple):
    revision: int
    digest: bytes
    """Of what is said; empty: nothing, or nothing that can be read."""
    gone_uid: str | None = None
    """If it says that the Node is gone, the uid that this had."""


_NOTHING = _Stored(0, b"")
_UNREAD = b"unread"

Fetch = Callable[[Key], Awaitable[Snapshot | None]]
"""Reads again what an object says; ``None``: it is gone, and the watch will tell."""


class Mirror:
    """Keeps the bus like the cluster; :meth:`run` does the work."""

    def __init__(self, store: Store, members: Sharing, fetch: Fetch, *, write_seconds: float) -> None:
        """``write_seconds`` is how long one write may take."""
        self._store = store
        self._members = members
        self._fetch = fetch
        self._write_seconds = write_seconds
        self.written = 0
        """Snapshots that were put or removed."""
        self._wanted: dict[Key, bytes] = {}
        """The digest of what is to be said; :data:`_UNREAD` until it is read again."""
        self._waiting: dict[Key, Composed] = {}
        """What is to be said, until it is stored: it may be large, and is read again if it is ever lost."""
        self._uids: dict[Key, str] = {}
        self._withdrawn: set[Key] = set()
        """Of what is to be said, that which says that a Node is gone."""
        self._stored: dict[Key, _Stored] = {}
        self._given_up: set[Key] = set()
        """What is to be removed."""
        self._due: dict[Key, None] = {}
        self._wake = asyncio.Event()
        self.is_open = False
        """Whether all NodeFeature objects were read: before that, what nobody wants may be wanted."""

    def keys_of(self, node: str) -> list[Key]:
        """Everything that is said of a node."""
        return [key for key in self._wanted if key.node == node]

    def has(self, key: Key) -> bool:
        """Whether something is said on the bus, or is to be."""
        return key in self._wanted or bool(self._stored.get(key, _NOTHING).digest)

    def gone_uid(self, key: Key) -> str | None:
        """The uid of the Node of which the bus says, or is to say, that it is gone; ``None``: it says no such thing."""
        return self._uids[key] if key in self._withdrawn else self._stored.get(key, _NOTHING).gone_uid

    def open(self) -> None:
        """All NodeFeature objects were read: what none of them says is removed from now on."""
        self.is_open = True
        for key in [key for key in self._stored if self._is_orphan(key)]:
            self.unwant(key)

    def want(self, key: Key, snapshot: Snapshot, uid: str) -> None:
        """Say this of a Node with this uid from now on.

        Raises:
            EncodingError: a set is too large.
        """
        composed = compose(snapshot, Identity(key.node, key.producer, _SESSION, uid), sequence=0)
        self._given_up.discard(key)
        self._withdrawn.discard(key)
        self._wanted[key] = _digest(composed.message)
        self._uids[key] = uid
        if self._stored.get(key, _NOTHING).digest != self._wanted[key]:
            self._waiting[key] = composed
            self._mark([key])

    def want_again(self, key: Key, uid: str) -> None:
        """Say what the object says of a Node with this uid; the object is read again for it."""
        self._given_up.discard(key)
        self._withdrawn.discard(key)
        self._wanted[key] = _UNREAD
        self._uids[key] = uid
        self._waiting.pop(key, None)
        self._mark([key])

    def withdraw(self, key: Key, uid: str) -> None:
        """Say that the Node is gone that had this uid; empty: it is not known which it had."""
        self._given_up.discard(key)
        self._withdrawn.add(key)
        self._uids[key] = uid
        self._wanted[key] = _digest(_withdrawal(key, uid))
        self._waiting.pop(key, None)
        self._mark([key])

    def unwant(self, key: Key) -> None:
        """Say nothing any more."""
        self._withdrawn.discard(key)
        self._uids.pop(key, None)
        self._waiting.pop(key, None)
        self._wanted.pop(key, None)
        self._given_up.add(key)
        self._mark([key])

    def note(self, change: NodeChange) -> None:
        """Learn what is on the bus."""
        if (
            not isinstance(change, PublishedSnapshot | NodeRemoved | NodeProblem)
            or change.producer.kind not in MIRRORED
        ):
            return
        key = Key(change.node, change.producer)
        message = change.message if isinstance(change, PublishedSnapshot) and not change.missing else None
        self._stored[key] = _of_message(change.revision, message)
        digest = self._stored[key].digest
        if self._wanted.get(key, b"") == digest:
            self._waiting.pop(key, None)
        elif self._is_orphan(key):
            self.unwant(key)
        else:
            self._mark([key])

    def look_again(self) -> None:
        """Nodes have other owners."""
        self._mark([key for key in {*self._wanted, *self._given_up} if not self._is_done(key)])

    async def run(self) -> None:
        """Write until cancelled; what fails is tried again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = self._due, {}
            failed = await self._settle_all(due)
            if failed:
                await asyncio.sleep(_RETRY_SECONDS)
                self._mark(failed)

    async def _settle_all(self, due: Iterable[Key]) -> list[Key]:
        """Bring these keys to what they should be, some at a time; those that have to be tried again."""
        rest = iter(due)
        failed: list[Key] = []

        async def work() -> None:
            failed.extend([key for key in rest if self._members.is_mine(key.node) and not await self._settle(key)])

        async with asyncio.TaskGroup() as group:
            for _ in range(_WRITES):
                group.create_task(work(), name="mirror")
        return failed

    def _mark(self, keys: list[Key]) -> None:
        self._due.update(dict.fromkeys(keys))
        self._wake.set()

    def _is_orphan(self, key: Key) -> bool:
        return self.is_open and key.producer.kind == _OBJECT and key not in self._wanted and self.has(key)

    def _is_done(self, key: Key) -> bool:
        """Whether the bus is as it should be; what nobody has asked for or given up is left as it is."""
        stored = self._stored.get(key, _NOTHING).digest
        return stored == self._wanted.get(key, b"" if key in self._given_up else stored)

    async def _settle(self, key: Key) -> bool:
        """Bring one key to what it should be; ``False``: it has to be tried again."""
        if self._is_done(key):
            self._given_up.discard(key)
            return True
        if not self._members.has_lease(self._write_seconds):
            return False
        try:
            await (self._put(key) if key in self._wanted else self._remove(key))
        except BusConflictError:
            await self._read_stored(key)
            return self._is_done(key)
        except (BusError, KubernetesError) as error:
            _LOG.warning("labeler.not_mirrored", about=str(key.producer), node=key.node, error=str(error))
            return False
        return True

    async def _put(self, key: Key) -> None:
        composed = self._waiting.get(key) or await self._compose_again(key)
        if composed is None or self._is_done(key):
            return
        for data in composed.shared.values():
            await put_set(self._store, data)
        expected = self._stored.get(key, _NOTHING).revision
        body = payloads.encode(composed.message)
        revision = await self._store.put(Bucket.NODES, snapshot_key(*key), body, expected=expected)
        self._stored[key] = _of_message(revision, composed.message)
        self._waiting.pop(key, None)
        self.written += 1

    async def _compose_again(self, key: Key) -> Composed | None:
        """What is to be said, read again; ``None``: the object is gone, or says too much, and the watch tells that."""
        if key in self._withdrawn:
            return Composed(_withdrawal(key, self._uids[key]), {})
        snapshot = await self._fetch(key)
        if snapshot is None or key not in self._wanted:
            return None
        try:
            composed = compose(snapshot, Identity(key.node, key.producer, _SESSION, self._uids[key]), sequence=0)
        except EncodingError:
            return None
        self._wanted[key] = _digest(composed.message)
        return composed

    async def _remove(self, key: Key) -> None:
        revision = await self._store.remove(Bucket.NODES, snapshot_key(*key), expected=self._stored[key].revision)
        self._stored[key] = _Stored(revision, b"")
        self._given_up.discard(key)
        self.written += 1

    async def _read_stored(self, key: Key) -> None:
        """Somebody else wrote the key since the watch has told of it."""
        stored = await self._store.get(Bucket.NODES, snapshot_key(*key))
        message = None
        if stored is not None and not stored.is_removal:
            with contextlib.suppress(PayloadError):  # what nobody can read is written over
                message = read_snapshot(stored.data, *key)
        self._stored[key] = _of_message(stored.revision if stored is not None else 0, message)


def _of_message(revision: int, message: SnapshotMessage | None) -> _Stored:
    """What is stored; ``None``: nothing, or nothing that can be read."""
    if message is None:
        return _Stored(revision, b"")
    return _Stored(revision, _digest(message), message.node_uid if message.is_node_gone else None)


def _withdrawal(key: Key, uid: str) -> SnapshotMessage:
    return SnapshotMessage(
        node=key.node,
        producer=str(key.producer),
        session=_SESSION,
        sequence=0,
        sets={},
        node_uid=uid,
        is_node_gone=True,
    )


def _digest(message: SnapshotMessage) -> bytes:
    return hashlib.sha256(payloads.encode(message)).digest()
