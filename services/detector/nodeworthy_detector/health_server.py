"""A very small HTTP server: /healthz, /readyz and /metrics for a kubelet and a Prometheus, and nothing for anybody else.

aiohttp would cost the node 10 MB for three answers. One request a connection, GET only, everything bounded.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from nodeworthy.errors import UsageError
from nodeworthy.processes import EventLog

_LOG = EventLog("detector")

MAX_HEAD_BYTES = 8 * 1024
"""Request line and headers; a kubelet's and a Prometheus's have less than 1 kB."""
MAX_CONNECTIONS = 16
"""At once; more are closed without an answer."""
SECONDS = 5.0
"""For one request and its answer; a kubelet waits 1 s by default, a Prometheus 10 s."""


class Answer(NamedTuple):
    """What a page says."""

    status: HTTPStatus
    body: str
    content_type: str = "text/plain; charset=utf-8"


Pages = Mapping[str, Callable[[], Answer]]
"""Path to what makes its answer."""


@contextlib.asynccontextmanager
async def serve_pages(pages: Pages, host: str, port: int, *, seconds: float = SECONDS) -> AsyncIterator[int]:
    """Serve the pages, and give the port; 0 asks for a free one.

    Raises:
        UsageError: nobody can listen there.
    """
    connections: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(connections) < MAX_CONNECTIONS:
            connections.add(writer)
            await _answer(reader, writer, pages, seconds)
            connections.discard(writer)
        await _close(writer, seconds)

    try:
        server = await asyncio.start_server(answer, host, port, limit=MAX_HEAD_BYTES)
    except OSError as error:
        todo = "choose another with --http-port, or leave it out"
        raise UsageError(f"HTTP port {port} of {host} cannot be used", why=error.strerror or "", todo=todo) from error
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in connections:
            writer.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pages: Pages, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(write_answer(find_answer(head, pages)))
            await writer.drain()
    except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as error:
        _LOG.debug("detector.http_request_dropped", error=repr(error))


async def _close(writer: asyncio.StreamWriter, seconds: float) -> None:
    writer.close()
    try:
        async with asyncio.timeout(seconds):
            await writer.wait_closed()
    except (TimeoutError, ConnectionError) as error:
        _LOG.debug("detector.http_close_failed", error=repr(error))


def find_answer(head: bytes, pages: Pages) -> Answer:
    """The answer to a request, of which the first line counts: ``GET /metrics HTTP/1.1`` (RFC 9112, section 3)."""
    parts = head.split(b"\r\n", 1)[0].split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):  # noqa: PLR2004 # method, target, version
        return Answer(HTTPStatus.BAD_REQUEST, "this is no HTTP/1.1 request\n")
    if parts[0] != b"GET":
        return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "there is GET only\n")
    page = pages.get(parts[1].split(b"?", 1)[0].decode("latin-1"))
    return page() if page else Answer(HTTPStatus.NOT_FOUND, f"there are {', '.join(sorted(pages))}\n")


def write_answer(answer: Answer) -> bytes:
    """The bytes of an answer."""
    body = answer.body.encode()
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body
