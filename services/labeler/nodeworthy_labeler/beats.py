"""The labeler's signs of life on the bus: its own, and those of the others.

They are core messages and not keys with a time to live: nothing has to be stored, no bucket has to allow it, and a store
that is wiped loses no member. What a lost message could harm, the revision in every write prevents.
"""

import asyncio
import contextlib
from collections.abc import Callable

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection, ConnectionState
from nodeworthy.bus.names import Names
from nodeworthy.errors import BusError, PayloadError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.members import Beat, Members
from nodeworthy_labeler.settings import Membership

_LOG = EventLog("labeler")


class Beats:
    """Sends and hears beats; ``on_change`` is told when nodes may have other owners, with the owners before."""

    def __init__(
        self,
        connection: Connection,
        names: Names,
        members: Members,
        settings: Membership,
        on_change: Callable[[tuple[str, ...]], None],
    ) -> None:
        self._connection = connection
        self._subject = names.labelers
        self._members = members
        self._settings = settings
        self._on_change = on_change
        self.refused = 0
        """Beats that could not be read."""
        self._wake = asyncio.Event()
        self._heard_myself = asyncio.Event()

    async def wait_for_others(self) -> None:
        """Wait until others have had the time to answer to the first beat."""
        await self._heard_myself.wait()
        await asyncio.sleep(self._settings.join)

    def announce(self) -> None:
        """Send a beat now."""
        self._wake.set()

    async def run(self) -> None:
        """Beat until cancelled, then say that this labeler leaves.

        Raises:
            BusDeniedError: this user may not hear the others.
        """
        async with self._connection.subscribed(self._subject, self._hear):
            with self._connection.listening(self._hear_connection):
                try:
                    await self._beat()
                finally:
                    await self._send(self._members.make_beat(leaves=True))

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if self._wake.is_set() or loop.time() >= due:
                self._wake.clear()
                await self._send(self._members.make_beat())
                due = loop.time() + self._settings.beat
            # Others are looked after more often than own beats are sent: their time ends at any moment.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(max(0.0, due - loop.time()), self._settings.beat / 4)):
                    await self._wake.wait()
            before = self._members.owners
            self._note(before, changed=self._members.expire())

    async def _send(self, beat: Beat) -> None:
        try:
            await self._connection.publish(self._subject, payloads.encode(beat))
        except BusError as error:  # the next one comes soon; while none gets through nothing is written
            _LOG.debug("labeler.beat_not_sent", error=str(error))

    async def _hear(self, message: Msg) -> None:
        """A beat that cannot be read is dropped: whoever sent it sends another one soon, or is of another version."""
        try:
            beat = payloads.decode(message.data, Beat)
        except PayloadError as error:
            self.refused += 1
            _LOG.warning("labeler.bad_beat", about=message.subject, error=str(error))
            return
        before = self._members.owners
        self._note(before, changed=self._members.hear(beat))
        if beat.sender == self._members.me:
            self._heard_myself.set()
        elif beat.joins:
            self._wake.set()

    def _note(self, before: tuple[str, ...], *, changed: bool) -> None:
        if not changed:
            return
        if before != self._members.owners:
            _LOG.info("labeler.members", me=self._members.me, owners=self._members.owners)
        self._on_change(before)

    def _hear_connection(self, state: ConnectionState) -> None:
        if state is ConnectionState.RECONNECTED:
            self._wake.set()
