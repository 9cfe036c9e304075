"""The embedded default as a whole: folder, server, services, in this order, and back."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Names
from nodeworthy.bus.permissions import User
from nodeworthy.processes import DEFAULT_LIMITS, Limits, Service, run_services
from nodeworthy_cli.embedded.configuration import ANYONE
from nodeworthy_cli.embedded.contexts import ADMIN_FILE, FILE, Context, write_context
from nodeworthy_cli.embedded.data_folder import hold_data_folder
from nodeworthy_cli.embedded.server import Server, run_server
from nodeworthy_cli.embedded.settings import ServerSettings

PERSON = "author"
"""The role of whoever uses this machine: asks, reads, has specifications attached, and has the node look afresh."""
ADMIN = "admin"

SPARE_SECONDS = 1
"""For everything around services and server at the end."""


@dataclass(frozen=True, slots=True)
class EmbeddedService:
    """A service that runs on the embedded bus."""

    role: str
    """Whose user it is on the bus."""
    make: Callable[[Context], Service]
    """Makes it when it is known where the bus is."""


async def run_embedded(
    settings: ServerSettings,
    users: Mapping[str, User],
    services: Sequence[EmbeddedService],
    stop: asyncio.Event,
    *,
    announce: Callable[[Server], None],
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Run server and services until ``stop``; ``announce`` is called when everything is ready.

    The users are by role; two of them, :data:`PERSON` and :data:`ADMIN`, get context files.

    All services run in this process. Measured on two cores, imports and one connection each: one process 52 MB and 0.34 s of
    CPU, four processes 151 MB (PSS) and 0.98 s. What separate processes would give, a crash or a busy loop that harms one
    service only, is there for whoever wants it: each service has a verb of its own, and can run against this bus.

    Raises:
        UsageError: one of :mod:`nodeworthy_cli.embedded.errors`.
        ServiceFailedError: a service failed, or the server ended.
        ServiceOverdueError: a service did not stop in time.
    """
    async with hold_data_folder(settings.folder) as folder, run_server(folder, settings, users) as server:
        if not await server.wait_until_it_listens(stop):
            return
        write_context(folder.path / FILE, server.context(PERSON))
        write_context(folder.path / ADMIN_FILE, server.context(ADMIN))
        made = [service.make(server.context(service.role)) for service in services]
        await run_services(
            [Service("bus", server.watch), *made], stop, limits=limits, on_ready=lambda: announce(server)
        )


def bus_users(names: Names, node: str) -> Mapping[str, User]:
    """The users of an embedded bus by role; it has one node, this machine."""
    return {
        "detector": permissions.detector(names, node),
        "labeler": permissions.labeler(names),
        "resolver": permissions.resolver(names),
        "validator": permissions.validator(names),
        PERSON: permissions.operator(names, PERSON, may_attach=True),
        ANYONE: permissions.reader(names, ANYONE, stock_inbox=True),
        ADMIN: permissions.admin(),
    }


def end_seconds(settings: ServerSettings, limits: Limits) -> float:
    """The longest time from ``stop`` to the end of the process."""
    return limits.stop + limits.cancel + settings.stop_seconds + SPARE_SECONDS
