"""HTTP beside the bus: the questions as JSON, and for whoever runs the process, is it alive, is it ready, what did it count.

Nothing asks who one is, so the address is this machine's own unless somebody chooses another. A page in a browser on this
machine cannot make it work either: a body has to be declared as JSON, and a browser does not let a foreign page do that.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import msgspec
from aiohttp import web

from nodeworthy.bus import payloads
from nodeworthy.bus.names import TIMEOUT_HEADER
from nodeworthy.bus.payloads import Format
from nodeworthy.bus.requests import ErrorCode, ErrorReply, NodesReply, NodesRequest, ValidateReply, ValidateRequest
from nodeworthy.bus.serving import read_timeout
from nodeworthy.errors import BusBusyError, BusUnreachableError, PayloadError, UsageError
from nodeworthy.processes import EventLog
from nodeworthy.web import Counted, add_probes, listen
from nodeworthy_validator.metrics import CONTENT_TYPE, Metrics
from nodeworthy_validator.settings import Settings
from nodeworthy_validator.web_replies import answer_errors, error_response, json_response

_LOG = EventLog("validator")

_SHUTDOWN_SECONDS = 2.0
"""For answers that are under way."""

_JSON = "application/json"
_NODES_QUERY = frozenset({"node", "selector", "limit", "cursor"})


class Questions(Protocol):
    """What is answered."""

    def why_not_ready(self) -> str:
        """Empty if answers are what they should be."""

    def why_not_answering(self) -> str:
        """Empty if there can be answers at all."""

    async def validate(self, request: ValidateRequest, seconds: float) -> ValidateReply:
        """Whether images run on nodes."""

    async def list_nodes(self, request: NodesRequest, seconds: float) -> NodesReply:
        """A page of nodes."""


@dataclass
class _Desk:
    """The requests of one server."""

    questions: Questions
    metrics: Metrics
    settings: Settings
    document: bytes
    in_work: int = 0

    async def tell_interface(self, _: web.Request) -> web.Response:
        return web.Response(body=self.document, content_type=_JSON)

    async def validate(self, request: web.Request) -> web.Response:
        if request.content_type != _JSON:
            what = f"the body is {request.content_type[:100]}, not {_JSON}"
            reply = ErrorReply(code=ErrorCode.BAD_REQUEST, what=what, todo=f"send the header Content-Type: {_JSON}")
            return error_response(reply, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        with self._place(), self.metrics.seconds.labels("http-validate").time():
            async with asyncio.timeout(self._seconds(request)) as limit:
                asked = read_body(await request.read())
                return json_response(await self.questions.validate(asked, _left(limit)))

    async def list_nodes(self, request: web.Request) -> web.Response:
        with self._place(), self.metrics.seconds.labels("http-nodes").time():
            async with asyncio.timeout(self._seconds(request)) as limit:
                return json_response(await self.questions.list_nodes(read_query(request), _left(limit)))

    def _seconds(self, request: web.Request) -> float:
        if TIMEOUT_HEADER not in request.headers:
            return self.settings.http_seconds
        return read_timeout({TIMEOUT_HEADER: request.headers[TIMEOUT_HEADER]}) / 1000

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        """A place among the requests in work."""
        reason = self.questions.why_not_answering()
        if reason:
            raise BusUnreachableError("the validator does not answer yet", why=reason, todo="ask again in a moment")
        if self.in_work >= self.settings.bounds.requests:
            raise BusBusyError("the validator is busy", why=f"{self.in_work} requests are in work", todo="ask again")
        self.in_work += 1
        try:
            yield
        finally:
            self.in_work -= 1


def _left(limit: asyncio.Timeout) -> float:
    when = limit.when()
    assert when is not None
    return max(0.0, when - asyncio.get_running_loop().time())


def read_body(body: bytes) -> ValidateRequest:
    """The request of a body.

    Raises:
        PayloadError: it is no JSON object, or another one.
    """
    if payloads.format_of(body) is not Format.JSON:
        raise PayloadError("the body is no JSON object", todo='for example {"image": "docker.io/library/debian:12"}')
    return payloads.decode(body, ValidateRequest)


def read_query(request: web.Request) -> NodesRequest:
    """The request of a query.

    Raises:
        UsageError: a parameter is not known, is given twice, or has a value that it may not have.
    """
    query = request.query
    strange = sorted(set(query) - _NODES_QUERY)
    if strange:
        raise UsageError(
            f"there is no parameter {strange[0][:60]!r}", todo=f"there are {', '.join(sorted(_NODES_QUERY))}"
        )
    twice = next((name for name in query if name != "node" and len(query.getall(name)) > 1), None)
    if twice is not None:
        raise UsageError(f"the parameter {twice} is given more than once")
    document: Mapping[str, Any] = {name: query[name] for name in query if name != "node"}
    try:
        return msgspec.convert({**document, "nodes": query.getall("node", [])}, NodesRequest, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError("the query cannot be used", why=str(error)) from error


@contextlib.asynccontextmanager
async def serve_web(questions: Questions, metrics: Metrics, settings: Settings, document: bytes) -> AsyncIterator[None]:
    """Serve HTTP for the length of the context, where the settings say so; ``document`` describes it.

    Raises:
        UsageError: the port cannot be taken.
    """
    if settings.http_port is None:
        yield
        return
    runner = web.AppRunner(
        make_application(_Desk(questions, metrics, settings, document)),
        access_log=None,
        shutdown_timeout=_SHUTDOWN_SECONDS,
        handler_cancellation=True,
    )
    try:
        await listen(runner, settings.http_host, settings.http_port, "validator")
        yield
    finally:
        await runner.cleanup()


def make_application(desk: _Desk) -> web.Application:
    """The paths, and what answers on each."""
    application = web.Application(
        client_max_size=desk.settings.bounds.body_bytes, middlewares=[answer_errors(desk.metrics)]
    )
    application.router.add_post("/v1/validate", desk.validate)
    application.router.add_get("/v1/nodes", desk.list_nodes)
    add_probes(application, Counted(desk.metrics.expose, CONTENT_TYPE), desk.questions.why_not_ready)
    application.router.add_get("/openapi.json", desk.tell_interface)
    return application
