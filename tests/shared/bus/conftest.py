"""A bus on a real server, with one user for all or with the users of the library, and things to say on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest
import pytest_asyncio

from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.bus.permissions import User
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

PASSWORD = "correct-horse-battery-staple"
QUICK = {
    "connect_seconds": 10.0,
    "request_seconds": 5.0,
    "reconnect_seconds": 0.02,
    "reconnect_most_seconds": 0.1,
    "ping_seconds": 0.5,
}
"""Times for tests in which the server goes away."""


class Eventually(Protocol):
    """Waits until a condition holds; it fails the test if it does not in time."""

    async def __call__(self, condition: Callable[[], object], *, seconds: float = 20) -> None: ...


@pytest.fixture
def eventually() -> Eventually:
    async def wait(condition: Callable[[], object], *, seconds: float = 20) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not condition():
            if loop.time() > end:
                pytest.fail(f"did not become true in {seconds:g} s", pytrace=False)
            await asyncio.sleep(0.01)

    return wait


@pytest.fixture
def names() -> Names:
    return Names("test")


@pytest.fixture
def server(nats_server: "StartNats") -> "NatsServer":
    return nats_server()


class Connect(Protocol):
    """Connects to the test's server; the connection is closed with the test."""

    async def __call__(self, **settings: object) -> Connection: ...


@pytest_asyncio.fixture
async def connecting(server: "NatsServer") -> AsyncIterator[Connect]:
    async with contextlib.AsyncExitStack() as stack:

        async def start(**settings: object) -> Connection:
            chosen = ConnectionSettings(**({"servers": (server.url,)} | QUICK | settings))  # type: ignore[arg-type] # of a test
            return await stack.enter_async_context(connect(chosen))

        yield start


@pytest_asyncio.fixture
async def store(connecting: Connect, names: Names) -> Store:
    """The streams and buckets, seen by a user who may do everything."""
    connection = await connecting()
    await ensure_streams(connection, define_streams(names))
    return Store(connection, names)


@dataclass
class SecuredBus:
    """A server with users; :meth:`connect_as` gives a connection of one of them."""

    server: "NatsServer"
    names: Names
    connect_as: Callable[[User], Awaitable[Connection]]

    async def store_as(self, user: User) -> Store:
        """What is stored, as one of the users sees it."""
        return Store(await self.connect_as(user), self.names)


class StartSecured(Protocol):
    async def __call__(self, *users: User) -> SecuredBus: ...


@pytest_asyncio.fixture
async def secured(nats_server: "StartNats", names: Names) -> AsyncIterator[StartSecured]:
    """Start a server with these users, in the accounts of the library."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(*users: User) -> SecuredBus:
            passwords = {user.name: PASSWORD for user in users}
            server = nats_server({"accounts": describe_accounts(names, users, passwords)})

            async def connect_as(user: User) -> Connection:
                settings = ConnectionSettings(
                    servers=(server.url,), user=user.name, password=PASSWORD, inbox_prefix=user.inbox_prefix
                )
                return await stack.enter_async_context(connect(settings))

            return SecuredBus(server, names, connect_as)

        yield start


class MakeSnapshot(Protocol):
    """A small snapshot of a node; arguments replace the contents of sets, ``None`` makes a set unknown."""

    def __call__(self, contents: Mapping[str, FeatureSet | None] | None = None) -> Snapshot: ...


@pytest.fixture
def make_snapshot() -> MakeSnapshot:
    def make(contents: Mapping[str, FeatureSet | None] | None = None) -> Snapshot:
        all_contents: dict[str, FeatureSet | None] = {
            "cpu.cpuid": FeatureSet(flags=frozenset({"AVX2", "SSE42"})),
            "kernel.config": FeatureSet(attributes={f"OPTION_{number}": "y" for number in range(200)}),
            "network.virtual": FeatureSet(instances=({"name": "veth0"},)),
            "cpu.rdt": None,
        }
        all_contents |= contents or {}
        return Snapshot(
            {name: content for name, content in all_contents.items() if content is not None},
            {name: SetStatus(SetState.UNKNOWN, "no idea") for name, content in all_contents.items() if content is None},
            frozenset({*all_contents, "pci.device"}),
        )

    return make
