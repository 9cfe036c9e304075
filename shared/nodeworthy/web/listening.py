"""Opening the one port of a service."""

import errno

from aiohttp import web

from nodeworthy.errors import UsageError
from nodeworthy.processes import EventLog


async def listen(runner: web.AppRunner, host: str, port: int, service: str) -> int:
    """Start serving and say in the log where; the port, which differs from the one given only where that is 0.

    Raises:
        UsageError: the port cannot be taken.
    """
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
    EventLog(service).info(f"{service}.http_listening", host=address[0], port=address[1])
    return int(address[1])
