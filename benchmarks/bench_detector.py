"""The detector as a process of its own on a real bus: what it takes at rest, and how soon the bus knows."""

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import Bucket, Names, Topic
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy_detector.discovery import SourceAnswer, ask
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.settings import Pace
from nodeworthy_detector.sources import SOURCES

NODE = "bench"
STARTS = 7
CHANGES = 100
IDLE_SECONDS = 60
AIM_MEMORY_MB = 35
AIM_CPU_MS = 5
AIM_PASS_MS = 50
AIM_START_MS = 500
PASSES = 20
SELDOM, OFTEN = 3600, 2
"""Seconds between two looks at the machine, to tell what a look costs from what waiting costs."""

VERB = "import sys; from nodeworthy_cli import main; main.VERBS['detector'] = ''; sys.exit(main.main(sys.argv[1:]))"
SERVICE = """
import asyncio, sys
from nodeworthy_detector.app import run
from nodeworthy_detector.settings import Pace, Settings
from nodeworthy.bus.connection_settings import ConnectionSettings
url, node, folder, seconds, burst = sys.argv[1:]
pace = Pace(seconds=float(seconds), jitter=0, share=1, burst=int(burst))
settings = Settings(node=node, features_d=folder, bus=ConnectionSettings(servers=(url,)), pace=pace)
asyncio.run(run(settings, asyncio.Event(), asyncio.Event()))
"""
"""The service as an image without the command line starts it."""


def run() -> None:
    """Start a bus, then measure."""
    _measure_passes()
    # Not in /tmp: every folder on the way is watched, and that one is busy on a machine in use.
    with tempfile.TemporaryDirectory(dir=Path.home()) as name, _bus(Path(name)) as bus:
        asyncio.run(_measure(Path(name), bus.url))


class Bus(NamedTuple):
    """A nats-server of this benchmark."""

    url: str
    monitoring: str
    """The address of the server's own counters."""


def _measure_passes() -> None:
    """Looks at everything in one process, as a rescan makes them."""
    host, taken = Host(Path("/")), []
    answers: dict[str, SourceAnswer] = {}
    for _ in range(PASSES + 1):
        start = time.process_time()
        for source in SOURCES:
            answers[source.name] = ask(source, host, answers.get(source.name))
        taken.append(time.process_time() - start)
    first, *others = taken
    print(
        f"a look at everything, of processor time: the first {first * 1e3:.1f} ms, then median "
        f"{statistics.median(others) * 1e3:.1f} ms, most {max(others) * 1e3:.1f} ms of {PASSES}, aim {AIM_PASS_MS}"
    )


@contextlib.contextmanager
def _bus(folder: Path) -> Iterator[Bus]:
    program = Path(sys.executable).with_name("nats-server")
    arguments = ["-js", "-sd", folder / "store", "-a", "127.0.0.1", "-p", "-1", "-m", "-1", "--ports_file_dir", folder]
    with subprocess.Popen([*map(str, [program, *arguments, "-l", folder / "log"])]) as server:
        try:
            file = folder / f"nats-server_{server.pid}.ports"
            while not file.exists() or not file.read_text().endswith("}"):
                time.sleep(0.01)
            ports = json.loads(file.read_text())
            yield Bus(ports["nats"][0], ports["monitoring"][0])
        finally:
            server.terminate()


async def _measure(folder: Path, url: str) -> None:
    features = folder / "features.d"
    features.mkdir()
    names = Names("local")
    async with connect(ConnectionSettings(servers=(url,))) as connection:
        await ensure_streams(connection, define_streams(names))
        stored = names.stored_subject(Bucket.NODES, snapshot_key(NODE, DETECTOR))
        await _measure_start(connection, stored, "service alone", _service(url, NODE, features))
        verb: list[object] = [
            sys.executable,
            "-c",
            VERB,
            "detector",
            "--server",
            url,
            "--node-name",
            NODE,
            "--features-d",
            features,
        ]
        await _measure_start(connection, stored, "nodeworthy detector", verb)
        async with _heard(connection, stored) as snapshots:
            async with _running(_service(url, NODE, features, burst=2 * CHANGES)):
                await snapshots.get()
                await _measure_changes(connection, names, features)
            async with (
                _running(_service(url, NODE, features)) as resting,
                _running(_service(url, "busy", features, seconds=OFTEN)) as looking,
            ):
                await snapshots.get()
                await _measure_rest(connection, names, resting.pid, looking.pid)


def _service(url: str, node: str, folder: Path, *, seconds: float = SELDOM, burst: int = 10) -> list[object]:
    return [sys.executable, "-c", SERVICE, url, node, folder, seconds, burst]


@contextlib.asynccontextmanager
async def _heard(connection: Connection, subject: str) -> "AsyncIterator[asyncio.Queue[float]]":
    """The times at which messages on a subject came."""
    times: asyncio.Queue[float] = asyncio.Queue()

    async def hear(_message: Msg) -> None:
        times.put_nowait(time.perf_counter())

    async with connection.subscribed(subject, hear):
        yield times


@contextlib.asynccontextmanager
async def _running(command: list[object]) -> "AsyncIterator[asyncio.subprocess.Process]":
    process = await asyncio.create_subprocess_exec(*map(str, command), stderr=asyncio.subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def _measure_start(connection: Connection, stored: str, name: str, command: list[object]) -> None:
    taken = []
    async with _heard(connection, stored) as snapshots:
        for _ in range(STARTS):
            start = time.perf_counter()
            async with _running(command) as process:
                taken.append(await snapshots.get() - start)
                memory = _memory(process.pid)
    print(
        f"{name:22} start to first stored snapshot: median {statistics.median(taken) * 1e3:.0f} ms, "
        f"least {min(taken) * 1e3:.0f} ms of {STARTS}, aim {AIM_START_MS}; then resident {memory:.1f} MB"
    )


async def _measure_changes(connection: Connection, names: Names, folder: Path) -> None:
    """One file after another, each dropped when the event of the one before is there."""
    taken = []
    async with _heard(connection, names.node_subject(Topic.EVENTS, NODE, "local.feature")) as events:
        for number in range(CHANGES):
            new = folder / ".new"
            new.write_text(f"n={number}\n")
            start = time.perf_counter()
            new.rename(folder / "file")
            taken.append(await events.get() - start)
    p50, p99 = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
    print(f"a file in features.d to its event: p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms of {CHANGES}")


async def _measure_rest(connection: Connection, names: Names, resting: int, looking: int) -> None:
    await asyncio.sleep(3)  # what starting left to do
    before = _cpu(resting), _cpu(looking)
    async with (
        _heard(connection, names.node_subject(Topic.HEARTBEAT, NODE)) as beats,
        _heard(connection, f"{names.node_subject(Topic.EVENTS, NODE)}.>") as events,
        _heard(connection, names.stored_subject(Bucket.NODES, snapshot_key(NODE, DETECTOR))) as snapshots,
        _heard(connection, names.stored_subject(Bucket.SETS, ">")) as sets,
    ):
        await asyncio.sleep(IDLE_SECONDS)
    said = {"heartbeats": beats, "events": events, "snapshots": snapshots, "sets": sets}
    print(f"said in {IDLE_SECONDS} s at rest: {', '.join(f'{times.qsize()} {name}' for name, times in said.items())}")
    waiting = _cpu(resting) - before[0]
    look = (_cpu(looking) - before[1] - waiting) * OFTEN / IDLE_SECONDS
    minute = waiting * 60 / IDLE_SECONDS
    period = Pace().seconds
    print(f"at rest, of processor time: waiting {minute * 1e3:.1f} ms a minute, a look {look * 1e3:.1f} ms")
    print(f"  so {(minute + look * 60 / period) * 1e3:.1f} ms a minute at one look in {period:g} s, aim {AIM_CPU_MS}")
    print(f"at rest: resident {_memory(resting):.1f} MB, aim {AIM_MEMORY_MB}; PSS {_proportional(resting):.1f} MB")


def _cpu(pid: int) -> float:
    """Processor time of another process in seconds, ended threads included: its clock as clock_getcpuclockid(3) names it."""
    return time.clock_gettime((~pid << 3) | 2)


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def _proportional(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
