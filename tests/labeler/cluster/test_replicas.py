"""Several labelers of one cluster share the Nodes by their Leases, and none that is killed or frozen undoes anything."""

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
import pytest
from tests.labeler.cluster.whole import LEASES, SECONDS, Whole

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import PartialObject
from nodeworthy.kubernetes.reflector import Put, Reflector
from nodeworthy.kubernetes.resources import NODES
from nodeworthy_labeler.cluster.membership import LABELS
from nodeworthy_labeler.members import ENGINE

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.labeler.conftest import Bus, Eventually, MakeFacts

KEY = "x.org/count"
NAMES = [f"p-{number}" for number in range(12)]

_PROGRAM = """
import os, sys
from dataclasses import replace
from functools import partial
from nodeworthy import processes
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.roll import LeaseSettings
from nodeworthy_labeler.app import run
from nodeworthy_labeler.settings import read_settings

url, password, namespace, renew, duration, retry, timeout = sys.argv[1:]
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


class StartProcess(Protocol):
    """Starts a labeler in a process of its own, and gives it when it is ready; it is killed with the test."""

    async def __call__(self) -> asyncio.subprocess.Process: ...


@pytest.fixture
async def start_process(cluster: "Cluster", bus: "Bus", namespace: str, tmp_path: Path) -> AsyncIterator[StartProcess]:
    started: list[asyncio.subprocess.Process] = []
    times = map(str, (LEASES.renew, LEASES.duration, LEASES.retry, LEASES.timeout))
    arguments = [bus.server.url, "correct horse", namespace, *times]

    async def begin() -> asyncio.subprocess.Process:
        log = tmp_path / f"labeler-{len(started)}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _PROGRAM,
                *arguments,
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

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {name: [] for name in NAMES}

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
                if KEY in labels and counts[-1:] != [int(labels[KEY])]:
                    counts.append(int(labels[KEY]))


async def _publish_all(whole: Whole, facts: "MakeFacts", count: int) -> None:
    for name in NAMES:
        await whole.bus.publish(name, facts({KEY: str(count)}))


def _create_all(whole: Whole) -> None:
    for name in NAMES:
        whole.cluster.create_node(name)


async def test_two_labelers_share_the_nodes_and_each_change_is_written_once(
    whole: Whole, client: Client, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    history = History()
    _create_all(whole)
    await _publish_all(whole, facts, 0)
    await whole.start()
    await whole.start()
    async with history.followed(client):
        await eventually(history.has_all(0))
        await whole.bus.settled_writes(1.0)
        mark = whole.cluster.mark_requests()
        await _publish_all(whole, facts, 1)
        await eventually(history.has_all(1))
        # Long enough for three renewals: nothing swings to and fro.
        await whole.bus.settled_writes(1.0)
    patched = [request.name for request in whole.writes(mark) if request.resource == "nodes" and request.status == 200]
    assert sorted(patched) == sorted(NAMES)


async def test_the_nodes_of_a_labeler_that_is_killed_are_served_again(
    whole: Whole, client: Client, facts: "MakeFacts", start_process: StartProcess, eventually: "Eventually"
) -> None:
    history = History()
    _create_all(whole)
    await _publish_all(whole, facts, 0)
    doomed = await start_process()
    await start_process()
    async with history.followed(client):
        await eventually(history.has_all(0))
        doomed.kill()
        killed = time.monotonic()
        await _publish_all(whole, facts, 1)
        await eventually(history.has_all(1))
        # As 15 s are to a Lease of 10 s.
        assert time.monotonic() - killed < 1.5 * LEASES.duration + 1.0
        assert history.is_monotonic()


async def test_a_labeler_that_was_frozen_undoes_nothing_of_what_others_did_meanwhile(
    whole: Whole, client: Client, facts: "MakeFacts", start_process: StartProcess, eventually: "Eventually"
) -> None:
    history = History()
    _create_all(whole)
    await _publish_all(whole, facts, 0)
    frozen = await start_process()
    await start_process()
    async with history.followed(client):
        await eventually(history.has_all(0))
        await _publish_all(whole, facts, 1)
        frozen.send_signal(signal.SIGSTOP)
        await _publish_all(whole, facts, 2)
        await eventually(history.has_all(2))
        frozen.send_signal(signal.SIGCONT)
        await _publish_all(whole, facts, 3)
        await eventually(history.has_all(3))
        await whole.bus.settled_writes(1.5)
        assert history.is_monotonic()


async def test_the_nodes_belong_to_labelers_of_the_newest_engine_alone(
    whole: Whole, namespace: str, facts: "MakeFacts"
) -> None:
    """An upgrade must not swing labels to and fro: while a newer one is there, the older one writes nothing."""
    whole.cluster.create_node("p-engine")
    await whole.bus.publish("p-engine", facts({KEY: "1"}))
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    newer = {
        "metadata": {
            "name": "newer",
            "labels": LABELS,
            "annotations": {"nodeworthy.io/engine": str(ENGINE + 1), "nodeworthy.io/ready": "true"},
        },
        "spec": {"leaseDurationSeconds": 60, "holderIdentity": "newer"},
    }
    whole.cluster.admin.must("POST", leases, newer)
    mark = whole.cluster.mark_requests()
    await whole.start()
    await whole.bus.settled_writes(1.0)
    assert [request for request in whole.writes(mark) if request.resource == "nodes"] == []
    whole.cluster.admin.must("DELETE", f"{leases}/newer")
    await whole.labels_are("p-engine", {KEY: "1"})
