"""A web server inside the test's own process, of which nothing is left when it ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

LARGEST_BODY = 64 * 1024 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serve_web(
    handler: Handler, *, path: str = "/{path:.*}", context: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """The port on 127.0.0.1 of a server that lets ``handler`` answer; who asks may hang up, and that ends the handler."""
    application = web.Application(client_max_size=LARGEST_BODY)
    application.router.add_route("*", path, handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    try:
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await site.stop()
        opened = [connection.transport for connection in runner.server.connections] if runner.server else []
        await runner.cleanup()
        for transport in opened:
            if transport is not None:
                transport.abort()  # TLS says goodbye and waits for an answer, which a client at rest never gives
        await asyncio.sleep(0)
