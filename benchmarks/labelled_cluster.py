"""A real API server with Nodes, a bus with their facts, and a labeler as a process of its own between them."""

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from bench_kubernetes_client import _cpu_seconds
from bench_rules import read_facts
from timing import ROOT

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import PartialObject
from nodeworthy.kubernetes.reflector import Complete, Put, Reflector
from nodeworthy.kubernetes.requests import Patch
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import WantedLabel, compile_chain, compile_policy, want_labels
from nodeworthy_labeler.cluster.rule_objects import RULES

sys.path.insert(0, str(ROOT))
from tests.kubernetes.cluster import Cluster  # the control plane that the tests start; found by the line above
from tests.kubernetes.counting import RequestKind

LABELS = 84
"""As NFD gave each Node when it was measured."""
RARE = 100
"""One of so many Nodes has what a rare rule asks for."""
EVERYWHERE, RARELY = "system.name", "bench.rare"
"""Sets that rules ask for."""
PREFIX = "feature.node.kubernetes.io/"
OF_KUBELET = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
OWN_LABEL = "bench.test/one"
OTHER_LABELS = len(OF_KUBELET) + len(("kubernetes.io/hostname", OWN_LABEL))
"""How many a Node has that the labeler did not give."""
_MOST_PATCHES = 1_000
_LABELER = """
import os, sys
from dataclasses import replace
from functools import partial
from nodeworthy import processes
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy_labeler.app import run
from nodeworthy_labeler.settings import read_settings

settings = replace(read_settings(os.environ), bus=ConnectionSettings(servers=(sys.argv[1],)))
processes.configure_logs()
processes.run_process([processes.Service("labeler", partial(run, settings))], on_ready=lambda: print("ready", flush=True))
"""

Predicate = Callable[[Mapping[str, str]], bool]
"""Of a Node's labels."""


class Labels:
    """The labels of all Nodes as a watch of our own tells them; the API server's work for it is lost in the noise."""

    def __init__(self, client: Client) -> None:
        self.known: dict[str, Mapping[str, str]] = {}
        self.is_complete = asyncio.Event()
        self._reflector = Reflector(client, requests.list_all(NODES, is_metadata=True))
        self._waiting: list[Callable[[str, Mapping[str, str]], None]] = []

    async def follow(self) -> None:
        """Follow them until cancelled."""
        async for change in self._reflector.changes():
            if isinstance(change, Put):
                labels = msgspec.json.decode(change.data, type=PartialObject).metadata.labels or {}
                self.known[change.key] = labels
                for note in tuple(self._waiting):
                    note(change.key, labels)
            elif isinstance(change, Complete):
                self.is_complete.set()

    async def wait(self, is_there: Predicate, nodes: Iterable[str] | None = None, count: int | None = None) -> float:
        """Wait until some Nodes have such labels, all or ``count`` of them; when it was."""
        missing = {name for name in (self.known if nodes is None else nodes) if not is_there(self.known.get(name, {}))}
        rest = 0 if count is None else len(self.known) - count
        done = asyncio.Event()

        def note(name: str, labels: Mapping[str, str]) -> None:
            if is_there(labels):
                missing.discard(name)
            if len(missing) <= rest:
                done.set()

        if len(missing) > rest:
            self._waiting.append(note)
            await done.wait()
            self._waiting.remove(note)
        return time.perf_counter()


class Floor(NamedTuple):
    """What one request for a Node costs, sixteen at a time, seconds for each."""

    cpu: float
    """Of the API server."""
    wall: float


class Bare(NamedTuple):
    """What the labeler's own requests cost when nobody else does anything."""

    start: Floor
    """All labels of a Node that has none of them."""
    rule: Floor
    """One label more."""


class Usage(NamedTuple):
    """What was used of the API server and the labeler until now."""

    wall: float
    server: float
    """Processor seconds."""
    labeler: float
    requests: Counter[RequestKind]
    stored: int
    """Bytes in etcd."""


class LabelledCluster:
    """The cluster, the bus, and what is put on them."""

    def __init__(self, cluster: Cluster, client: Client, store: Store, url: str, count: int) -> None:
        """``url`` is that of the bus, ``count`` the number of Nodes."""
        self.cluster = cluster
        self.labels = Labels(client)
        self.names = [f"bench-{number:05}" for number in range(count)]
        self.rare = self.names[::RARE]
        self.pid = 0
        """Of the labeler that runs, or did last."""
        self._client = client
        self.store = store
        self._url = url
        self._facts = make_facts()
        self._publishers: dict[str, SnapshotPublisher] = {}

    async def make_nodes(self) -> None:
        """All Nodes."""

        async def make(name: str) -> None:
            identity = Identity(name, DETECTOR, Session(f"boot of {name}", 1), await self.make_node(name))
            self._publishers[name] = SnapshotPublisher(self.store, identity)

        await in_parallel(self.names, make)

    async def make_node(self, name: str) -> str:
        """As a kubelet does, with labels from the first moment; the uid."""
        labels = {"kubernetes.io/hostname": name, OWN_LABEL: "first", **OF_KUBELET}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        request = requests.create(NODES, name, msgspec.json.encode(body), manager="kubelet")
        answer = await self._client.request(request)
        return msgspec.json.decode(answer.body, type=PartialObject).metadata.uid

    async def delete_nodes(self, names: Sequence[str]) -> dict[str, float]:
        """Delete Nodes; when each was."""
        deleted = {}

        async def delete(name: str) -> None:
            await self._client.request(requests.delete(NODES, name))
            deleted[name] = time.perf_counter()

        await in_parallel(names, delete)
        return deleted

    async def publish(self, name: str, **labels: str) -> None:
        """Say the facts of a Node, with labels of features.d."""
        shared = self._facts.contents
        own = {
            "system.name": FeatureSet(attributes={"nodename": name}),
            "network.device": FeatureSet(instances=({"name": "eth0", "mac": f"02:00:{name[-5:]}", "operstate": "up"},)),
            RARELY: FeatureSet(flags=frozenset({"yes"} if name in self.rare else ())),
            "local.label": FeatureSet(attributes={**(shared["local.label"].attributes or {}), **labels}),
        }
        contents = {**shared, **own}
        await self._publishers[name].publish(Snapshot(contents, catalogue=frozenset(contents)))

    async def publish_all(self) -> None:
        """Say the facts of all."""
        await in_parallel(self.names, self.publish)

    async def put_rule(self, name: str, value: str, feature: str) -> None:
        """Make or change a rule that gives a label of its own name where a set has what it asks for."""
        term = {"feature": feature, "matchName": {"op": "In", "value": ["yes", "nodename"]}}
        spec = {"rules": [{"name": "r", "labels": {name: value}, "matchFeatures": [term]}]}
        body = {"apiVersion": RULES.api_version, "kind": RULES.kind, "metadata": {"name": name}, "spec": spec}
        await self._client.request(requests.apply(RULES, name, msgspec.json.encode(body), manager="bench"))

    async def set_label(self, names: Sequence[str], value_of: Callable[[str], str]) -> None:
        """Give Nodes a label that is not the labeler's, which sees it and has nothing to do."""

        async def patch(name: str) -> None:
            body = msgspec.json.encode({"metadata": {"labels": {OWN_LABEL: value_of(name)}}})
            await self._client.request(requests.patch(NODES, name, body, Patch.MERGE, manager="bench"))

        await in_parallel(names, patch)

    async def measure_floor(self) -> Floor:
        """What a bare client and the API server need for one label of a Node, now. Nodes that were alike stay so."""
        value = f"at-{time.time():.0f}"
        return await self._measure(lambda names: self.set_label(names, lambda _: value))

    async def measure_bare(self) -> Bare:
        """What a bare client and the API server need for the requests that the labeler makes, and nothing else.

        They are made by another manager and before there is a labeler, and taken back in the end.
        """
        values = {key: wanted.value for key, wanted in _want(self._facts).items()}
        first = await self._measure_applies(values)
        more = await self._measure_applies({**values, f"{PREFIX}bare": "1"})
        await self._measure_applies({})
        return Bare(first, more)

    async def _measure_applies(self, labels: Mapping[str, str]) -> Floor:
        """Each Node is given these labels, and what this manager gave before goes."""

        async def apply(name: str) -> None:
            metadata = {"name": name, **({"labels": labels} if labels else {})}
            body = msgspec.json.encode({"apiVersion": NODES.api_version, "kind": NODES.kind, "metadata": metadata})
            await self._client.request(requests.apply(NODES, name, body, manager="bare").without_field_validation())

        return await self._measure(lambda names: in_parallel(names, apply))

    async def _measure(self, work: Callable[[Sequence[str]], Awaitable[None]]) -> Floor:
        names = self.names[:_MOST_PATCHES]
        server, start = _cpu_seconds(self.cluster.api_server.pid), time.perf_counter()
        await work(names)
        wall, server = time.perf_counter() - start, _cpu_seconds(self.cluster.api_server.pid) - server
        return Floor(server / len(names), wall / len(names))

    def read_usage(self, at: float | None = None) -> Usage:
        """What was used until now; reading it takes some hundredths of a second, so ``at`` is when that was, if known."""
        labeler = _cpu_seconds(self.pid) if self.pid else 0.0
        counted = self.cluster.count_requests()
        stored = self.cluster.read_store_bytes()
        wall = time.perf_counter() if at is None else at
        return Usage(wall, _cpu_seconds(self.cluster.api_server.pid), labeler, counted, stored)

    @contextlib.asynccontextmanager
    async def labeler(self) -> AsyncIterator[None]:
        """A labeler that is ready, with the limits that it has by default."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", _LABELER, self._url),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"NODEWORTHY_KUBECONFIG": str(self.cluster.kubeconfig), "PYTHONPATH": ":".join(sys.path)},
        )
        assert process.stdout is not None
        try:
            if await process.stdout.readline() != b"ready\n":
                sys.exit("error: the labeler did not start")
            self.pid = process.pid
            yield
        finally:
            self.pid = 0
            process.terminate()
            await process.wait()


def make_facts() -> Snapshot:
    """The oracle's node with so many flags of its processor that it gets 84 labels."""
    contents = dict(read_facts().contents)
    flags = sorted(flag for flag in contents["cpu.cpuid"].flags or () if not flag.startswith("EXT_"))
    while flags:
        contents["cpu.cpuid"] = FeatureSet(flags=frozenset(flags))
        facts = Snapshot(contents, catalogue=frozenset(contents))
        if len(_want(facts)) == LABELS:
            return facts
        flags.pop()
    sys.exit(f"error: the oracle's node has no {LABELS} labels")


def _want(facts: Snapshot) -> Mapping[str, WantedLabel]:
    return want_labels(facts, compile_policy(), compile_chain([])).labels


async def in_parallel(names: Iterable[str], work: Callable[[str], Awaitable[None]], *, most: int = 16) -> None:
    """Do something for each name, so many at a time."""
    rest = iter(names)

    async def go_on() -> None:
        for name in rest:
            await work(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(most):
            group.create_task(go_on(), name="bench")


@contextlib.asynccontextmanager
async def following(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Let something run meanwhile."""
    task = asyncio.create_task(work, name="follow")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def read_peak(pid: int) -> float:
    """The most that a process ever had resident, in MB (proc_pid_status(5), VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6
