"""Whole labelers on a bus with the users and permissions that a cluster has, and nodes that say things on it."""

import asyncio
import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR, Producer, labels_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.watching import WatchSettings
from nodeworthy.errors import BusUnreachableError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import LabelMemory, labels_of_memory
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import open_root
from nodeworthy_detector.sources import SOURCES
from nodeworthy_labeler.app import run
from nodeworthy_labeler.settings import Membership, Pace, Settings

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

NAMES = Names("test")
USERS = {user.name: user for user in (permissions.labeler(NAMES), permissions.reader(NAMES), permissions.admin())}
PASSWORD = "correct horse"
HOSTS = Path(__file__).parents[1] / "data" / "hosts"
SECONDS = 20
"""A bound for whatever a test waits for; on an idle machine everything takes milliseconds."""


class Eventually(Protocol):
    """Waits until a condition holds and gives what it gave then; it fails the test if it does not hold in time."""

    async def __call__(self, condition: Callable[[], Awaitable[Any]], *, seconds: float = SECONDS) -> Any: ...


@pytest.fixture
def eventually() -> Eventually:
    async def wait(condition: Callable[[], Awaitable[Any]], *, seconds: float = SECONDS) -> Any:
        async with asyncio.timeout(seconds):
            while True:
                if found := await condition():
                    return found
                await asyncio.sleep(0.01)

    return wait


def bus_settings(url: str, user: str) -> ConnectionSettings:
    """How a user connects; quickly again, when the server was away."""
    return ConnectionSettings(
        servers=(url,),
        user=user,
        password=PASSWORD,
        inbox_prefix=USERS[user].inbox_prefix,
        request_seconds=0.5,
        reconnect_seconds=0.02,
        reconnect_most_seconds=0.1,
        ping_seconds=0.5,
        drain_seconds=0.2,
    )


def labeler_settings(url: str, **changes: Any) -> Settings:
    """The settings of a labeler for which ten seconds are one."""
    settings = Settings(
        cluster=NAMES.cluster,
        bus=bus_settings(url, "labeler"),
        membership=Membership(beat=0.3, lease=1.0, join=0.05),
        watch=WatchSettings(poll=0.5, check=0.5, retry_first=0.02, retry_most=0.1),
        # Tests that are not about reports count what is written.
        pace=Pace(poll=0.05, retry_first=0.05, retry_most=0.2, report=3600.0),
    )
    return dataclasses.replace(settings, **changes)


class Bus:
    """A real bus, seen by an admin, and nodes on it."""

    def __init__(self, server: "NatsServer", connection: Connection) -> None:
        self.server = server
        self.store = Store(connection, NAMES)
        self._publishers: dict[tuple[str, Producer], SnapshotPublisher] = {}

    def settings(self, **changes: Any) -> Settings:
        return labeler_settings(self.server.url, **changes)

    async def make_streams(self) -> None:
        """Make what is missing; also right after the server started again."""
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BusUnreachableError):
                    await ensure_streams(self.store.connection, define_streams(NAMES))
                    return

    async def publish(
        self, node: str, snapshot: Snapshot, producer: Producer = DETECTOR, *, expires: int | None = None
    ) -> None:
        """Say something of a node."""
        key = (node, producer)
        if key not in self._publishers:
            identity = Identity(node, producer, Session(f"boot of {node}", 1), f"uid-{node}")
            self._publishers[key] = SnapshotPublisher(self.store, identity)
        await self._publishers[key].publish(snapshot, expires=expires)

    async def resync(self, node: str, snapshot: Snapshot) -> None:
        """Say everything of a node again, as its detector does when it is asked to."""
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BusUnreachableError):  # the server is starting
                    await self._publishers[node, DETECTOR].resync(snapshot)
                    return

    async def memory(self, node: str) -> LabelMemory | None:
        """What is stored of a node's labels; ``None``: no record."""
        stored = await self.store.get(Bucket.LABELS, labels_key(node))
        return None if stored is None or stored.is_removal else read_memory(stored.data)

    async def labels(self, node: str) -> dict[str, str]:
        """The labels of a node; of a node without a record none."""
        return dict(labels_of_memory(await self.memory(node)).live)

    async def labels_that(self, node: str, is_wanted: Callable[[Mapping[str, str]], bool]) -> float:
        """Wait until the labels of a node are as wanted; the seconds that it took."""
        begun = time.monotonic()
        async with asyncio.timeout(SECONDS):
            while True:
                with contextlib.suppress(BusUnreachableError):  # the server is starting
                    if is_wanted(await self.labels(node)):
                        return time.monotonic() - begun
                await asyncio.sleep(0.01)

    async def purge(self, bucket: Bucket) -> None:
        """Lose everything in a bucket, without a word to anybody."""
        answer = await self.store.connection.request(f"$JS.API.STREAM.PURGE.{NAMES.stream(bucket)}")
        assert json.loads(answer.data)["success"]

    async def delete(self, bucket: Bucket) -> None:
        """Lose a bucket."""
        answer = await self.store.connection.request(f"$JS.API.STREAM.DELETE.{NAMES.stream(bucket)}")
        assert json.loads(answer.data)["success"]

    async def writes(self) -> int:
        """How many records were ever written."""
        info = await self.store.connection.request(f"$JS.API.STREAM.INFO.{NAMES.stream(Bucket.LABELS)}")
        return int(json.loads(info.data)["state"]["last_seq"])

    async def settled_writes(self, seconds: float = 0.5) -> int:
        """The number of writes when there was none for a while, in which a labeler works a hundred times."""
        count = -1
        while count != (now := await self.writes()):
            count = now
            await asyncio.sleep(seconds)
        return count


@pytest.fixture
async def bus(nats_server: "StartNats") -> AsyncIterator[Bus]:
    """A bus as a cluster has it, with its streams."""
    passwords = dict.fromkeys(USERS, PASSWORD)
    server = nats_server({"accounts": describe_accounts(NAMES, tuple(USERS.values()), passwords)})
    async with connect(bus_settings(server.url, "admin")) as connection:
        made = Bus(server, connection)
        await made.make_streams()
        yield made


class Running:
    """A labeler that runs until it is told to stop."""

    def __init__(self, settings: Settings) -> None:
        self.stop, self.ready = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(run(settings, self.stop, self.ready), name="labeler")

    async def end(self) -> float:
        """Tell it to stop; the seconds that it took."""
        begun = time.monotonic()
        self.stop.set()
        await self.task
        return time.monotonic() - begun


class Start(Protocol):
    """Starts a labeler, and gives it when it is ready; fields of its settings may be given."""

    async def __call__(self, *, wait: bool = True, **changes: Any) -> Running: ...


@pytest.fixture
async def start(bus: Bus) -> AsyncIterator[Start]:
    """Labelers on the bus; they end with the test, and must end well."""
    started: list[Running] = []

    async def begin(*, wait: bool = True, **changes: Any) -> Running:
        labeler = Running(bus.settings(**changes))
        started.append(labeler)
        if wait:
            ready = asyncio.create_task(labeler.ready.wait())
            async with asyncio.timeout(SECONDS):
                await asyncio.wait({ready, labeler.task}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if labeler.task.done():
                await labeler.task
        return labeler

    yield begin
    for labeler in started:
        labeler.stop.set()
    for labeler in started:
        async with asyncio.timeout(SECONDS):
            await labeler.task


@pytest.fixture(scope="session")
def machines() -> Mapping[str, Snapshot]:
    """The facts of the recorded machines by name."""
    folders = sorted(path for path in HOSTS.iterdir() if path.is_dir())
    return {folder.name: discover(open_root(folder / "root"), SOURCES) for folder in folders}


class MakeFacts(Protocol):
    """Facts in few words: what features.d holds, sets that are there, and sets that are not known."""

    def __call__(
        self, labels: Mapping[str, str] | None = None, contents: Mapping[str, FeatureSet] | None = None, *unknown: str
    ) -> Snapshot: ...


@pytest.fixture(scope="session")
def facts() -> MakeFacts:
    def make(
        labels: Mapping[str, str] | None = None, contents: Mapping[str, FeatureSet] | None = None, *unknown: str
    ) -> Snapshot:
        sets = {"local.label": FeatureSet(attributes=dict(labels or {})), **(contents or {})}
        statuses = {name: SetStatus(SetState.UNKNOWN, "no answer") for name in unknown}
        sets = {name: content for name, content in sets.items() if name not in statuses}
        return Snapshot(sets, statuses, frozenset({*sets, *statuses}))

    return make


RULE = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: %(name)s}
spec:
  rules:
    - name: %(name)s
      labels: {%(label)s: "%(value)s"}
      matchFeatures: [{feature: lab.a, matchExpressions: {%(key)s: {op: Exists}}}]
"""


class WriteRule(Protocol):
    """Writes a rule file that gives ``label`` where attribute ``key`` of set ``lab.a`` is there."""

    def __call__(self, name: str, label: str, value: str = "1", key: str = "x") -> Path: ...


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """An empty folder of rules."""
    folder = tmp_path / "rules"
    folder.mkdir()
    return folder


@pytest.fixture
def write_rule(rules: Path) -> WriteRule:
    def write(name: str, label: str, value: str = "1", key: str = "x") -> Path:
        # As careful programs do: elsewhere, then renamed.
        new = rules / f".{name}.new"
        new.write_text(RULE % {"name": name, "label": label, "value": value, "key": key})
        return new.rename(rules / f"{name}.yaml")

    return write


_PROGRAM = """
import sys
from functools import partial
from nodeworthy import processes
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy_labeler.app import run
from nodeworthy_labeler.settings import Membership, Settings

inbox = "_INBOX.labeler"
bus = ConnectionSettings((sys.argv[1],), user="labeler", password=sys.argv[2], inbox_prefix=inbox, request_seconds=0.5)
settings = Settings("test", bus, membership=Membership(*map(float, sys.argv[3:])))
processes.configure_logs()
processes.run_process([processes.Service("labeler", partial(run, settings))], on_ready=lambda: print("ready", flush=True))
"""


class StartProcess(Protocol):
    """Starts a labeler in a process of its own, and gives it when it is ready; it is killed with the test."""

    async def __call__(self, membership: Membership) -> asyncio.subprocess.Process: ...


@pytest.fixture
async def start_process(bus: Bus, tmp_path: Path) -> AsyncIterator[StartProcess]:
    started: list[asyncio.subprocess.Process] = []

    async def begin(membership: Membership) -> asyncio.subprocess.Process:
        log = tmp_path / f"labeler-{len(started)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _PROGRAM,
                bus.server.url,
                PASSWORD,
                *map(str, dataclasses.astuple(membership)),
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
            )
        started.append(process)
        assert process.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = await process.stdout.readline()
        assert line == b"ready\n", log.read_text()
        return process

    yield begin
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()
