"""Whole validators and resolvers on a bus as a cluster has it, recorded machines as its nodes, and a real registry."""

import asyncio
import hashlib
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import aiohttp
import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR, Producer
from nodeworthy.bus.names import Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.requests import NodesReply, NodesRequest, ValidateReply, ValidateRequest
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.validating import list_nodes, validate
from nodeworthy.features import Snapshot
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE, ImageKnowledge
from nodeworthy.verdicts import Answer
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES
from nodeworthy_resolver import app as resolver_app
from nodeworthy_resolver import oci
from nodeworthy_resolver.settings import Lifetimes as ResolverLifetimes
from nodeworthy_resolver.settings import Settings as ResolverSettings
from nodeworthy_validator import app
from nodeworthy_validator.settings import Lifetimes, Settings

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

NAMES = Names()
USERS = {
    user.name: user
    for user in (
        permissions.validator(NAMES),
        permissions.resolver(NAMES),
        permissions.labeler(NAMES),
        permissions.reader(NAMES),
        permissions.admin(),
    )
}
PASSWORD = "correct horse"
SECONDS = 20
"""A bound for whatever a test waits for; on an idle machine everything takes milliseconds."""
HOSTS = Path(__file__).parents[1] / "data" / "hosts"


@pytest.fixture(scope="session")
def machines() -> Mapping[str, Snapshot]:
    """What each recorded machine offers, by the name of its folder."""
    folders = [folder for folder in HOSTS.iterdir() if (folder / "root").is_dir()]
    return {folder.name: discover(Host(folder / "root"), SOURCES) for folder in sorted(folders)}


@dataclass
class Bus:
    """A server with accounts and streams; every user has the same password."""

    server: "NatsServer"
    admin: Connection
    publishers: dict[tuple[str, str], SnapshotPublisher] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """Everything that is stored."""
        return Store(self.admin, NAMES)

    async def make_streams(self) -> None:
        """Make what is missing, as a labeler does; also right after the server started again."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    await ensure_streams(self.admin, define_streams(NAMES))
                except Exception:  # noqa: BLE001 # whatever it says while it starts
                    await asyncio.sleep(0.02)
                else:
                    return

    async def publish(
        self, node: str, snapshot: Snapshot, producer: Producer = DETECTOR, *, expires: int | None = None
    ) -> None:
        """Say what a node offers, as its detector does."""
        key = (node, str(producer))
        if key not in self.publishers:
            identity = Identity(node, producer, Session(f"boot of {node}", 1))
            self.publishers[key] = SnapshotPublisher(self.store, identity)
        await self.publishers[key].publish(snapshot, expires=expires)

    def validator(self, **changes: Any) -> Settings:
        """The settings of a validator that believes what it heard of an image for no time."""
        settings = Settings(bus=connection_settings(self.server.url, "validator"), lifetimes=Lifetimes(image=0))
        return replace(settings, **changes)

    def resolver(self) -> ResolverSettings:
        """The settings of a resolver that asks registries by plain HTTP and once, and that does not remember failures."""
        return ResolverSettings(
            bus=connection_settings(self.server.url, "resolver"),
            registries=oci.RegistryAccess(plain_http=True, attempts=1),
            lifetimes=ResolverLifetimes(failure=0),
            stop_seconds=0.1,
        )


def connection_settings(url: str, user: str) -> ConnectionSettings:
    """How a user connects; quickly again, when the server was away."""
    return ConnectionSettings(
        servers=(url,),
        user=user,
        password=PASSWORD,
        inbox_prefix=USERS[user].inbox_prefix,
        reconnect_seconds=0.02,
        reconnect_most_seconds=0.1,
        ping_seconds=0.5,
        drain_seconds=0.5,
    )


@pytest.fixture
async def bus(nats_server: "StartNats") -> AsyncIterator[Bus]:
    """A bus as a cluster has it."""
    server = nats_server({"accounts": describe_accounts(NAMES, tuple(USERS.values()), dict.fromkeys(USERS, PASSWORD))})
    async with connect(connection_settings(server.url, "admin")) as admin:
        await ensure_streams(admin, define_streams(NAMES))
        yield Bus(server, admin)


@dataclass(frozen=True)
class Person:
    """Somebody on the bus who may ask and write nothing."""

    connection: Connection

    async def validate(
        self, image: str = "", *, seconds: float = SECONDS, patience: float = 2, **asked: Any
    ) -> ValidateReply:
        """Whether an image runs."""
        request = ValidateRequest(image=image, **asked)
        return await validate(self.connection, NAMES, request, seconds=seconds, patience=patience)

    async def answer(self, image: str, **asked: Any) -> Answer:
        """The answer about the first node."""
        return (await self.validate(image, **asked)).verdicts[0].verdict

    async def nodes(self, **asked: Any) -> NodesReply:
        """A page of the nodes."""
        return await list_nodes(self.connection, NAMES, NodesRequest(**asked), seconds=SECONDS)


class Eventually(Protocol):
    """Waits until a condition holds; it fails the test if it does not in time."""

    async def __call__(self, condition: Callable[[], Awaitable[object]]) -> None: ...


@pytest.fixture
def eventually() -> Eventually:
    async def wait(condition: Callable[[], Awaitable[object]]) -> None:
        end = asyncio.get_running_loop().time() + SECONDS
        while not await condition():
            if asyncio.get_running_loop().time() > end:
                pytest.fail(f"did not become true in {SECONDS} s", pytrace=False)
            await asyncio.sleep(0.01)

    return wait


@pytest.fixture
async def reader(bus: Bus) -> AsyncIterator[Person]:
    async with connect(connection_settings(bus.server.url, "reader")) as connection:
        yield Person(connection)


@dataclass
class Running:
    """A service that runs until it is told to stop."""

    task: "asyncio.Task[None]"
    stop: asyncio.Event
    ready: asyncio.Event
    settings: Settings

    async def end(self) -> None:
        """Tell it to stop, and wait for it."""
        self.stop.set()
        async with asyncio.timeout(SECONDS):
            await self.task


class Start(Protocol):
    """Starts a validator and gives it when it is ready; fields of its settings may be given.

    Without ``wait`` it need not become ready.
    """

    async def __call__(self, *, wait: bool = True, **changes: Any) -> Running: ...


@pytest.fixture
async def start(bus: Bus) -> AsyncIterator[Start]:
    """Validators on the bus; they end with the test, and must end well."""
    async with AsyncExitStack() as stack:

        async def begin(*, wait: bool = True, **changes: Any) -> Running:
            settings = bus.validator(**changes)
            stop, ready = asyncio.Event(), asyncio.Event()
            running = Running(asyncio.create_task(app.run(settings, stop, ready)), stop, ready, settings)
            stack.push_async_callback(running.end)
            if wait:
                await ready_or_failed(running.task, ready)
            return running

        yield begin


async def ready_or_failed(task: "asyncio.Task[None]", ready: asyncio.Event) -> None:
    """Wait until a service is ready; its failure is the test's."""
    waiting = asyncio.create_task(ready.wait())
    async with asyncio.timeout(SECONDS):
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        await task


@pytest.fixture
async def resolver(bus: Bus) -> AsyncIterator[None]:
    """A resolver on the bus."""
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(resolver_app.run(bus.resolver(), stop, ready))
    await ready_or_failed(task, ready)
    yield
    stop.set()
    await task


class Registry:
    """A real registry, and how images come into it."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._access = oci.RegistryAccess(plain_http=True)

    async def push(self, name: str, *platforms: str, spec: str = "") -> str:
        """Push an image for a platform, or an index for several, and attach a specification; its reference."""
        async with aiohttp.ClientSession() as session:
            images = [(await self._image(session, name, one), one) for one in platforms or ("linux/amd64",)]
            if len(images) == 1:
                top = await self._manifest(session, name, images[0][0], "1")
            else:
                children = [
                    {**await self._manifest(session, name, image), "platform": platform_of(one)}
                    for image, one in images
                ]
                top = await self._manifest(session, name, {"mediaType": INDEX, "manifests": children}, "1")
            if spec:
                await self._attach(session, name, top, spec)
        return f"{self.host}/{name}:1"

    async def look(self, reference: str) -> ImageKnowledge:
        """What a command line without a bus finds out about an image."""
        parsed = oci.parse_reference(reference)
        async with oci.open_store(parsed, self._access) as store:
            return await oci.resolve_image(store, parsed, None)

    async def _image(self, session: aiohttp.ClientSession, name: str, platform: str) -> dict[str, Any]:
        config = await self._blob(session, name, json.dumps(platform_of(platform)).encode(), CONFIG)
        layer = await self._blob(session, name, platform.encode(), "application/vnd.oci.image.layer.v1.tar")
        return {"mediaType": MANIFEST, "config": config, "layers": [layer]}

    async def _attach(self, session: aiohttp.ClientSession, name: str, subject: dict[str, Any], spec: str) -> None:
        empty = await self._blob(session, name, b"{}", "application/vnd.oci.empty.v1+json")
        layer = await self._blob(session, name, spec.encode(), SPEC_MEDIA_TYPE)
        artifact = {"mediaType": MANIFEST, "artifactType": ARTIFACT_TYPE, "subject": subject, "config": empty}
        await self._manifest(session, name, {**artifact, "layers": [layer]})

    async def _blob(self, session: aiohttp.ClientSession, name: str, data: bytes, media_type: str) -> dict[str, Any]:
        described = describe(data, media_type)
        base = f"http://{self.host}"
        async with session.post(f"{base}/v2/{name}/blobs/uploads/") as answer:
            place = answer.headers["Location"]
        place = place if place.startswith("http") else base + place
        place += ("&" if "?" in place else "?") + f"digest={described['digest']}"
        async with session.put(place, data=data) as answer:
            answer.raise_for_status()
        return described

    async def _manifest(
        self, session: aiohttp.ClientSession, name: str, document: Mapping[str, Any], tag: str = ""
    ) -> dict[str, Any]:
        data = json.dumps({"schemaVersion": 2, **document}).encode()
        described = describe(data, document["mediaType"])
        url = f"http://{self.host}/v2/{name}/manifests/{tag or described['digest']}"
        async with session.put(url, data=data, headers={"Content-Type": document["mediaType"]}) as answer:
            answer.raise_for_status()
        return described


MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def describe(data: bytes, media_type: str) -> dict[str, Any]:
    """The descriptor of bytes."""
    return {"mediaType": media_type, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}


def platform_of(text: str) -> dict[str, str]:
    """The platform as index and config write it."""
    parts = dict(zip(("os", "architecture", "variant"), text.split("/"), strict=False))
    return {name: part for name, part in parts.items() if part}


@pytest.fixture
def registry(referrers_registry: str) -> Registry:
    return Registry(referrers_registry)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment of who runs the tests says of proxies."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
