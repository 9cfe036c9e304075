"""Answering requests: a NATS service whose handlers never wait for each other, and no request without an answer.

nats-py's micro services run the handlers of an endpoint one after another (measured: a fast request behind a slow one takes
as long as both), and go on with requests whose asker has left. So a handler here only starts a task, at most so many at
once; what came too late to be started, or is past its deadline, is not done.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.client import NatsError
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.failures import error_reply
from nodeworthy.bus.names import TIMEOUT_HEADER, Endpoint, Names
from nodeworthy.bus.payloads import Format
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorCode, ErrorReply
from nodeworthy.errors import NodeworthyError, PayloadError
from nodeworthy.processes import EventLog

if TYPE_CHECKING:
    from nats.micro.request import Request
    from nats.micro.service import Service

_LOG = EventLog("bus")

DEFAULT_TIMEOUT_MS = 2000
"""How long an asker waits who does not say; the stock ``nats req`` waits five seconds."""

LONGEST_TIMEOUT_MS = 300_000
"""An asker cannot hold a slot longer than this."""

_Request = TypeVar("_Request", bound=Message)

_END: ContextVar[float] = ContextVar("request_end")
"""Of the request in work, on the clock of the loop; each request is a task with a context of its own."""


def seconds_left() -> float:
    """How long the asker of the request in work still waits: for handlers that ask somebody else in turn."""
    return max(0.0, _END.get() - asyncio.get_running_loop().time())


@dataclass(frozen=True)
class Served(Generic[_Request]):
    """One endpoint: what it takes, what it gives, and who makes the one of the other."""

    endpoint: Endpoint
    request: type[_Request]
    reply: type[Message]
    handle: Callable[[_Request], Awaitable[Message]]


@dataclass(frozen=True)
class ServingSettings:
    """The bounds of a service."""

    tasks: int = 64
    """Requests in work at once, over all endpoints; one more is answered ``busy``."""
    queue_group: str = "nodeworthy"
    """Replicas share the requests."""
    drain_seconds: float = 5.0
    """For the requests in work when the service ends."""


class Serving:
    """A service on the bus that is found by ``$SRV.INFO``; endpoints are added when it can answer."""

    def __init__(
        self,
        connection: Connection,
        names: Names,
        name: str,
        version: str,
        *,
        settings: ServingSettings = ServingSettings(),
    ) -> None:
        self._connection = connection
        self._names = names
        self._name = name
        self._version = version
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self.answering = asyncio.Event()
        """Set when the server has taken the subscriptions: from then on nobody who asks is told that nobody listens."""
        self.counts: dict[str, int] = {}
        """Outcomes: ``answered``, and each :class:`~nodeworthy.bus.requests.ErrorCode`; for metrics."""

    @property
    def in_work(self) -> int:
        """Requests that are being handled now."""
        return len(self._tasks)

    async def run(self, endpoints: Sequence[Served[Any]], ready: asyncio.Event, stop: asyncio.Event) -> None:
        """Be found at once, answer when ``ready`` is set, and end after ``stop`` with what is in work.

        Raises:
            BusError: the connection does not take the subscriptions.
        """
        from nats.micro.service import EndpointConfig, Service, ServiceConfig  # only services pay for it

        metadata = {"cluster": self._names.cluster, "version": self._version}
        config = ServiceConfig(
            name=self._name,
            version=semantic_version(self._version),
            metadata=metadata,
            queue_group=self._settings.queue_group,
        )
        service = Service(self._connection.client, config)
        await service.start()
        async with asyncio.TaskGroup() as group:
            await _first(group, ready, stop)
            for served in endpoints if not stop.is_set() else ():
                await service.add_endpoint(
                    EndpointConfig(
                        name=str(served.endpoint),
                        subject=self._names.endpoint(served.endpoint),
                        handler=self._starter(group, served),
                        metadata=_schemas(served),
                    )
                )
            if not stop.is_set():
                # nats-py writes the ping of a flush before what is pending; the second one comes after the subscriptions.
                await self._connection.client.flush()
                await self._connection.client.flush()
                self.answering.set()
            await stop.wait()
            await self._end(service)

    async def _end(self, service: "Service") -> None:
        """Take nothing new, and give what is in work its time."""
        try:
            await service.stop()
        except (NatsError, OSError) as error:  # without a connection nothing new comes either
            _LOG.debug("bus.service_stop_failed", error=str(error) or repr(error))
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._settings.drain_seconds)
            for task in late:
                task.cancel()

    def _starter(self, group: asyncio.TaskGroup, served: Served[Any]) -> Callable[["Request"], Awaitable[None]]:
        async def start(request: "Request") -> None:
            if not request._msg.reply:  # noqa: SLF001 # nats-py tells it nowhere else
                # Nobody waits for the answer; and what is only sent there must not make a service act.
                self._count("unasked")
                return
            if len(self._tasks) >= self._settings.tasks:
                busy = ErrorReply(code=ErrorCode.BUSY, what="the service is busy", todo="ask again in a moment")
                await self._answer(request, busy, payloads.format_of(request.data))
                return
            task = group.create_task(self._work(request, served), name=f"{served.endpoint} request")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return start

    async def _work(self, request: "Request", served: Served[Any]) -> None:
        form = payloads.format_of(request.data) if request.data else Format.JSON
        try:
            seconds = read_timeout(request.headers) / 1000
            _END.set(asyncio.get_running_loop().time() + seconds)
            async with asyncio.timeout(seconds):
                reply = await _handle(request.data, served)
        except TimeoutError:
            # Whoever asked has gone; the answer is for one that waits longer than it said.
            reply = ErrorReply(code=ErrorCode.TIMEOUT, what="the service did not answer in the time that was given")
        try:
            await self._answer(request, reply, form)
        except PayloadError as error:
            await self._answer(request, error_reply(error), form)

    async def _answer(self, request: "Request", reply: Message, form: Format) -> None:
        body = payloads.encode(reply, form)
        try:
            if isinstance(reply, ErrorReply):
                self._count(reply.code)
                await request.respond_error(str(reply.code), _header_text(reply.what), body)
            else:
                self._count("answered")
                await request.respond(body)
        except (NatsError, OSError) as error:
            _LOG.warning("bus.answer_lost", about="answers", error=str(error) or repr(error))

    def _count(self, outcome: str) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + 1


async def _first(group: asyncio.TaskGroup, *events: asyncio.Event) -> None:
    """Wait for one of the events."""
    tasks = [group.create_task(event.wait(), name="waiting to serve") for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _handle(body: bytes, served: Served[Any]) -> Message:
    try:
        # An empty body asks with every field at its default: ``nats req nodeworthy.local.nodes ''``.
        return await served.handle(payloads.decode(body or b"{}", served.request))
    except NodeworthyError as error:
        return error_reply(error)
    except Exception as error:  # noqa: BLE001 # one request must not end the service, and must be answered
        _LOG.error("bus.handler_failed", about=served.endpoint, endpoint=served.endpoint, exception=error)
        return ErrorReply(code=ErrorCode.INTERNAL, what="the service failed on this request", todo="see its log")


_PYTHON_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:((?:a|b|rc)\d+)|\.(dev\d+))?(.*)")


def semantic_version(version: str) -> str:
    """A version of a Python package (PEP 440) as NATS ADR-32 wants a service's: ``0.2.0rc1`` is ``0.2.0-rc1``.

    What stands behind numbers and pre-release becomes build metadata: ``0.2.0.post1`` is ``0.2.0+post1``. nats-py refuses to
    start a service whose version is not semantic.
    """
    found = _PYTHON_VERSION.fullmatch(version)
    assert found, "every version begins with a number"
    major, minor, patch, pre, dev, rest = found.groups()
    early, build = pre or dev, re.sub(r"[^0-9A-Za-z]+", ".", rest).strip(".")
    return f"{major}.{minor or 0}.{patch or 0}" + (f"-{early}" if early else "") + (f"+{build}" if build else "")


def read_timeout(headers: dict[str, str] | None) -> int:
    """Milliseconds that the asker waits, from :data:`~nodeworthy.bus.names.TIMEOUT_HEADER`; a bad one counts as none."""
    text = (headers or {}).get(TIMEOUT_HEADER, "").strip()
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text):  # noqa: PLR2004 # nine digits are eleven days
        return min(int(text), LONGEST_TIMEOUT_MS)
    return DEFAULT_TIMEOUT_MS


def _schemas(served: Served[Any]) -> dict[str, str]:
    """JSON Schemas of what an endpoint takes and gives, as NATS ADR-32 keeps such things: in its metadata."""
    return {
        "request-schema": msgspec.json.encode(msgspec.json.schema(served.request)).decode(),
        "reply-schema": msgspec.json.encode(msgspec.json.schema(served.reply)).decode(),
        "format": "JSON, or MessagePack with the same fields",
    }


def _header_text(text: str) -> str:
    """One line of ASCII: what a header can hold."""
    return " ".join(text.split())[:200].encode("ascii", "replace").decode()
