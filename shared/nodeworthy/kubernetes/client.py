"""Requests to the API server, each sent as often as it may be and not once more.

What is sent again: anything that was answered 429 (nothing was done), a 401 with credentials that changed since, and reads
whose answer was 5xx with a Retry-After. A write that was answered 5xx or not at all may have been done: whoever asked reads
and decides.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
import msgspec

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes import refusals
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.credentials import Shown
from nodeworthy.kubernetes.limiting import Limiter
from nodeworthy.kubernetes.refusals import (
    KubernetesBusyError,
    KubernetesContentError,
    KubernetesError,
    KubernetesHeldBackError,
    KubernetesServerError,
    KubernetesUnauthorizedError,
)
from nodeworthy.kubernetes.requests import DEFAULT_LIMITS, Answer, Request, RequestLimits
from nodeworthy.kubernetes.transport import Transport, abandon, explained, read_body
from nodeworthy.processes import EventLog

_LOG = EventLog("kubernetes")

_Decoded = TypeVar("_Decoded")

PAGE = 500
"""Objects in one page of a list, as client-go and kubectl ask for."""
_REFUSAL_BYTES = 4 * 1024 * 1024
"""Of a refusal's body: a thousand conflicts have a quarter of a megabyte."""
_FIRST_WAIT = 1.0
"""Seconds after a 429 that does not say; API servers always do, proxies between may not."""
_MAX_WARNINGS = 100
"""Different warnings of the server that are told once each."""


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """What a list says of itself."""

    resource_version: str = ""
    next_token: str = msgspec.field(name="continue", default="")
    """What the request for the next page says; empty: this was the last one."""


class Page(msgspec.Struct, frozen=True):
    """A page of a list; items are JSON, each of which whoever reads decodes by itself."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class Client:
    """One user of one API server; an async context manager, which closes the connections at its end.

    Args:
        access: Where it is, and what it is shown.
        limits: How much is asked of it.
        user_agent: How requests are called in the server's logs.
        is_compressed: Whether large answers are compressed; on loopback that only costs the server's time.
    """

    def __init__(
        self,
        access: Access,
        limits: RequestLimits = DEFAULT_LIMITS,
        *,
        user_agent: str = "nodeworthy",
        is_compressed: bool = True,
    ) -> None:
        self.access = access
        self.limits = limits
        self.sent = 0
        """Requests that were sent, each try counted."""
        self._limiter = Limiter(limits.rate, limits.burst, limits.parallel, clock=time.monotonic)
        self._user_agent = user_agent
        self._is_compressed = is_compressed
        self._transport: Transport | None = None
        self._warned: set[str] = set()

    async def __aenter__(self) -> Self:
        self._transport = Transport(self.access, time.monotonic, self._user_agent, is_compressed=self._is_compressed)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._transport is not None
        await self._transport.close()

    async def request(self, request: Request) -> Answer:
        """Send a request and give its answer, which is a success.

        Raises:
            KubernetesError: the branch of :mod:`nodeworthy.kubernetes.refusals` that fits.
            UsageError: the credentials cannot be found out.
        """
        for attempt in range(self.limits.busy_tries):
            try:
                return await self._in_turn(request)
            except (KubernetesBusyError, KubernetesServerError) as error:
                wait = self._wait_after(error, request)
                if wait is None or attempt + 1 == self.limits.busy_tries:
                    raise
                if isinstance(error, KubernetesBusyError) and not request.is_urgent:
                    self._limiter.pause(wait)
                else:
                    await asyncio.sleep(wait)
        raise AssertionError(request)  # the last try returned or raised

    def _wait_after(self, error: KubernetesBusyError | KubernetesServerError, request: Request) -> float | None:
        """Seconds after which the request is sent again; ``None``: it is not."""
        if isinstance(error, KubernetesServerError) and (request.method != "GET" or error.retry_after is None):
            return None
        wait = _FIRST_WAIT if error.retry_after is None else error.retry_after
        return wait if wait <= self.limits.longest_wait else None

    async def _in_turn(self, request: Request) -> Answer:
        if request.is_urgent:
            return await self._authorized(request)
        async with self._limiter.turn():
            return await self._authorized(request)

    async def _authorized(self, request: Request) -> Answer:
        shown = await self._show(request)
        try:
            return await self._send(request, shown)
        except KubernetesUnauthorizedError:
            renewed = await self._renew(request, shown)
            if renewed is None:
                raise
            return await self._send(request, renewed)

    async def _show(self, request: Request) -> Shown:
        try:
            return await self.access.credentials.show()
        except UsageError as error:
            why = f"{error.what}: {error.why}" if error.why else error.what
            raise KubernetesUnauthorizedError(request.what, why=why, todo=error.todo) from error

    async def _renew(self, request: Request, refused: Shown) -> Shown | None:
        """Credentials that were read anew after a 401; ``None``: they are the same."""
        if await self.access.credentials.show() == refused:  # nobody else renewed them meanwhile
            self.access.credentials.forget()
        renewed = await self._show(request)
        return None if renewed == refused else renewed

    async def _send(self, request: Request, shown: Shown) -> Answer:
        seconds = self.limits.timeout if request.timeout is None else request.timeout
        if request.may_send is not None and not request.may_send(seconds):
            raise KubernetesHeldBackError(request.what, why="it was not sent: the right to do it ends too soon")
        async with self._opened(request, shown, aiohttp.ClientTimeout(total=seconds)) as response:
            limit = self.limits.max_bytes
            return Answer(response.status, await read_body(response, limit, request.what))

    @contextlib.asynccontextmanager
    async def _opened(
        self, request: Request, shown: Shown, times: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        assert self._transport is not None
        self.sent += 1
        try:
            opening = self._transport.open(request, shown, times)
        except UsageError as error:
            raise KubernetesUnauthorizedError(request.what, why=str(error), todo=error.todo) from error
        async with explained(request, self.access.server), opening as response:
            self._note_warnings(response)
            if not 200 <= response.status < 300:  # noqa: PLR2004 # HTTP's successes
                raise await _refusal(response, request)
            yield response

    def _note_warnings(self, response: aiohttp.ClientResponse) -> None:
        """Tell once what the server warns of: a version that it will not serve for ever (RFC 7234, section 5.5)."""
        for warning in response.headers.getall("Warning", ()):
            if warning not in self._warned and len(self._warned) < _MAX_WARNINGS:
                self._warned.add(warning)
                _LOG.warning("kubernetes.warning", warning=refusals.printable(warning), path=response.url.path)

    async def pages(self, request: Request, *, size: int = PAGE) -> AsyncGenerator[Page]:
        """A list, page by page. Raises as :meth:`request`; 410 where the list took longer than its version is kept."""
        token = ""
        timeout = self.limits.list_timeout if request.timeout is None else request.timeout
        while True:
            query = {**request.query, "limit": str(size)} | ({"continue": token} if token else {})
            answer = await self.request(replace(request, query=query, timeout=timeout))
            page = decode(answer.body, Page, request.what)
            yield page
            token = page.metadata.next_token
            if not token:
                return

    @contextlib.asynccontextmanager
    async def streaming(self, request: Request, *, idle: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """An answer that goes on, in pieces as they come.

        Args:
            request: It waits for nobody's turn: a watch is one request in minutes.
            idle: Seconds without a byte after which the connection counts as lost.

        Raises:
            KubernetesError: as :meth:`request`, also while the pieces are read. Nothing is sent again.
        """
        shown = await self._show(request)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.limits.timeout, sock_read=idle)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(explained(request, self.access.server))
            try:
                async with asyncio.timeout(self.limits.timeout):
                    response = await stack.enter_async_context(self._opened(request, shown, timeout))
            except KubernetesUnauthorizedError:
                await self._renew(request, shown)
                raise
            try:
                yield response.content.iter_any()
            finally:
                abandon(response)


async def _refusal(response: aiohttp.ClientResponse, request: Request) -> KubernetesError:
    try:
        body = await read_body(response, _REFUSAL_BYTES, request.what)
    except KubernetesContentError:
        body = b""
    header = response.headers.get("Retry-After", "").strip()
    # API servers give whole seconds; a date would be of something in between, and is as good as none.
    retry_after = float(header) if re.fullmatch(r"[0-9]{1,6}", header) else None
    return refusals.make_error(response.status, refusals.parse_status(body), request.what, retry_after=retry_after)


def decode(body: bytes | msgspec.Raw, kind: type[_Decoded], what: str) -> _Decoded:
    """An answer as a struct.

    Raises:
        KubernetesContentError: it has another shape.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KubernetesContentError(
            what,
            why=f"the answer is not what an API server gives: {error}",
            todo="is a login page or proxy in between?",
        ) from error
