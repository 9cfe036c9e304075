"""Forgetting sets that no snapshot names: slowly, one key at a time, and only up to what was seen.

A set is purged when no snapshot named it in two passes at least an hour apart, and it is older than 48 hours. Between the
look and the purge a detector may have named it again, so after a pass the sweeper looks once more and asks whoever does to
put it again. One process does this at a time: the labeler that owns the name ``sweep``.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import last_digest
from nodeworthy.bus.keys import parse_snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.nodes import ask_resync
from nodeworthy.bus.records import SnapshotMessage
from nodeworthy.bus.store import Store, Stored
from nodeworthy.errors import NodeworthyError, PayloadVersionError
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")


@dataclass(frozen=True)
class SweepSettings:
    """How patient the sweeper is, in seconds."""

    between: float = 3600.0
    """Two passes are at least this apart: an hour is six renewals."""
    age: float = 48 * 3600.0
    """Younger sets stay: they may belong to a node that reboots, or to facts that come and go within a day."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a pass did."""

    purged: tuple[str, ...]
    """Keys: the hexadecimal digits of digests."""
    unnamed: int
    """Sets that no snapshot names now."""
    resynced: tuple[str, ...]
    """Nodes that named a purged set all the same."""
    is_done: bool = True
    """False: it was too early for a pass, or not every snapshot could be read, and nothing was purged."""


class Sweeper:
    """Remembers what was unnamed at the pass before; ``clock`` gives the Unix time, on which the bus's times are too."""

    def __init__(self, store: Store, clock: Callable[[], float], *, settings: SweepSettings = SweepSettings()) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._unnamed: dict[str, int] = {}
        """Key to revision, of the pass before."""
        self._passed: float | None = None

    async def sweep(self) -> Swept:
        """One pass.

        Raises:
            BusError: the bus did not answer; nothing is purged that was not seen unnamed twice.
        """
        now = self._clock()
        if self._passed is not None and now - self._passed < self._settings.between:
            return Swept((), len(self._unnamed), (), is_done=False)
        named = await self._read_named()
        if named is None:
            return Swept((), len(self._unnamed), (), is_done=False)
        unnamed: dict[str, int] = {}
        due: dict[str, int] = {}
        async for key, stored in self._read_all(Bucket.SETS):
            if key not in named:
                is_due = self._unnamed.get(key) == stored.revision and now - stored.time > self._settings.age
                (due if is_due else unnamed)[key] = stored.revision
        self._unnamed = unnamed
        self._passed = now
        return await self._purge(due, len(unnamed) + len(due))

    async def _purge(self, due: Mapping[str, int], unnamed: int) -> Swept:
        for key, revision in due.items():
            await self._store.purge(Bucket.SETS, key, up_to=revision)
        if not due:
            return Swept((), unnamed, ())
        _LOG.info("bus.swept", count=len(due))
        named = await self._read_named() or {}
        nodes = sorted({node for key in due for node in named.get(key, ())})
        for node in nodes:
            await ask_resync(self._store, node, "a set that it names was swept")
        return Swept(tuple(due), unnamed, tuple(nodes))

    async def _read_named(self) -> dict[str, set[str]] | None:
        """Key to the nodes that name it; ``None`` if a snapshot is of a newer format: it may name anything."""
        named: dict[str, set[str]] = {}
        async for key, stored in self._read_all(Bucket.NODES):
            if stored.is_removal:
                continue
            try:
                node, _ = parse_snapshot_key(key)
                message = payloads.decode(stored.data, SnapshotMessage)
            except PayloadVersionError as error:
                _LOG.warning("bus.sweep_waits", key=key, error=str(error))
                return None
            except NodeworthyError:
                continue  # no reader can use it, so what it names is of no use either
            for entry in message.sets.values():
                named.setdefault(last_digest(entry).removeprefix("sha256:"), set()).add(node)
        return named

    async def _read_all(self, bucket: Bucket) -> AsyncIterator[tuple[str, Stored]]:
        prefix = self._store.names.key_subject(bucket, "")
        after, is_last = 0, False
        while not is_last:
            page = await self._store.read_bucket(bucket, after)
            is_last = page.is_last
            for stored in page.messages:
                after = stored.revision
                yield stored.subject.removeprefix(prefix), stored
