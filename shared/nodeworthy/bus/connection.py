"""One connection to the bus: made under a time limit, kept for ever, and telling what happens to it.

What is done here against nats-py's defaults was measured with 2.16: ``connect`` tries for ever, and hangs on a certificate
that it does not trust; a refused publish is told to nobody but a callback; reconnects of many clients come in step;
``close`` may raise.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from nodeworthy.bus.client import (
    Client,
    MaxPayloadError,
    Msg,
    NatsError,
    NatsTimeoutError,
    NoRespondersError,
    OutboundBufferLimitError,
    Server,
    Subscription,
)
from nodeworthy.bus.connection_settings import ConnectionSettings, client_options
from nodeworthy.bus.denials import Denials
from nodeworthy.errors import BusDeniedError, BusError, BusNobodyError, BusUnreachableError, PayloadError
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")


class ConnectionState(StrEnum):
    """What the listeners of a connection are told."""

    DISCONNECTED = "disconnected"
    RECONNECTED = "reconnected"
    """Whatever was read before may be stale: watches are rebuilt."""
    CLOSED = "closed"
    """For good; a service must end."""


Listener = Callable[[ConnectionState], None]


class Connection:
    """A connection to the bus; :func:`connect` makes it."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self.settings = settings
        self.closed = asyncio.Event()
        """Set when there will be no connection again."""
        self.client = Client()
        """nats-py's own, for its micro services."""
        self.denials = Denials()
        self._listeners: list[Listener] = []
        self._refused: asyncio.Future[str] | None = None
        self._last_error = ""
        self._is_closing = False

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection now; the next moment may bring another answer."""
        return bool(self.client.is_connected)

    @contextlib.contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Tell ``listener`` of every change while the context lasts; it must neither block nor raise."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def request(
        self, subject: str, body: bytes = b"", *, seconds: float | None = None, headers: Mapping[str, str] | None = None
    ) -> Msg:
        """Ask, and give the first answer.

        Raises:
            BusDeniedError: this user may not publish there.
            BusNobodyError: nobody listens there.
            BusUnreachableError: no answer in time, or no connection.
            PayloadError: the body is larger than the server takes.
        """
        limit = self.settings.request_seconds if seconds is None else seconds
        refused = self.denials.expect(subject)
        asking = asyncio.create_task(
            self.client.request(subject, body, timeout=limit, headers=dict(headers or {}) or None), name="bus request"
        )
        try:
            waiting: set[asyncio.Future[Any]] = {asking, refused}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise BusDeniedError(f"this user may not publish to {subject}", todo=_PERMISSIONS)
            return asking.result()
        except (NatsError, OSError) as error:
            raise _translate(error, subject, limit) from error
        finally:
            asking.cancel()
            self.denials.forget(subject, refused)

    async def publish(
        self, subject: str, body: bytes = b"", *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send without an answer; it may be lost, also without an error.

        Raises:
            BusUnreachableError: there is no connection, and too much waits for one already.
            PayloadError: the body is larger than the server takes.
        """
        try:
            await self.client.publish(subject, body, reply=reply, headers=dict(headers or {}) or None)
        except (NatsError, OSError) as error:
            raise _translate(error, subject, 0) from error

    async def subscribe(self, subject: str, handle: Callable[[Msg], Awaitable[None]]) -> Subscription:
        """Call ``handle`` for every message until the subscription or the connection ends.

        What ``handle`` raises is logged, and the next message comes; handlers run one after another.

        Raises:
            BusDeniedError: this user may not subscribe there.
            BusUnreachableError: the connection is closed.
        """

        async def call(message: Msg) -> None:
            await handle(message)

        refused = self.denials.expect(subject)
        try:
            subscription = await self.client.subscribe(subject, cb=call)
            await self._flush()
            if refused.done():
                raise BusDeniedError(f"this user may not subscribe to {subject}", todo=_PERMISSIONS)
        except (NatsError, OSError) as error:
            raise _translate(error, subject, 0) from error
        finally:
            self.denials.forget(subject, refused)
        return subscription

    @contextlib.asynccontextmanager
    async def subscribed(self, subject: str, handle: Callable[[Msg], Awaitable[None]]) -> AsyncIterator[Subscription]:
        """:meth:`subscribe` for the length of the context."""
        subscription = await self.subscribe(subject, handle)
        try:
            yield subscription
        finally:
            with contextlib.suppress(NatsError, OSError):  # without a connection there is nothing to unsubscribe
                await subscription.unsubscribe()

    async def _flush(self) -> None:
        """Wait until the server has taken, or refused, what was sent before; without a connection that comes later.

        nats-py 2.16 lets a ping overtake what waits to be written, so only the second one comes after it.
        """
        for _ in range(2):
            if self.client.is_connected:
                await self._flush_once()

    async def _flush_once(self) -> None:
        flushing = asyncio.create_task(
            self.client.flush(timeout=int(self.settings.request_seconds) or 1), name="bus flush"
        )
        try:
            # In a task of its own: nats-py uses wait_for, and that of Python 3.11 swallows a cancellation that comes
            # together with the answer. The caller would go on, and whoever cancelled it would wait for ever.
            await asyncio.wait({flushing})
            with contextlib.suppress(NatsTimeoutError):
                flushing.result()
        finally:
            flushing.cancel()

    async def close(self) -> None:
        """Let what is under way end, within :attr:`ConnectionSettings.drain_seconds`, then close; it never raises."""
        self._is_closing = True
        ways: tuple[Callable[[], Awaitable[None]], ...] = (self.client.drain, self.client.close)
        for way in ways:
            try:
                async with asyncio.timeout(self.settings.drain_seconds + 1):
                    await way()
            except Exception as error:  # noqa: BLE001 # nats-py raises what its transport does; a close must go on
                _LOG.debug("bus.close_failed", error=repr(error))
        self.closed.set()

    async def _open(self) -> None:
        self._refused = asyncio.get_running_loop().create_future()
        opening = asyncio.create_task(
            self.client.connect(
                **client_options(self.settings),
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
                closed_cb=self._on_closed,
                reconnect_to_server_handler=self._choose_server,
            ),
            name="bus connect",
        )
        try:
            # asyncio.wait and not wait_for: nats-py swallows a cancellation while it shakes hands.
            waiting: set[asyncio.Future[Any]] = {opening, self._refused}
            await asyncio.wait(waiting, timeout=self.settings.connect_seconds, return_when=asyncio.FIRST_COMPLETED)
            self._check_open(opening)
        finally:
            opening.cancel()
            await asyncio.wait({opening}, timeout=self.settings.drain_seconds)
            self._refused.cancel()
            self._refused = None

    def _check_open(self, opening: "asyncio.Task[None]") -> None:
        servers = ", ".join(self.settings.servers)
        assert self._refused is not None
        if self._refused.done():
            raise BusDeniedError(f"the bus at {servers} refused this user", why=self._refused.result(), todo=_LOGIN)
        if not opening.done():
            why = self._last_error or f"no answer within {self.settings.connect_seconds:g} s"
            raise BusUnreachableError(f"the bus at {servers} cannot be reached", why=why, todo=_START)
        error = opening.exception()
        if error is not None:
            raise BusUnreachableError(
                f"the bus at {servers} cannot be reached", why=str(error) or repr(error), todo=_START
            ) from error

    async def _on_error(self, error: Exception) -> None:
        text = str(error) or repr(error)
        self._last_error = text
        if self._refused is not None and not self._refused.done() and "authorization" in text.lower():
            self._refused.set_result(text)
        elif self.denials.note(text):
            _LOG.warning("bus.denied", about=text, error=text)
        else:
            _LOG.warning("bus.error", about=text, error=text)

    async def _on_disconnected(self) -> None:
        if not self._is_closing:  # an end that was asked for is no fault
            _LOG.warning("bus.disconnected", error=self._last_error)
        self._tell(ConnectionState.DISCONNECTED)

    async def _on_reconnected(self) -> None:
        _LOG.info("bus.reconnected", server=getattr(self.client.connected_url, "netloc", ""))
        self._tell(ConnectionState.RECONNECTED)

    async def _on_closed(self) -> None:
        _LOG.info("bus.closed", error=self._last_error)
        self.closed.set()
        self._tell(ConnectionState.CLOSED)

    def _tell(self, state: ConnectionState) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(state)
            except Exception as error:  # noqa: BLE001 # nats-py would stop to reconnect
                _LOG.error("bus.listener_failed", state=state, exception=error)

    def _choose_server(self, servers: list[Server], _info: object) -> tuple[Server, float]:
        """The server that failed least, and how long to wait before it is tried."""
        server = min(servers, key=lambda known: known.reconnects)
        return server, reconnect_delay(self.settings, server.reconnects, random.random())  # noqa: S311 # no secret


def reconnect_delay(settings: ConnectionSettings, tries: int, chance: float) -> float:
    """Seconds to wait before the next try: doubled with each, bounded, and spread by a ``chance`` from 0 to 1."""
    longest: float = min(settings.reconnect_seconds * 2 ** min(tries, 16), settings.reconnect_most_seconds)
    return longest * (0.5 + chance / 2)


@contextlib.asynccontextmanager
async def connect(settings: ConnectionSettings) -> AsyncIterator[Connection]:
    """A connection for the length of the context.

    Raises:
        BusDeniedError: the server refused this user.
        BusUnreachableError: no server answered within :attr:`ConnectionSettings.connect_seconds`.
        UsageError: the settings contradict themselves, or a file of theirs cannot be used.
    """
    connection = Connection(settings)
    try:
        await connection._open()  # noqa: SLF001 # made here and nowhere else
        yield connection
    finally:
        await connection.close()


_PERMISSIONS = "nodeworthy.bus.permissions lists what each user may do; the server's log names the user"
_LOGIN = "check the user and its password, token or credentials"
_START = "start one here with: nodeworthy up; or name another with --server"


def _translate(error: Exception, subject: str, seconds: float) -> BusError:
    if isinstance(error, NoRespondersError):
        return BusNobodyError(f"nobody listens on {subject}", why="the service does not run, or the stream is missing")
    if isinstance(error, NatsTimeoutError):
        return BusUnreachableError(f"no answer on {subject}", why=f"waited {seconds:g} s")
    if isinstance(error, MaxPayloadError):
        return PayloadError(f"a message to {subject} is larger than the server takes", too_large=True)
    if isinstance(error, OutboundBufferLimitError):
        return BusUnreachableError("there is no connection to the bus", why="and too much waits for one already")
    return BusUnreachableError(f"the bus did not take a message to {subject}", why=str(error) or repr(error))
