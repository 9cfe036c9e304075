"""How a verb works with the bus: connected for as long as it runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nodeworthy import processes
from nodeworthy.bus.connection import connect
from nodeworthy.bus.store import Store
from nodeworthy_cli.bus_options import BusOptions, connection_settings

_Result = TypeVar("_Result")


def run_on_bus(
    bus: BusOptions, verb: str, work: Callable[[Store], Awaitable[_Result]], *, log_level: int = logging.ERROR
) -> _Result:
    """Connect, work, and close; what the connection logs below ``log_level`` is not shown.

    Raises:
        UsageError: no bus is known.
        BusUnreachableError: it does not answer.
        BusDeniedError: it refused the user, or what the user wanted to do.
    """
    # Lines for people: what a program reads is on standard output.
    processes.configure_logs(form=processes.LogFormat.TEXT, level=log_level)
    names, settings = bus.names, connection_settings(bus, f"nodeworthy {verb}")

    async def connected() -> _Result:
        async with connect(settings) as connection:
            return await work(Store(connection, names))

    return asyncio.run(connected())
