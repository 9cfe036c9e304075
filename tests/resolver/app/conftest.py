"""Whole resolvers on a bus with the users and permissions that a cluster has, and people who ask them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.asking import ask
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.requests import AttachReply, AttachRequest, ResolveReply, ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.images import SearchState
from nodeworthy_resolver.app import run
from nodeworthy_resolver.oci import RegistryAccess
from nodeworthy_resolver.settings import Lifetimes, Settings

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

NAMES = Names()
USERS = {
    user.name: user
    for user in (
        permissions.resolver(NAMES),
        permissions.reader(NAMES),
        permissions.author(NAMES),
        permissions.admin(),
    )
}
PASSWORD = "correct horse"


@dataclass(frozen=True)
class Bus:
    """A server with accounts and streams; every user has the same password."""

    server: "NatsServer"
    password: str = PASSWORD

    def settings(self, user: str) -> ConnectionSettings:
        """How a user connects; quickly again, when the server was away."""
        return ConnectionSettings(
            servers=(self.server.url,),
            user=user,
            password=PASSWORD,
            inbox_prefix=USERS[user].inbox_prefix,
            reconnect_seconds=0.02,
            reconnect_most_seconds=0.1,
            ping_seconds=0.5,
        )

    def resolver(self, **changes: Any) -> Settings:
        """The settings of a resolver that asks registries by plain HTTP and once, and that does not remember failures."""
        settings = Settings(
            bus=self.settings("resolver"),
            registries=RegistryAccess(plain_http=True, attempts=1),
            lifetimes=Lifetimes(failure=0),
            stop_seconds=0.1,
        )
        return replace(settings, **changes)


@pytest.fixture
async def cluster_bus(nats_server: "StartNats") -> Bus:
    """A bus as a cluster has it."""
    passwords = dict.fromkeys(USERS, PASSWORD)
    bus = Bus(nats_server({"accounts": describe_accounts(NAMES, tuple(USERS.values()), passwords)}))
    async with connect(bus.settings("admin")) as admin:
        await ensure_streams(admin, define_streams(NAMES))
    return bus


@dataclass(frozen=True)
class Person:
    """Somebody on the bus who asks the resolvers."""

    connection: Connection

    async def look(self, reference: str, *, fresh: bool = False, seconds: float = 10) -> ResolveReply:
        """What is known of an image."""
        request = ResolveRequest(reference=reference, fresh=fresh)
        return await resolve(self.connection, NAMES, request, seconds=seconds)

    async def state(self, reference: str) -> SearchState | None:
        """Whether something is attached to the only image."""
        search = (await self.look(reference)).knowledge.images[0].search
        return search.state if search else None

    async def attach(self, reference: str, spec: bytes, **more: Any) -> AttachReply:
        """Have a specification attached."""
        request = AttachRequest(reference=reference, spec=spec, **more)
        return await ask(self.connection, NAMES, Endpoint.ATTACH, request, AttachReply, seconds=10)


@pytest.fixture
async def reader(cluster_bus: Bus) -> AsyncIterator[Person]:
    """Somebody who may ask and write nothing."""
    async with connect(cluster_bus.settings("reader")) as connection:
        yield Person(connection)


@pytest.fixture
async def author(cluster_bus: Bus) -> AsyncIterator[Person]:
    """Somebody who may also have specifications attached."""
    async with connect(cluster_bus.settings("author")) as connection:
        yield Person(connection)


class Running:
    """A resolver that runs until it is told to stop."""

    def __init__(self, settings: Settings) -> None:
        self.stop, self.ready = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(run(settings, self.stop, self.ready), name="resolver")

    async def end(self) -> float:
        """Tell it to stop; the seconds that it took."""
        begun = time.monotonic()
        self.stop.set()
        await self.task
        return time.monotonic() - begun


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Running]:
    """Run a resolver; how it ended is the test's matter."""
    resolver = Running(settings)
    try:
        yield resolver
    finally:
        resolver.stop.set()
        await asyncio.wait({resolver.task})


class Run(Protocol):
    """Runs a resolver, which need not become ready."""

    def __call__(self, settings: Settings) -> AbstractAsyncContextManager[Running]: ...


@pytest.fixture
def run_resolver() -> Run:
    """Runs resolvers with any settings."""
    return running


class Start(Protocol):
    """Starts a resolver, and gives it when it is ready; fields of its settings may be given."""

    async def __call__(self, **changes: Any) -> Running: ...


@pytest.fixture
async def start(cluster_bus: Bus) -> AsyncIterator[Start]:
    """Resolvers on the cluster's bus; they end with the test, and must end well."""
    async with AsyncExitStack() as stack:
        started: list[Running] = []

        async def begin(**changes: Any) -> Running:
            resolver = await stack.enter_async_context(running(cluster_bus.resolver(**changes)))
            async with asyncio.timeout(20):
                await resolver.ready.wait()
            started.append(resolver)
            return resolver

        yield begin
        for resolver in started:
            await resolver.end()
