"""A proxy on loopback, plain HTTP in front and TLS to the API server, that breaks what a test tells it to.

Without a fault it passes everything through as it is, watches included, and lists what it was asked.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from tests.web_serving import serve_web
from yarl import URL

OF_CONNECTION = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})
"""Headers of one connection, which each side of a proxy makes for itself (RFC 9110, section 7.6.1)."""
REASONS = {409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError"}
"""``Status.reason`` by status code, as k8s.io/apimachinery names them."""

Rewrite = Callable[[bytes], Iterable[bytes]]
"""Makes the lines that the client gets of one line that the API server sent, its newline included."""


@dataclass
class Fault:
    """What happens to the next requests that fit. One that was used up is passed over."""

    method: str
    path: re.Pattern[str]
    """Searched in path and query."""
    left: float
    """How many requests it is for still."""
    status: int | None = None
    """Answered in place of the API server, which never sees the request."""
    headers: dict[str, str] = field(default_factory=dict)
    is_dropped: bool = False
    """The connection is broken: the API server never sees the request."""
    is_answer_lost: bool = False
    """The connection is broken after the API server has done what was asked."""
    released: asyncio.Event | None = None
    """The request reaches the API server when this is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first request that fits is there."""
    rewrite: Rewrite | None = None
    hits: int = 0


@dataclass(frozen=True)
class ProxiedRequest:
    """One request as the proxy got it."""

    method: str
    path: str
    """With the query, as it was sent."""
    content_type: str
    body: bytes


class FaultProxy:
    """The proxy; the first fault that fits a request and is not used up decides."""

    def __init__(self, target: str, ca_file: Path) -> None:
        self.target = target
        self.url = ""
        self.requests: list[ProxiedRequest] = []
        self._faults: list[Fault] = []
        self._clients: list[web.Request] = []
        self._tls = ssl.create_default_context(cafile=str(ca_file))

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        session = aiohttp.ClientSession(
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        self._session = await self._stack.enter_async_context(session)
        self.url = f"http://127.0.0.1:{await self._stack.enter_async_context(serve_web(self._handle))}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.break_connections()
        await self._stack.aclose()

    def answer(self, method: str, path: str, status: int, *, times: float = 1, retry_after: int | None = None) -> Fault:
        """Answer in place of the API server with a ``Status`` as it sends them."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return self._add(Fault(method, re.compile(path), times, status=status, headers=headers))

    def drop(self, method: str, path: str, *, times: float = 1) -> Fault:
        """Break the connection before the API server hears of the request."""
        return self._add(Fault(method, re.compile(path), times, is_dropped=True))

    def lose_answer(self, method: str, path: str, *, times: float = 1) -> Fault:
        """Let the API server do what was asked and break the connection then."""
        return self._add(Fault(method, re.compile(path), times, is_answer_lost=True))

    def hold(self, method: str, path: str, *, times: float = 1) -> Fault:
        """Let requests wait until the fault's ``released`` is set: the slow API server, without a clock."""
        return self._add(Fault(method, re.compile(path), times, released=asyncio.Event()))

    def rewrite(self, method: str, path: str, rewrite: Rewrite, *, times: float = 1) -> Fault:
        """Change the lines of an answer: the events of a watch may be lost, doubled or spoilt."""
        return self._add(Fault(method, re.compile(path), times, rewrite=rewrite))

    def break_connections(self) -> None:
        """Break the connection of every request that is in work, watches above all."""
        for request in self._clients:
            break_connection(request)

    def heal(self) -> None:
        """Forget all faults; requests that are held go on."""
        for fault in self._faults:
            if fault.released:
                fault.released.set()
        self._faults.clear()

    def _add(self, fault: Fault) -> Fault:
        self._faults.append(fault)
        return fault

    def _find_fault(self, request: web.Request) -> Fault | None:
        for fault in self._faults:
            if fault.left > 0 and fault.method in ("*", request.method) and fault.path.search(request.path_qs):
                fault.left -= 1
                fault.hits += 1
                fault.reached.set()
                return fault
        return None

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(ProxiedRequest(request.method, request.path_qs, request.content_type, body))
        fault = self._find_fault(request)
        self._clients.append(request)
        try:
            if fault and fault.released:
                await fault.released.wait()
            if fault and fault.is_dropped:
                break_connection(request)
                return web.Response()
            if fault and fault.status:
                return make_refusal(fault.status, fault.headers)
            return await self._forward(request, body, fault)
        finally:
            self._clients = [other for other in self._clients if other is not request]

    async def _forward(self, request: web.Request, body: bytes, fault: Fault | None) -> web.StreamResponse:
        url = URL(self.target + request.raw_path, encoded=True)
        headers = pass_on(request.headers)
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, ssl=self._tls, allow_redirects=False
        ) as answer:
            if fault and fault.is_answer_lost:
                await answer.read()
                break_connection(request)
                return web.Response()
            try:
                return await self._pass_back(request, answer, fault.rewrite if fault else None)
            finally:
                # What was not read to its end leaves a connection that a clean end of TLS would keep for a while.
                if answer.connection and answer.connection.transport:
                    answer.connection.transport.abort()

    async def _pass_back(
        self, request: web.Request, answer: aiohttp.ClientResponse, rewrite: Rewrite | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=pass_on(answer.headers))
        await response.prepare(request)
        parts = answer.content.iter_any()
        async for part in rewrite_lines(parts, rewrite) if rewrite else parts:
            await response.write(part)
        await response.write_eof()
        return response


def pass_on(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers that are meant for the other end."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in OF_CONNECTION)


async def rewrite_lines(parts: AsyncIterable[bytes], rewrite: Rewrite) -> AsyncIterator[bytes]:
    """Put every line through ``rewrite``, however the answer was cut; the last one may have no newline."""
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            for made in rewrite(line + b"\n"):
                yield made
    if rest:
        for made in rewrite(rest):
            yield made


def break_connection(request: web.Request) -> None:
    """Reset the connection of a request, if the client has not left yet."""
    if request.transport is not None:
        request.transport.abort()


def make_refusal(status: int, headers: dict[str, str]) -> web.Response:
    """An answer as the API server refuses with (https://kubernetes.io/docs/reference/using-api/api-concepts/)."""
    reason = REASONS.get(status, "InternalError")
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
    return web.json_response(body | {"message": "a fault that a test asked for"}, status=status, headers=headers)
