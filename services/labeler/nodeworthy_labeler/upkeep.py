"""The upkeep of the bus: streams that are missing are made, and sets that nobody names are swept."""

import asyncio
import contextlib
from collections.abc import Callable

from nodeworthy.bus.connection import ConnectionState
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.sweeping import Sweeper
from nodeworthy.errors import BusError, BusUnreachableError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.settings import Settings

_LOG = EventLog("labeler")

SWEEP = "sweep"
"""The name whose owner sweeps: one labeler at a time."""

SWEEP_LOOK_SECONDS = 60.0
"""Between two looks whether it is time to sweep, and whose."""

SWEEP_SECONDS = 5.0
"""For how long a lease must hold when a pass begins. A pass that outlasts it harms nothing: it purges only up to what it saw
unnamed twice, and looks again."""

_TROUBLED_SECONDS = 1.0


class Streams:
    """Keeps the streams of the cluster."""

    def __init__(self, store: Store, settings: Settings, trouble: Callable[[], str]) -> None:
        self._store = store
        self._settings = settings
        self._trouble = trouble
        self._wake = asyncio.Event()
        self.problem = ""
        """Why the streams are not as they must be; empty when they are."""

    async def make(self) -> None:
        """Make what is missing; a bus that does not answer yet is waited for.

        Raises:
            BusSetupError: a stream is there and differs, or cannot be made.
            BusDeniedError: this user may not make streams.
        """
        while True:
            try:
                await self._ensure()
            except BusUnreachableError as error:
                self._note(str(error))
                await asyncio.sleep(_TROUBLED_SECONDS)
            else:
                self._note("")
                return

    async def run(self) -> None:
        """Look again after each reconnect, while a bucket cannot be read, and now and then; until cancelled."""
        with self._store.connection.listening(self._hear_connection):
            while True:
                await self._wait()
                try:
                    await self._ensure()
                except BusError as error:
                    self._note(str(error))
                else:
                    self._note("")

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.pace.check_streams
        while loop.time() < end and not self._wake.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TROUBLED_SECONDS):
                    await self._wake.wait()
            if self._trouble() or self.problem:
                break
        self._wake.clear()

    async def _ensure(self) -> None:
        definitions = define_streams(self._store.names)
        made = await ensure_streams(self._store.connection, definitions, replicas=self._settings.replicas)
        if made:
            _LOG.info("labeler.streams_made", streams=made)

    def _note(self, problem: str) -> None:
        if problem and problem != self.problem:  # said once, not at every look
            _LOG.warning("labeler.streams_not_kept", error=problem)
        self.problem = problem

    def _hear_connection(self, state: ConnectionState) -> None:
        if state is ConnectionState.RECONNECTED:
            self._wake.set()


async def sweep_when_due(sweeper: Sweeper, members: Sharing, *, look_seconds: float = SWEEP_LOOK_SECONDS) -> None:
    """Sweep while the name belongs to this labeler, until cancelled; a pass that fails is made again."""
    while True:
        await asyncio.sleep(look_seconds)
        if not members.is_mine(SWEEP) or not members.has_lease(SWEEP_SECONDS):
            continue
        try:
            await sweeper.sweep()
        except BusError as error:
            _LOG.warning("labeler.sweep_failed", error=str(error))
