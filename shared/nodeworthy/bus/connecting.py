"""A service's connection: tried for until there is one, and watched until the end."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

from nodeworthy.bus.connection import Connection, connect, reconnect_delay
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import BusUnreachableError
from nodeworthy.processes import EventLog


@contextlib.asynccontextmanager
async def connected(
    settings: ConnectionSettings, stop: asyncio.Event, service: str
) -> AsyncIterator[Connection | None]:
    """A connection, tried for until there is one; ``None`` if ``stop`` came first.

    Raises:
        BusDeniedError: the bus refused the user; trying again would lock it out.
        UsageError: the settings cannot be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        connection = None
        tries = 0
        while connection is None and not stop.is_set():
            try:
                connection = await stack.enter_async_context(connect(settings))
            except BusUnreachableError as error:
                EventLog(service).warning(f"{service}.bus_away", error=str(error))
                delay = reconnect_delay(settings, tries, random.random())  # noqa: S311 # no secret
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await stop.wait()
                tries += 1
        yield connection


async def wait_for_end(connection: Connection, stop: asyncio.Event, service: str) -> None:
    """Wait for ``stop``.

    Raises:
        BusUnreachableError: the connection, which reconnects for ever, was closed by a fault before.
    """
    waiting = [asyncio.create_task(event.wait(), name="end") for event in (stop, connection.closed)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
    if not stop.is_set():
        raise BusUnreachableError(
            "the bus closed the connection for good", todo=f"its log says why; then start the {service} again"
        )
