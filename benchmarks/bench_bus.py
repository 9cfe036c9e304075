"""The validator as a process of its own on a real bus, with a resolver beside it: a warm check, and memory at rest.

Held against judging the same image in this process, which is what the bus and the service add their time to.
"""

import asyncio
import contextlib
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from aiohttp import web
from bench_detector import _bus, _memory, _proportional

from nodeworthy import verdicts
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.requests import NodesRequest, ResolveRequest, ValidateRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.validating import list_nodes, validate
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.verdicts import NodeFacts
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES

HOSTS = Path(__file__).parents[1] / "tests" / "data" / "hosts"
NAMES = Names("local")
NODES = 1000
CHECKS = 1000
SPEC = """
version: v1alpha1
compatibilities:
- weight: 5
  rules:
  - name: vectors
    matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX2: {op: Exists}, AES: {op: Exists}}}]
  - name: kernel
    matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["4"]}}}]
"""
SERVICE = """
import asyncio, importlib, sys
from nodeworthy.bus.connection_settings import ConnectionSettings
from pathlib import Path
name, url, *arguments = sys.argv[1:]
settings = importlib.import_module(f"nodeworthy_{name}.settings")
more = {}
if name == "detector":
    from nodeworthy.bus.snapshots import PublishingSettings
    node, root, renewal = arguments
    more = {"node": node, "host_root": Path(root), "publishing": PublishingSettings(renew_seconds=float(renewal))}
if name == "resolver":
    from nodeworthy_resolver.oci import RegistryAccess
    more = {"registries": RegistryAccess(plain_http=True)}
made = settings.Settings(bus=ConnectionSettings(servers=(url,), name=name), **more)
async def main():
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(importlib.import_module(f"nodeworthy_{name}.app").run(made, asyncio.Event(), ready))
        await ready.wait()
        print("ready", flush=True)
asyncio.run(main())
"""
"""A service as an image without the command line starts it."""


def run() -> None:
    """Start a bus and a registry, then measure."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as name, _bus(Path(name)) as bus:
        asyncio.run(_measure(bus.url))


async def _measure(url: str) -> None:
    machines = [discover(Host(folder / "root"), SOURCES) for folder in sorted(HOSTS.iterdir()) if folder.is_dir()]
    async with connect(ConnectionSettings(servers=(url,))) as connection, _registry() as image:
        store = Store(connection, NAMES)
        await ensure_streams(connection, define_streams(NAMES))
        async with _service("validator", url) as empty:
            print(f"validator at rest without nodes: {_memory_text(empty.pid)}")
        await _publish(store, machines)
        async with _service("resolver", url), _service("validator", url) as validator:
            await _measure_checks(connection, image, machines)
            print(f"validator at rest with {NODES} nodes of {len(machines)} profiles: {_memory_text(validator.pid)}")


async def _publish(store: Store, machines: list[Snapshot]) -> None:
    for number in range(NODES):
        machine = machines[number % len(machines)]
        own = {"system.name": FeatureSet(attributes={"nodename": f"node-{number}"})}
        snapshot = Snapshot({**machine.contents, **own}, machine.statuses, machine.catalogue, machine.sources)
        await SnapshotPublisher(store, Identity(f"node-{number}", DETECTOR, Session("boot", 1))).publish(snapshot)


async def _measure_checks(connection: Connection, image: str, machines: list[Snapshot]) -> None:
    knowledge = (await resolve(connection, NAMES, ResolveRequest(reference=image), seconds=10)).knowledge
    facts = NodeFacts.of(machines[0])

    async def alone() -> None:
        verdicts.judge(knowledge, facts)

    async def ask(**asked: Any) -> None:  # noqa: ANN401 # fields of a request
        await validate(connection, NAMES, ValidateRequest(image=image, **asked), seconds=10)

    await _time("judged in this process", alone)
    await _time("asked of nobody: a page of one node over the bus", lambda: _nodes(connection))
    await _time("one warm check of one node over the bus", lambda: ask(node="node-0"))
    await _time("one warm check of all nodes over the bus", lambda: ask(limit=0), checks=CHECKS // 10)
    begun = time.perf_counter()
    await asyncio.gather(*(ask(node=f"node-{number % NODES}") for number in range(CHECKS)))
    print(f"{CHECKS} checks of one node at once: {CHECKS / (time.perf_counter() - begun):.0f} a second")


async def _nodes(connection: Connection) -> None:
    await list_nodes(connection, NAMES, NodesRequest(nodes=("node-0",)), seconds=10)


async def _time(name: str, work: Callable[[], Coroutine[Any, Any, None]], *, checks: int = CHECKS) -> None:
    await work()
    taken = []
    for _ in range(checks):
        start = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - start)
    p50, p99 = statistics.median(taken), statistics.quantiles(taken, n=100)[98]
    print(f"{name:50} p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms of {checks}")


@contextlib.asynccontextmanager
async def _service(name: str, url: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    command = [sys.executable, "-c", SERVICE, name, url, *arguments]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        if await process.stdout.readline() != b"ready\n":
            sys.exit(f"error: the {name} did not start")
        yield process
    finally:
        process.kill()
        await process.wait()


def _memory_text(pid: int) -> str:
    return f"resident {_memory(pid):.1f} MB, PSS {_proportional(pid):.1f} MB"


@contextlib.asynccontextmanager
async def _registry() -> AsyncIterator[str]:
    """A registry of one image that declares something; it is asked once, all else comes from caches."""
    blobs: dict[str, tuple[bytes, str]] = {}

    def add(data: bytes, media_type: str) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        blobs[digest] = (data, media_type)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def manifest(document: dict[str, Any]) -> dict[str, Any]:
        kind = "application/vnd.oci.image.manifest.v1+json"
        return add(json.dumps({"schemaVersion": 2, "mediaType": kind, **document}).encode(), kind)

    config = add(b'{"os": "linux", "architecture": "amd64"}', "application/vnd.oci.image.config.v1+json")
    image = manifest({"config": config, "layers": []})
    layer = add(SPEC.encode(), "application/vnd.nfd.image-compatibility.spec.v1alpha1+yaml")
    empty = add(b"{}", "application/vnd.oci.empty.v1+json")
    kind = "application/vnd.nfd.image-compatibility.v1alpha1"
    artifact = manifest({"artifactType": kind, "subject": image, "config": empty, "layers": [layer]})
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
    referrers = json.dumps({**index, "manifests": [{**artifact, "artifactType": kind}]}).encode()

    async def answer(request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        if "/referrers/" in request.path:
            return web.Response(body=referrers, content_type=index["mediaType"])  # type: ignore[arg-type] # a text
        digest = image["digest"] if name == "1" else name
        if digest not in blobs:
            return web.Response(status=404)
        data, media_type = blobs[digest]
        return web.Response(body=data, content_type=media_type, headers={"Docker-Content-Digest": digest})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}/team/app:1"
    finally:
        await runner.cleanup()
