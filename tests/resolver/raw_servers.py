"""Servers that write bytes of the test's own to whoever connects: what no HTTP library would send."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


@asynccontextmanager
async def listen(connected: Connected) -> AsyncIterator[int]:
    """The port of a server that does with a connection what the test says."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await connected(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def answering(start: bytes, again: bytes = b"") -> Connected:
    """Reads one request and writes ``start``, and then ``again`` for as long as somebody reads it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while (await reader.readline()).strip():
                pass
            writer.write(start)
            await writer.drain()
            while again:
                writer.write(again)
                await writer.drain()

    return answer
