"""The tasks of a producer: say what is new, renew, answer resyncs and rescans, and give a sign of life.

What is said is :mod:`nodeworthy.bus.snapshots`; here is when. The producer offers snapshots as it makes them; only the
newest counts, so nothing queues up while the bus is away.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection, ConnectionState
from nodeworthy.bus.names import Names, Topic
from nodeworthy.bus.records import MAX_RESCANS, Heartbeat, Message, RescanRequest, ResyncRequest
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.errors import BusError, BusSupersededError, PayloadError
from nodeworthy.features import Snapshot
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")

_Request = TypeVar("_Request", bound=Message)


@dataclass(frozen=True)
class PublicationSettings:
    """The times of a producer's tasks, in seconds."""

    heartbeat: float = 30.0
    """A hint only, jittered by a tenth; 100,000 nodes make 3,333 a second."""
    resync: float = 5.0
    """Two resyncs are at least this apart: many readers miss the same set at once."""
    retry_first: float = 1.0
    """After a failure; it doubles up to :attr:`retry_most`, jittered by a half."""
    retry_most: float = 30.0
    reconnect_spread: float = 30.0
    """After a reconnect the snapshot is put again within this: the store may be another one, and nodes must not come at
    once."""


def _pass_over(request: RescanRequest) -> None:
    _LOG.info("bus.rescan_passed_over", about="rescan", id=request.id)


@dataclass(frozen=True)
class _Offer:
    snapshot: Snapshot
    expires: int | None


class Publication:
    """One producer's snapshots on their way to the bus; :meth:`run` does the work, the rest may be called at any time."""

    def __init__(
        self,
        connection: Connection,
        names: Names,
        identity: Identity,
        publisher: SnapshotPublisher,
        *,
        settings: PublicationSettings = PublicationSettings(),
        on_rescan: Callable[[RescanRequest], None] = _pass_over,
        on_bad_request: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._names = names
        self._identity = identity
        self._publisher = publisher
        self._settings = settings
        self._on_rescan = on_rescan
        self._on_bad_request = on_bad_request
        self._offer: _Offer | None = None
        self._rescans: list[str] = []
        self._wake = asyncio.Event()
        self._reconnected = asyncio.Event()
        self._resync_wanted = False
        self._resync_allowed = 0.0
        self.problem = ""
        """Why the last try failed; empty when the bus has what was offered last."""

    def offer(self, snapshot: Snapshot, *, rescans: tuple[str, ...] = (), expires: int | None = None) -> None:
        """What is to be said from now on; ``rescans`` are the requests that it answers."""
        self._offer = _Offer(snapshot, expires)
        self._rescans.extend(rescans)
        self._wake.set()

    async def run(self) -> None:
        """Publish until cancelled.

        Raises:
            BusSupersededError: a newer process of this boot publishes here; this one must end.
            BusDeniedError: this user may not hear the node's requests.
        """
        node = self._identity.node
        async with (
            self._connection.subscribed(self._names.node_subject(Topic.RESYNC, node), self._hear_resync),
            self._connection.subscribed(self._names.node_subject(Topic.RESCAN, node), self._hear_rescan),
        ):
            with self._connection.listening(self._hear_connection):
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(self._beat(), name="heartbeat")
                        group.create_task(self._publish(), name="publishing")
                except BaseExceptionGroup as errors:
                    raise errors.exceptions[0] from errors.exceptions[0].__cause__

    async def _publish(self) -> None:
        failures = 0
        while True:
            await self._wait(failures)
            if self._offer is None:
                continue
            try:
                await self._publish_once(self._offer)
            except BusSupersededError:
                raise
            except BusError as error:
                if str(error) != self.problem:  # said once, not at every try
                    _LOG.warning("bus.publish_failed", error=str(error))
                self.problem = str(error)
                failures += 1
            else:
                if self.problem:
                    _LOG.info("bus.published_again", revision=self._publisher.revision)
                self.problem, failures = "", 0

    async def _publish_once(self, offer: _Offer) -> None:
        now = asyncio.get_running_loop().time()
        is_resync = self._resync_wanted and now >= self._resync_allowed
        if is_resync:
            self._resync_wanted = False
            self._resync_allowed = now + self._settings.resync
        rescans = tuple(self._rescans[:MAX_RESCANS])
        try:
            if is_resync:
                await self._publisher.resync(offer.snapshot)
            await self._publisher.publish(offer.snapshot, rescans=rescans, expires=offer.expires)
        except BusError:
            self._resync_wanted = self._resync_wanted or is_resync
            raise
        del self._rescans[: len(rescans)]

    async def _wait(self, failures: int) -> None:
        """Wait until something is to be said; after a failure, until the time for the next try or a reconnect."""
        seconds = self._retry_wait(failures) if failures else self._publisher.seconds_to_wait()
        if self._resync_wanted and not failures:
            seconds = min(seconds, max(0.0, self._resync_allowed - asyncio.get_running_loop().time()))
        event = self._reconnected if failures else self._wake
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if self._offer is not None else None):
                await event.wait()
        self._wake.clear()
        self._reconnected.clear()

    def _retry_wait(self, failures: int) -> float:
        longest = min(self._settings.retry_first * 2 ** min(failures - 1, 16), self._settings.retry_most)
        return float(longest * (0.5 + random.random() / 2))  # noqa: S311 # no secret

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._settings.heartbeat * (0.9 + random.random() / 5))  # noqa: S311 # no secret
            beat = Heartbeat(
                node=self._identity.node,
                session=self._identity.session,
                sequence=self._publisher.sequence,
                revision=self._publisher.revision,
            )
            subject = self._names.node_subject(Topic.HEARTBEAT, self._identity.node)
            with contextlib.suppress(BusError):  # a hint only; the next one comes soon
                await self._connection.publish(subject, payloads.encode(beat))

    async def _hear_resync(self, message: Msg) -> None:
        request = self._read(message, ResyncRequest)
        if request is not None:
            _LOG.info("bus.resync", about=message.subject, reason=request.reason)
            self._resync_wanted = True
            self._wake.set()

    async def _hear_rescan(self, message: Msg) -> None:
        request = self._read(message, RescanRequest)
        if request is not None:
            self._on_rescan(request)

    def _read(self, message: Msg, kind: type[_Request]) -> _Request | None:
        """The request; ``None``: it cannot be read, which is told once and counted, and harms nothing."""
        try:
            return payloads.decode(message.data, kind)
        except PayloadError as error:
            _LOG.warning("bus.bad_request", about=message.subject, subject=message.subject, error=str(error))
            self._on_bad_request()
            return None

    def _hear_connection(self, state: ConnectionState) -> None:
        if state is ConnectionState.RECONNECTED:
            self._publisher.renew_within(self._settings.reconnect_spread)
            self._reconnected.set()
            self._wake.set()
