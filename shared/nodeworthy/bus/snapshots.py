"""A producer's side of bucket ``nodes``: publish, renew, publish again, and never against somebody newer.

The order is sets, then the snapshot that names them, then the events. A snapshot is written by compare-and-set on the
revision that was seen last, without message ids: JetStream would acknowledge a repeated id and not store it. What a refused
write means is read from the key itself (:meth:`SnapshotPublisher._take_conflict`).
"""

import random
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Composed, Identity, compose, hold, is_same, list_events
from nodeworthy.bus.keys import snapshot_key
from nodeworthy.bus.names import Bucket, Topic
from nodeworthy.bus.placement import Placement, placement_of
from nodeworthy.bus.records import MAX_RESCANS, EventMessage, SnapshotMessage
from nodeworthy.bus.sets import put_set
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import MAX_EVENT_BYTES
from nodeworthy.errors import BusConflictError, BusError, BusSupersededError, PayloadError
from nodeworthy.features import Snapshot, SourceHealth
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")

_TRIES = 5
"""Each try reads what is there first; a rival that wins five times in a row is left to the next renewal."""

_RIVAL_SECONDS = 3600
"""Foreign boots that write our key twice within this time are a second machine with this node's name."""


_EVENT_SECONDS = 5.0
"""Events that the bus did not take are sent again after this."""


@dataclass(frozen=True)
class PublishingSettings:
    """How often a producer speaks."""

    renew_seconds: float = 600.0
    """A snapshot is put again after this, give or take a tenth: its time on the bus is the age of the facts, and a store
    that was lost is noticed. 100,000 nodes make 167 writes a second."""
    volatile_seconds: float = 60.0
    """Volatile sets go out at most this often: veth names alone would make hundreds of GB of events a day."""
    volatile_events: frozenset[str] = frozenset()
    """Volatile sets whose changes somebody asked to have as events."""
    max_events: int = 1000
    """Events that wait while the bus does not answer; the oldest go first, and that is logged."""


class SnapshotPublisher:
    """Publishes the snapshots of one producer of one node; one task at a time may use it."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        *,
        settings: PublishingSettings = PublishingSettings(),
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._identity = identity
        self._key = snapshot_key(identity.node, identity.producer)
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self.sequence = 0
        """Of the last message that was composed."""
        self.revision = 0
        """Of the key when it was last seen; 0: it was not there."""
        self.rival = ""
        """The boot id of another machine that publishes under this name."""
        self._is_recovered = False
        self._sent: SnapshotMessage | None = None
        self._snapshot: Snapshot | None = None
        """What ``_sent`` was made of; ``None`` where ``_sent`` is of an earlier session."""
        self._put: set[str] = set()
        self._events: deque[EventMessage] = deque()
        self._rivals: deque[float] = deque()
        self._renew_due = 0.0
        self._volatile_due = 0.0
        self._is_holding = False

    def seconds_to_wait(self) -> float:
        """How long nothing has to be said, if nothing changes."""
        due = min(self._renew_due, self._volatile_due) if self._is_holding else self._renew_due
        wait = max(0.0, due - self._clock())
        return min(wait, _EVENT_SECONDS) if self._events else wait

    def renew_within(self, seconds: float) -> None:
        """Renew earlier than planned, within these seconds: after a reconnect, when the store may have been lost."""
        self._renew_due = min(self._renew_due, self._clock() + seconds * self._chance())

    async def publish(self, snapshot: Snapshot, *, rescans: Collection[str] = (), expires: int | None = None) -> bool:
        """Say what is in a snapshot, if that is new, answers a request, or is due to be said again; whether it was said.

        Raises:
            BusSupersededError: a newer process of this boot publishes here; this one must end.
            BusConflictError: somebody else wrote this key again and again.
            BusError: not known whether it was stored; call again with the same or a newer snapshot.
        """
        if not self._is_recovered:
            await self._recover()
        now = self._clock()
        snapshot = self._hold_volatile(self._with_rival(snapshot), now)
        composed = compose(
            snapshot,
            self._identity,
            sequence=self.sequence + 1,
            before=self._sent,
            expires=expires,
            rescans=tuple(rescans)[:MAX_RESCANS],
        )
        is_new = self._snapshot is None or self._sent is None or not is_same(self._sent, composed.message)
        if is_new or rescans or now >= self._renew_due:
            self.sequence += 1
            await self._send(composed)
            self._note_sent(snapshot, composed.message, now)
            is_new = True
        await self._send_events()
        return is_new

    async def resync(self, snapshot: Snapshot) -> None:
        """Put every shared set and the snapshot again; raises what :meth:`publish` raises."""
        self._put.clear()
        self._renew_due = 0.0
        await self.publish(snapshot)

    def _hold_volatile(self, snapshot: Snapshot, now: float) -> Snapshot:
        """Leave volatile sets as they were said, where that was too lately; only those of this session can be."""
        said = self._snapshot
        if now >= self._volatile_due or said is None:
            self._is_holding = False
            return snapshot
        names = (name for name in {*said.names(), *snapshot.names()} if placement_of(name) is Placement.VOLATILE)
        held = {name for name in names if snapshot.lookup(name) != said.lookup(name)}
        self._is_holding = bool(held)
        return hold(snapshot, said, held) if held else snapshot

    def _with_rival(self, snapshot: Snapshot) -> Snapshot:
        """Readers must see it too: facts under this name are of one machine now, and of another the next minute."""
        if not self.rival:
            return snapshot
        health = SourceHealth(error=f"another machine, boot {self.rival}, publishes under this node's name")
        return msgspec.structs.replace(snapshot, sources={**snapshot.sources, "bus": health})

    async def _recover(self) -> None:
        """See what is stored of this node: what an earlier session said is what the first events are compared with."""
        stored = await self._store.get(Bucket.NODES, self._key)
        self.revision = stored.revision if stored else 0
        found = None if stored is None or stored.is_removal else self._read(stored.data)
        if found is not None and found.session.replaces(self._identity.session):
            raise self._superseded()
        self._sent = found
        self._is_recovered = True

    def _read(self, data: bytes) -> SnapshotMessage | None:
        try:
            return payloads.decode(data, SnapshotMessage)
        except PayloadError as error:
            # Not ours, so nothing of it is kept: it is written over.
            _LOG.warning("bus.bad_snapshot_replaced", key=self._key, error=str(error))
            return None

    async def _send(self, composed: Composed) -> None:
        body = payloads.encode(composed.message)
        refused: BusConflictError | None = None
        for _ in range(_TRIES):
            for name, data in composed.shared.items():
                if name not in self._put:
                    self._put.add(await put_set(self._store, data))
            try:
                self.revision = await self._store.put(Bucket.NODES, self._key, body, expected=self.revision)
            except BusConflictError as error:
                refused = error
                if await self._take_conflict(composed.message):
                    return
            else:
                return
        assert refused is not None
        raise refused

    async def _take_conflict(self, message: SnapshotMessage) -> bool:
        """Find out why a write was refused (error 10071); whether ``message`` is stored all the same.

        Mine: an acknowledgement was lost. Nothing, or not mine: everything is published again. A newer session of this boot
        makes this one end. A foreign boot is a machine of the same name, or the one before a reboot that came back late.
        """
        stored = await self._store.get(Bucket.NODES, self._key)
        self.revision = stored.revision if stored else 0
        found = None if stored is None or stored.is_removal else self._read(stored.data)
        if found is not None and found.session == self._identity.session:
            return found.sequence == message.sequence
        self._put.clear()
        if found is None:
            _LOG.warning("bus.snapshot_lost", key=self._key)
            return False
        if found.session.replaces(self._identity.session):
            raise self._superseded()
        if found.session.boot_id != self._identity.session.boot_id:
            self._note_rival(found.session.boot_id)
        return False

    def _superseded(self) -> BusSupersededError:
        return BusSupersededError(
            f"a newer process publishes the facts of {self._identity.node}",
            why="it started later on this boot",
            todo="run one detector for each node",
        )

    def _note_rival(self, boot_id: str) -> None:
        now = self._clock()
        self._rivals.append(now)
        while now - self._rivals[0] > _RIVAL_SECONDS:
            self._rivals.popleft()
        if len(self._rivals) > 1:
            self.rival = boot_id
            _LOG.error(
                "bus.two_machines_one_name",
                about=self._identity.node,
                node=self._identity.node,
                boot=self._identity.session.boot_id,
                other=boot_id,
            )

    def _note_sent(self, snapshot: Snapshot, message: SnapshotMessage, now: float) -> None:
        before, self._sent = self._sent, message
        contents = None
        if self._snapshot is not None:
            old = self._snapshot.contents
            names = {*old, *snapshot.contents}
            contents = {name: (old.get(name), snapshot.contents.get(name)) for name in names}
        # A snapshot of an earlier session is compared by its digests; the very first is no change of anything.
        events = list_events(before, message, contents) if before is not None else []
        if before is None or any(
            before.sets.get(name) != entry
            for name, entry in message.sets.items()
            if placement_of(name) is Placement.VOLATILE
        ):
            self._volatile_due = now + self._settings.volatile_seconds
        self._snapshot = snapshot
        self._renew_due = now + self._settings.renew_seconds * (0.9 + self._chance() / 5)
        self._queue([event for event in events if self._is_wanted(event.set)])

    def _is_wanted(self, name: str) -> bool:
        return placement_of(name) is not Placement.VOLATILE or name in self._settings.volatile_events

    def _queue(self, events: list[EventMessage]) -> None:
        self._events.extend(events)
        dropped = len(self._events) - self._settings.max_events
        if dropped > 0:
            for _ in range(dropped):
                self._events.popleft()
            _LOG.warning("bus.events_dropped", count=dropped)

    async def _send_events(self) -> None:
        """Send what waits, oldest first; what the bus does not take now is sent with the next snapshot."""
        while self._events:
            event = self._events[0]
            subject = self._store.names.node_subject(Topic.EVENTS, event.node, event.set)
            try:
                await self._store.append(subject, _event_body(event))
            except BusError as error:
                _LOG.warning("bus.event_waits", set=event.set, error=str(error))
                return
            self._events.popleft()


def _event_body(event: EventMessage) -> bytes:
    body = payloads.encode(event)
    return body if len(body) <= MAX_EVENT_BYTES else payloads.encode(msgspec.structs.replace(event, change=None))
