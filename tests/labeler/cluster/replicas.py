"""Labelers in processes of their own, and what a watch sees of the Nodes that they share."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from tests.labeler.cluster.whole import LEASES, SECONDS, Whole

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import PartialObject
from nodeworthy.kubernetes.reflector import Put, Reflector
from nodeworthy.kubernetes.resources import NODES

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.labeler.conftest import Bus, MakeFacts

KEY = "x.org/count"

_PROGRAM = """
import os, sys, time
from datetime import UTC, datetime, timedelta
from dataclasses import replace
from functools import partial
from nodeworthy import processes
from nodeworthy.kubernetes import events, lease
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.roll import LeaseSettings
from nodeworthy_labeler.app import run
from nodeworthy_labeler.settings import read_settings

url, password, namespace, renew, duration, retry, timeout, skew = sys.argv[1:]

def wall_clock(true=time.time):
    return true() + float(skew)

class Skewed(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(seconds=float(skew))

time.time, lease.datetime, events.datetime = wall_clock, Skewed, Skewed
bus = ConnectionSettings((url,), user="labeler", password=password, inbox_prefix="_INBOX.labeler", request_seconds=0.5)
settings = read_settings(os.environ)
cluster = replace(
    settings.kubernetes,
    access=replace(settings.kubernetes.access, namespace=namespace),
    limits=RequestLimits(timeout=1.0),
    lease=LeaseSettings(float(renew), int(duration), float(retry), float(timeout)),
)
settings = replace(settings, cluster="test", bus=bus, kubernetes=cluster)
processes.configure_logs()
processes.run_process([processes.Service("labeler", partial(run, settings))], on_ready=lambda: print("ready", flush=True))
"""
"""A labeler whose wall clock is wrong by some seconds; clocks that cannot be set are right, as on real machines."""


class StartProcess(Protocol):
    """Starts a labeler whose clock is wrong by ``skew`` seconds, and gives it when it is ready."""

    async def __call__(self, *, skew: float = 0.0) -> asyncio.subprocess.Process: ...


@contextlib.asynccontextmanager
async def starting(cluster: "Cluster", bus: "Bus", namespace: str, folder: Path) -> AsyncIterator[StartProcess]:
    """Start labelers; each is killed in the end."""
    started: list[asyncio.subprocess.Process] = []
    times = tuple(map(str, (LEASES.renew, LEASES.duration, LEASES.retry, LEASES.timeout)))
    arguments = [bus.server.url, "correct horse", namespace, *times]

    async def begin(*, skew: float = 0.0) -> asyncio.subprocess.Process:
        log = folder / f"labeler-{len(started)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _PROGRAM,
                *arguments,
                str(skew),
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={"NODEWORTHY_KUBECONFIG": str(cluster.kubeconfig), "PYTHONPATH": ":".join(sys.path)},
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


class History:
    """Every value that the label had on each Node, in order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.counts: dict[str, list[int]] = {name: [] for name in names}
        self.was_taken = False
        """Whether any Node was ever seen without the label after it had it."""

    @contextlib.asynccontextmanager
    async def followed(self, client: Client) -> AsyncIterator[None]:
        following = asyncio.create_task(self._follow(client))
        yield
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following

    def has_all(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def ask() -> bool:
            return all(counts and counts[-1] == count for counts in self.counts.values())

        return ask

    def is_monotonic(self) -> bool:
        """Whether no value came again after a later one."""
        return all(counts == sorted(set(counts)) for counts in self.counts.values())

    async def _follow(self, client: Client) -> None:
        async for change in Reflector(client, requests.list_all(NODES, is_metadata=True)).changes():
            if isinstance(change, Put) and change.key in self.counts:
                labels = msgspec.json.decode(change.data, type=PartialObject).metadata.labels or {}
                counts = self.counts[change.key]
                self.was_taken |= bool(counts) and KEY not in labels
                if KEY in labels and counts[-1:] != [int(labels[KEY])]:
                    counts.append(int(labels[KEY]))


async def publish_all(whole: Whole, facts: "MakeFacts", names: Iterable[str], count: int) -> None:
    """Let the facts of these Nodes say ``count``."""
    for name in names:
        await whole.bus.publish(name, facts({KEY: str(count)}))
