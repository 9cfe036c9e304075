"""Our Kubernetes client against kubernetes-asyncio: label patches on one real API server, in turns.

Ours asks for the metadata of the answer alone, which kubernetes-asyncio cannot.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from timing import ROOT

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.resources import NODES

sys.path.insert(0, str(ROOT))
from tests.kubernetes.cluster import Cluster  # the control plane that the tests start; found by the line above

NODE_COUNT = 100
ROUNDS = 20
"""With one patch to each node in each: 2,000."""
LABELS = 57
PARALLEL = 16

Send = Callable[[str, bytes], Awaitable[object]]
"""Applies a document to a node."""


class Cost(NamedTuple):
    """What the patches of one client took, in seconds."""

    wall: float
    client: float
    server: float


def run() -> None:
    """Start a control plane, then measure."""
    build = [sys.executable, str(ROOT / "tests/servers/build.py"), "kubernetes"]
    programs = Path(subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip())
    with tempfile.TemporaryDirectory() as name:
        cluster = Cluster(programs, Path(name), audit=False)
        try:
            cluster.start()
            for number in range(NODE_COUNT):
                cluster.create_node(node_name(number))
            asyncio.run(_measure(cluster))
        finally:
            cluster.close()


async def _measure(cluster: Cluster) -> None:
    async with _ours(cluster) as ours, _theirs(cluster, is_raw=True) as raw, _theirs(cluster, is_raw=False) as typed:
        clients = {"ours": ours, "kubernetes-asyncio, raw answers": raw, "kubernetes-asyncio, typed": typed}
        for send in clients.values():  # owners of the fields are made, connections opened
            await _patch_all(send, "warm")
        costs: dict[str, list[Cost]] = {name: [] for name in clients}
        for number in range(ROUNDS):
            for name, send in clients.items():
                costs[name].append(await _measure_round(cluster, send, f"{number}-{len(costs[name])}-{name[-3:]}"))
        await _measure_nothing_new(cluster, ours)
    count = NODE_COUNT * ROUNDS
    print(f"{count} applies of {LABELS} labels each, {PARALLEL} at a time, the clients in turns; per apply:")
    for name, taken in costs.items():
        wall, client, server = (sum(one[index] for one in taken) for index in range(3))
        print(
            f"  {name:32} {count / wall:6.0f}/s   client {client / count * 1e3:5.2f} ms"
            f"   API server {server / count * 1e3:5.2f} ms"
        )


async def _measure_nothing_new(cluster: Cluster, send: Send) -> None:
    await _patch_all(send, "same")
    cost = await _measure_round(cluster, send, "same")
    print(f"an apply that changes nothing: API server {cost.server / NODE_COUNT * 1e3:.2f} ms")


async def _measure_round(cluster: Cluster, send: Send, value: str) -> Cost:
    server = _cpu_seconds(cluster.api_server.pid)
    client, wall = time.process_time(), time.perf_counter()
    await _patch_all(send, value)
    return Cost(time.perf_counter() - wall, time.process_time() - client, _cpu_seconds(cluster.api_server.pid) - server)


async def _patch_all(send: Send, value: str) -> None:
    places = asyncio.Semaphore(PARALLEL)

    async def patch(number: int) -> None:
        async with places:
            await send(node_name(number), document(node_name(number), value))

    async with asyncio.TaskGroup() as group:
        for number in range(NODE_COUNT):
            group.create_task(patch(number), name="bench.patch")


@asynccontextmanager
async def _ours(cluster: Cluster) -> AsyncIterator[Send]:
    access = find_access({}, cluster.folder, kubeconfig=cluster.kubeconfig)
    limits = RequestLimits(rate=1e6, burst=1000, parallel=PARALLEL, timeout=30)
    async with Client(access, limits, is_compressed=False) as client:

        async def send(name: str, body: bytes) -> object:
            return await client.request(requests.apply(NODES, name, body, manager="bench"))

        yield send


@asynccontextmanager
async def _theirs(cluster: Cluster, *, is_raw: bool) -> AsyncIterator[Send]:
    from kubernetes_asyncio import client, config

    configuration = client.Configuration()
    await config.load_kube_config(str(cluster.kubeconfig), client_configuration=configuration)
    async with client.ApiClient(configuration) as api:
        core: Any = client.CoreV1Api(api)  # its types know no options that begin with an underscore

        async def send(name: str, body: bytes) -> object:
            answer = await core.patch_node(
                name,
                msgspec.json.decode(body),
                field_manager="bench",
                force=True,
                _content_type="application/apply-patch+yaml",
                _preload_content=not is_raw,
            )
            return await answer.read() if is_raw else answer

        yield send


def node_name(number: int) -> str:
    return f"bench-{number:03}"


def document(name: str, value: str) -> bytes:
    labels = {f"feature.node.kubernetes.io/bench-{number}": value for number in range(LABELS)}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process (proc_pid_stat(5), fields 14 and 15, counted behind the name)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    run()
