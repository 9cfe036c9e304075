"""``/healthz``, ``/readyz`` and ``/metrics``: is the process alive, is it ready, what did it count."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from aiohttp import web

from nodeworthy.web.listening import listen

_SHUTDOWN_SECONDS = 1.0
"""For answers that are under way; each takes milliseconds."""


class Counted(NamedTuple):
    """What ``/metrics`` tells."""

    expose: Callable[[], bytes]
    content_type: str


def add_probes(application: web.Application, counted: Counted, why_not_ready: Callable[[], str]) -> None:
    """Serve the three paths beside whatever else an application serves.

    ``/healthz`` says that the process's loop turns. ``/readyz`` answers 503 with the reason while there is one.
    """

    async def tell_health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def tell_readiness(_: web.Request) -> web.Response:
        reason = why_not_ready()
        return web.Response(text=f"{reason or 'ready'}\n", status=503 if reason else 200)

    async def tell_metrics(_: web.Request) -> web.Response:
        return web.Response(body=counted.expose(), headers={"Content-Type": counted.content_type})

    application.router.add_get("/healthz", tell_health)
    application.router.add_get("/readyz", tell_readiness)
    application.router.add_get("/metrics", tell_metrics)


@contextlib.asynccontextmanager
async def serve_probes(
    host: str, port: int | None, *, service: str, counted: Counted, why_not_ready: Callable[[], str]
) -> AsyncIterator[int | None]:
    """Serve nothing but the probes for the length of the context; gives the port, ``None`` if there is none.

    Raises:
        UsageError: the port cannot be taken.
    """
    if port is None:
        yield None
        return
    application = web.Application()
    add_probes(application, counted, why_not_ready)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    try:
        yield await listen(runner, host, port, service)
    finally:
        await runner.cleanup()
