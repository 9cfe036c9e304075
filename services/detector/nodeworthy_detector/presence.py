"""The detector on the bus: connected for as long as it runs, and saying what was found last.

While the bus is away the machine is looked at as ever, and what was found last is published when it is back. Only a bus that
refuses the user or closes for good ends this, and a newer detector of this boot.
"""

import asyncio
import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection, ConnectionState, connect
from nodeworthy.bus.names import Names
from nodeworthy.bus.publishing import Publication
from nodeworthy.bus.records import RescanRequest
from nodeworthy.bus.snapshots import PublishingSettings, SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError, BusUnreachableError
from nodeworthy.features import Snapshot
from nodeworthy.processes import EventLog
from nodeworthy_detector.metrics import Metrics
from nodeworthy_detector.settings import Settings

_LOG = EventLog("detector")

RETRY_MOST_SECONDS = 30.0
"""Between two attempts to connect at worst: of 100,000 nodes that wait for one bus, 3,000 try in a second."""


PING_SECONDS = 60.0
"""Between two signs of life of the connection. Each costs 0.5 ms; whoever asks services waits for answers and needs to know
sooner, a detector that has something to say notices within its request's time that nobody takes it."""


@dataclass
class Presence:
    """One detector's presence on the bus."""

    settings: Settings
    identity: Identity
    metrics: Metrics
    ready: asyncio.Event
    """Set when the bus has acknowledged the first snapshot."""
    on_rescan: Callable[[RescanRequest], None]
    connection: Connection | None = field(default=None, init=False)
    """While there is one; it reconnects by itself."""
    _newest: Snapshot | None = field(default=None, init=False)
    _publication: Publication | None = field(default=None, init=False)
    _publisher: "CountingPublisher | None" = field(default=None, init=False)

    def offer(self, snapshot: Snapshot, rescans: tuple[str, ...] = ()) -> None:
        """What was found last, which requests it answers; said as soon as the bus can be reached."""
        self._newest = snapshot
        if self._publication is not None:
            self._publication.offer(snapshot, rescans=rescans)

    async def run(self) -> None:
        """Connect, and stay on the bus until cancelled.

        Raises:
            BusDeniedError: the bus refused the user.
            BusSupersededError: a newer detector of this boot publishes here.
            BusError: the connection was closed for good.
        """
        tries, problem = 0, ""
        while True:
            try:
                async with connect(replace(self.settings.bus, ping_seconds=PING_SECONDS)) as self.connection:
                    tries, problem = 0, ""
                    await self._stay(self.connection)
            except BusUnreachableError as error:
                if str(error) != problem:  # said once, not at every try
                    _LOG.warning("detector.bus_away", error=str(error))
                problem = str(error)
            finally:
                self.connection = self._publication = None
                self.metrics.connected = 0
            await asyncio.sleep(retry_delay(self.settings.publication.retry_first, tries, random.random()))  # noqa: S311 # no secret
            tries += 1

    async def _stay(self, connection: Connection) -> None:
        names = Names(self.settings.cluster)
        publisher = CountingPublisher(
            Store(connection, names), self.identity, self.settings.publishing, self.metrics, self.ready
        )
        # A session's numbers never start again, or one of its messages could be taken for another.
        publisher.sequence = self._publisher.sequence if self._publisher else 0
        self._publisher = publisher
        self._publication = Publication(
            connection,
            names,
            self.identity,
            publisher,
            settings=self.settings.publication,
            on_rescan=self.on_rescan,
            on_bad_request=self._count_bad_request,
        )
        if self._newest is not None:
            self._publication.offer(self._newest)
        self.metrics.connected = 1
        with connection.listening(self._note_connection):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._publication.run(), name="publication")
                await connection.closed.wait()
                raise BusError(
                    "the bus closed the connection for good", todo="its log says why; then start the detector again"
                )

    def _count_bad_request(self) -> None:
        self.metrics.bad_requests_total += 1

    def _note_connection(self, state: ConnectionState) -> None:
        self.metrics.connected = int(state is ConnectionState.RECONNECTED)


class CountingPublisher(SnapshotPublisher):
    """A publisher that counts what the bus acknowledged."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        settings: PublishingSettings,
        metrics: Metrics,
        ready: asyncio.Event,
    ) -> None:
        super().__init__(store, identity, settings=settings)
        self._metrics = metrics
        self._ready = ready

    async def publish(self, snapshot: Snapshot, *, rescans: Collection[str] = (), expires: int | None = None) -> bool:
        """Publish, and count it; raises what the library's publisher raises."""
        try:
            is_said = await super().publish(snapshot, rescans=rescans, expires=expires)
        except BusError:
            self._metrics.publish_failures_total += 1
            raise
        finally:
            self._metrics.name_conflict = int(bool(self.rival))
        if is_said:
            self._metrics.snapshots_stored_total += 1
            self._metrics.snapshot_time_seconds = time.time()
        self._ready.set()
        return is_said


def retry_delay(seconds: float, tries: int, chance: float) -> float:
    """Seconds until the next attempt: doubled with each, bounded, and spread by a ``chance`` from 0 to 1."""
    longest: float = min(seconds * 2 ** min(tries, 16), RETRY_MOST_SECONDS)
    return longest * (0.5 + chance / 2)
