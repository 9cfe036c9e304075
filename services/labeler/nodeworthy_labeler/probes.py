"""HTTP beside the bus, for whoever runs the process: is it alive, is it ready, what did it count."""

import contextlib
import errno
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from nodeworthy.errors import UsageError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.metrics import CONTENT_TYPE, Metrics

_LOG = EventLog("labeler")

_SHUTDOWN_SECONDS = 1.0
"""For answers that are under way; each takes milliseconds."""


@contextlib.asynccontextmanager
async def serve_probes(
    host: str, port: int | None, *, metrics: Metrics, why_not_ready: Callable[[], str]
) -> AsyncIterator[int | None]:
    """Serve ``/healthz``, ``/readyz`` and ``/metrics`` for the length of the context; the port, ``None`` if there is none.

    ``/healthz`` says that the process's loop turns. ``/readyz`` answers 503 with the reason while there is one.

    Raises:
        UsageError: the port cannot be taken.
    """
    if port is None:
        yield None
        return

    async def tell_health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def tell_readiness(_: web.Request) -> web.Response:
        reason = why_not_ready()
        return web.Response(text=f"{reason or 'ready'}\n", status=503 if reason else 200)

    async def tell_metrics(_: web.Request) -> web.Response:
        return web.Response(body=metrics.expose(), headers={"Content-Type": CONTENT_TYPE})

    application = web.Application()
    application.router.add_get("/healthz", tell_health)
    application.router.add_get("/readyz", tell_readiness)
    application.router.add_get("/metrics", tell_metrics)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    try:
        yield await _start(runner, host, port)
    finally:
        await runner.cleanup()


async def _start(runner: web.AppRunner, host: str, port: int) -> int:
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        why = "another program listens there" if is_taken else error.strerror or str(error)
        raise UsageError(
            f"HTTP cannot be served on {host}:{port}", why=why, todo="choose another --http-port"
        ) from error
    address = runner.addresses[0]
    _LOG.info("labeler.http_listening", host=address[0], port=address[1])
    return int(address[1])
