"""Facts of a node by a program of the operator's own, which runs for long: a producer beside the detector.

The smallest such program::

    settings = ConnectionSettings(servers=("nats://bus:4222",), user=…, password=…, inbox_prefix=…)
    async with producing(settings, "rack-agent", node="worker-1", lifetime=300) as facts:
        while True:
            facts.say({"rack.power": FeatureSet(attributes={"feed": "b"})})
            await asyncio.sleep(60)

It has a key of its own (``<node>.p.<name>``), a user of its own (:func:`nodeworthy.bus.permissions.operator_program` lists
what that may do), and states itself how long its facts hold: when it falls silent they lapse, and no other producer's do.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import program, snapshot_key
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.publishing import Publication
from nodeworthy.bus.sessions import read_session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError, UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, encode

DEFAULT_LIFETIME = 900.0
"""Seconds; longer than the ten minutes between two renewals of a snapshot."""


class FactProducer:
    """What one program says of one node; :func:`producing` makes it."""

    def __init__(self, publication: Publication, lifetime: float | None, clock: Callable[[], float]) -> None:
        self._publication = publication
        self._lifetime = lifetime
        self._clock = clock
        self._catalogue: frozenset[str] = frozenset()

    @property
    def problem(self) -> str:
        """Why the bus does not have what was said last; empty when it has it, or has not been asked yet."""
        return self._publication.problem

    def say(self, sets: Mapping[str, FeatureSet | None]) -> None:
        """All that the program knows now, for its lifetime; ``None`` is a set of which it could not find anything out.

        A set that was said before and is left out is absent from now on. What the bus does not take at once is sent when it
        can be reached again, the newest only.

        Raises:
            EncodingError: a set is too large.
        """
        contents = {name: content for name, content in sets.items() if content is not None}
        for content in contents.values():
            encode(content)
        status = SetStatus(SetState.UNKNOWN, "its program could not find it out")
        statuses = {name: status for name, content in sets.items() if content is None}
        self._catalogue |= sets.keys()
        statuses |= {name: SetStatus(SetState.ABSENT, "") for name in self._catalogue - sets.keys()}
        expires = None if self._lifetime is None else math.ceil(self._clock() + self._lifetime)
        self._publication.offer(Snapshot(contents, statuses, self._catalogue), expires=expires)


@contextlib.asynccontextmanager
async def producing(
    settings: ConnectionSettings,
    name: str,
    *,
    node: str,
    cluster: str = "local",
    lifetime: float | None = DEFAULT_LIFETIME,
    withdraws: bool = False,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[FactProducer]:
    """Be a producer of facts of a node for the length of the context.

    Args:
        settings: how to reach the bus, and as whom.
        name: the program's name, which is part of its key; two programs of one node must not share it.
        node: the node that the facts are of.
        cluster: the cluster's name on the bus.
        lifetime: seconds for which what is said holds unless it is said again; ``None``: until it is withdrawn.
        withdraws: take the facts back at the end. Otherwise they hold for their lifetime, so that a restart changes nothing.
        clock: the Unix time.

    Raises:
        UsageError: a name cannot be used, or the kernel tells no boot id.
        BusDeniedError: the bus refused the user.
        BusUnreachableError: no server answered.
        BusSupersededError: a newer process publishes under this name.
        BusError: the connection was closed for good.
    """
    if lifetime is not None and lifetime <= 0:
        raise UsageError(f"a lifetime of {lifetime:g} seconds cannot be used", why="it must be more than 0")
    names = Names(cluster)
    identity = Identity(node, program(name), read_session(Path("/")))
    key = snapshot_key(node, identity.producer)
    async with connect(settings) as connection:
        store = Store(connection, names)
        publication = Publication(connection, names, identity, SnapshotPublisher(store, identity))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(publication.run(), name=f"facts of {name}")]
                tasks.append(group.create_task(_watch_closing(connection.closed), name="end of the connection"))
                yield FactProducer(publication, lifetime, clock)
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as errors:
            error = errors.exceptions[0]
            raise error from error.__cause__
        finally:
            if withdraws and not connection.closed.is_set():
                await store.remove(Bucket.NODES, key)


async def _watch_closing(closed: asyncio.Event) -> None:
    await closed.wait()
    raise BusError("the bus closed the connection for good", todo="its log says why; then start the program again")
