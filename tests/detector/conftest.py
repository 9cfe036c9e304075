"""What the tests of the detector share: machines that are made on the spot, the recorded ones, and a real bus."""

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nodeworthy.bus import payloads, permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import Bucket, Names, Topic
from nodeworthy.bus.permissions import User
from nodeworthy.bus.publishing import PublicationSettings
from nodeworthy.bus.records import EventMessage, SnapshotMessage
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.errors import BusUnreachableError
from nodeworthy_detector import app
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.settings import Settings

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

SECONDS = 20
"""A bound for whatever a test waits for; on an idle machine everything takes milliseconds."""
LOOK_AGAIN_SECONDS = 0.1
"""A notice of the bus may be lost while it restarts."""

Plant = Callable[[Mapping[str, str | bytes]], Host]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Makes a host with these files below a fresh root; a name that ends with a slash is an empty folder."""

    def make(files: Mapping[str, str | bytes]) -> Host:
        for name, content in files.items():
            target = tmp_path / name
            if name.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        return Host(tmp_path)

    return make


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Gives up root's right to read everything, if this is root, until the test is over."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="session")
def machines() -> Path:
    """The folder of recorded machines."""
    return Path(__file__).parents[1] / "data" / "hosts"


PASSWORD = "correct-horse-battery-staple"


def identity(user: User | None) -> dict[str, Any]:
    """The settings of a connection as this user; of one server with one user for all, none."""
    return {"user": user.name, "password": PASSWORD, "inbox_prefix": user.inbox_prefix} if user else {}


class Bus:
    """A real bus with its streams, and what a test hears and reads on it."""

    def __init__(self, server: "NatsServer", user: User | None = None) -> None:
        self.server = server
        self.names = Names("local")
        self.settings = ConnectionSettings(
            servers=(server.url,),
            **identity(user),
            request_seconds=1,
            drain_seconds=0.2,
            reconnect_seconds=0.05,
            reconnect_most_seconds=0.1,
        )
        self.heard: asyncio.Queue[Msg] = asyncio.Queue()
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        assert self._connection is not None
        return self._connection

    @property
    def store(self) -> Store:
        return Store(self.connection, self.names)

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator["Bus"]:
        async def hear(message: Msg) -> None:
            self.heard.put_nowait(message)

        async with connect(self.settings) as self._connection:
            await self.make_streams()
            async with (
                self.connection.subscribed(self.names.all_nodes(Topic.EVENTS), hear),
                self.connection.subscribed(self.names.stored_subject(Bucket.NODES, ">"), hear),
                self.connection.subscribed(self.names.all_nodes(Topic.HEARTBEAT), hear),
            ):
                yield self

    async def make_streams(self) -> None:
        """Make what is missing, as a labeler does; also right after the server started again."""
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BusUnreachableError):
                    await ensure_streams(self.connection, define_streams(self.names))
                    return

    async def snapshot(self, node: str) -> SnapshotMessage | None:
        """What is stored of a node now."""
        stored = await self.store.get(Bucket.NODES, snapshot_key(node, DETECTOR))
        return payloads.decode(stored.data, SnapshotMessage) if stored else None

    async def snapshot_that(self, node: str, is_wanted: Callable[[SnapshotMessage], bool]) -> SnapshotMessage:
        """The first stored snapshot for which that is true; looked at when one is stored, and when nobody says so."""
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BusUnreachableError):  # the server is starting
                    found = await self.snapshot(node)
                    if found is not None and is_wanted(found):
                        return found
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                        await self.heard.get()

    async def next_event(self, set_name: str = "local.feature") -> EventMessage:
        """The next event of a set; events of other sets and other messages are passed over."""
        async with asyncio.timeout(SECONDS):
            while True:
                message = await self.heard.get()
                if message.subject.startswith(self.names.prefix + ".events."):
                    event = payloads.decode(message.data, EventMessage)
                    if event.set == set_name:
                        return event

    async def events(self) -> list[EventMessage]:
        """Every event in the stream, oldest first."""
        page = await self.store.read(self.names.events_stream, self.names.all_nodes(Topic.EVENTS), 0)
        assert page.is_last
        return [payloads.decode(stored.data, EventMessage) for stored in page.messages]


@pytest.fixture
async def bus(nats_server: "StartNats") -> AsyncIterator[Bus]:
    """A bus with its streams."""
    async with Bus(nats_server()).connected() as made:
        yield made


class StartOwnBus(Protocol):
    """Start a bus on which a node's detector is a user of its own; gives the bus, as its admin, and that user."""

    def __call__(self, node: str) -> contextlib.AbstractAsyncContextManager[tuple[Bus, User]]: ...


@pytest.fixture
def start_own_bus(nats_server: "StartNats") -> StartOwnBus:
    @contextlib.asynccontextmanager
    async def start(node: str) -> AsyncIterator[tuple[Bus, User]]:
        names = Names("local")
        admin, user = permissions.admin(), permissions.detector(names, node)
        passwords = dict.fromkeys((admin.name, user.name), PASSWORD)
        server = nats_server({"accounts": describe_accounts(names, [admin, user], passwords)})
        async with Bus(server, admin).connected() as bus:
            yield bus, user

    return start


class RunDetector(Protocol):
    """Run a detector on a bus for the length of the context; it gives the running task.

    With ``wait`` the context begins when the bus has the first snapshot; with ``ends`` the test looks at the task's end;
    ``others`` are arguments of :func:`nodeworthy_detector.app.run`.
    """

    def __call__(
        self, settings: Settings, *, wait: bool = True, ends: bool = False, **others: Any
    ) -> contextlib.AbstractAsyncContextManager["asyncio.Task[None]"]: ...


@pytest.fixture
def run_detector() -> RunDetector:
    @contextlib.asynccontextmanager
    async def run(
        settings: Settings, *, wait: bool = True, ends: bool = False, **others: Any
    ) -> AsyncIterator["asyncio.Task[None]"]:
        stop, ready = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(app.run(settings, stop, ready, **others))
        try:
            if wait:
                waiting = asyncio.create_task(ready.wait())
                async with asyncio.timeout(SECONDS):
                    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
            yield task
        finally:
            stop.set()
            async with asyncio.timeout(SECONDS):
                await asyncio.wait({task})
        if not ends:
            await task

    return run


class MakeSettings(Protocol):
    """Settings of a detector: this machine, with a features.d folder of the test's own."""

    def __call__(self, bus: Bus, node: str = "node-1", **others: Any) -> Settings: ...


@pytest.fixture
def make_settings(tmp_path: Path) -> MakeSettings:
    def make(bus: Bus, node: str = "node-1", **others: Any) -> Settings:
        settings = Settings(
            node=node,
            bus=bus.settings,
            features_d=str(tmp_path / "features.d"),
            publication=PublicationSettings(retry_first=0.05, retry_most=0.2, reconnect_spread=0.1),
        )
        return dataclasses.replace(settings, **others)

    return make
