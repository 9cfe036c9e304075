"""The resolver as processes of its own on a real bus: warm answers, many images that nobody knows yet, a crowd for one.

The registry counts what it is asked. It serves each image by name, with a specification or without one, and lists what is
attached as registries with the referrers API do or by the fallback tag; the counts are what real ones would see.
"""

import asyncio
import hashlib
import json
import statistics
import tempfile
import time
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web
from bench_bus import _service
from bench_detector import _bus, _memory

from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.requests import ResolveReply, ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE
from nodeworthy_resolver.oci.attachment import build_manifest
from nodeworthy_resolver.oci.manifests import EMPTY, IMAGE_CONFIG, IMAGE_INDEX, IMAGE_MANIFEST, Descriptor

NAMES = Names("local")
IMAGES = 1000
WARM = 1000
CROWD = 200
PARALLEL = 32
"""Questions under way at once: what the validators of a cluster ask after a start."""
SPEC = b"version: v1alpha1\ncompatibilities:\n- rules:\n  - name: any\n    matchFeatures: []\n"


class Registry:
    """Images ``/team/NUMBER:1``, each with an artifact of its own where ``is_declared``."""

    def __init__(self, *, has_api: bool, is_declared: bool) -> None:
        self._has_api = has_api
        self._is_declared = is_declared
        self._contents: dict[str, tuple[bytes, str]] = {}
        self._listings: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        """Requests by repository."""
        self.paths: Counter[str] = Counter()

    def add(self, repository: str) -> None:
        """Make an image."""
        said = {"os": "linux", "architecture": "amd64", "config": {"Env": [f"NAME={repository}"]}}
        config = self._keep(json.dumps(said).encode(), IMAGE_CONFIG)
        body = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": _entry(config), "layers": []}
        image = self._keep(json.dumps(body).encode(), IMAGE_MANIFEST)
        self._contents[f"{repository}:1"] = self._contents[image.digest]
        listed = []
        if self._is_declared:
            listed = [_entry(self._attach(image)) | {"artifactType": ARTIFACT_TYPE}]
        index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": listed}
        self._listings[image.digest] = json.dumps(index).encode()
        if self._is_declared and not self._has_api:
            self._contents[f"{repository}:{image.digest.replace(':', '-')}"] = self._listings[image.digest], IMAGE_INDEX

    def _attach(self, image: Descriptor) -> Descriptor:
        layer = self._keep(SPEC, SPEC_MEDIA_TYPE)
        layer = Descriptor(
            media_type=SPEC_MEDIA_TYPE, digest=layer.digest, size=layer.size, data=b64encode(SPEC).decode()
        )
        empty = self._keep(b"{}", EMPTY)
        return self._keep(build_manifest(image, empty, layer, datetime(2026, 1, 1, tzinfo=UTC)), IMAGE_MANIFEST)

    def _keep(self, data: bytes, media_type: str) -> Descriptor:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._contents[digest] = data, media_type
        return Descriptor(media_type=media_type, digest=digest, size=len(data))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Count the request and answer it."""
        _, _, team, name, kind, target = request.path.split("/", 5)
        self.asked[f"{team}/{name}"] += 1
        self.paths[f"{request.method} {request.path}"] += 1
        if kind == "referrers":
            found = (self._listings[target], IMAGE_INDEX) if self._has_api else None
        else:
            found = self._contents.get(target) or self._contents.get(f"{team}/{name}:{target}")
        if found is None:
            return web.Response(status=404)
        data, media_type = found
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        return web.Response(body=data, headers={"Content-Type": media_type, "Docker-Content-Digest": digest})


def _entry(descriptor: Descriptor) -> dict[str, object]:
    return {"mediaType": descriptor.media_type, "digest": descriptor.digest, "size": descriptor.size}


def run() -> None:
    """Warm answers, a crowd, and then cold images of each kind; a registry that was asked too much ends the benchmark."""
    asyncio.run(measure_warm())
    for has_api in (True, False):
        for is_declared in (True, False):
            asyncio.run(measure_cold(has_api=has_api, is_declared=is_declared))


@asynccontextmanager
async def serve(registry: Registry) -> AsyncIterator[str]:
    """A registry on a free port; its ``HOST:PORT``."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", registry.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def measure_warm() -> None:
    """One asker after the other for an image that is known, then a crowd for one that nobody knows, at two resolvers."""
    registry = Registry(has_api=True, is_declared=True)
    for name in ("team/warm", "team/crowd"):
        registry.add(name)
    with tempfile.TemporaryDirectory() as folder, _bus(Path(folder)) as bus:
        async with serve(registry) as host, connect(_settings(bus.url)) as asker:
            await ensure_streams(asker, define_streams(NAMES))
            async with _service("resolver", bus.url), _service("resolver", bus.url):
                warm = ResolveRequest(reference=f"{host}/team/warm:1")
                await resolve(asker, NAMES, warm, seconds=10)
                store = Store(asker, NAMES)
                bare = await _take(lambda: store.get(Bucket.IMAGES, "nothing"))
                taken = await _take(lambda: resolve(asker, NAMES, warm, seconds=10))
                print(
                    f"one read of a bucket, of which a warm answer needs three: p50 {bare[49]:.2f} ms, p99 {bare[98]:.2f} ms"
                )
                print(f"a warm answer over the bus: p50 {taken[49]:.2f} ms, p99 {taken[98]:.2f} ms of {WARM}")
                crowd = ResolveRequest(reference=f"{host}/team/crowd:1")
                start = time.perf_counter()
                await asyncio.gather(*(resolve(asker, NAMES, crowd, seconds=30) for _ in range(CROWD)))
                wall = time.perf_counter() - start
                most = max(count for path, count in registry.paths.items() if "/team/crowd/" in path)
                asked = registry.asked["team/crowd"]
                print(f"{CROWD} askers of one new image at two resolvers: {asked} requests in {wall * 1e3:.0f} ms")
                assert most == 1, "something was asked twice"


async def _take(work: Callable[[], Awaitable[object]]) -> list[float]:
    """Quantiles of milliseconds."""
    taken = []
    for _ in range(WARM):
        start = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.quantiles(taken, n=100)


async def measure_cold(*, has_api: bool, is_declared: bool) -> None:
    """Distinct images that nobody knows, :data:`PARALLEL` at a time."""
    registry = Registry(has_api=has_api, is_declared=is_declared)
    names = [f"team/{number}" for number in range(IMAGES)]
    for name in names:
        registry.add(name)
    with tempfile.TemporaryDirectory() as folder, _bus(Path(folder)) as bus:
        async with serve(registry) as host, connect(_settings(bus.url)) as asker:
            await ensure_streams(asker, define_streams(NAMES))
            async with _service("resolver", bus.url) as process:
                before = _memory(process.pid)
                places = asyncio.Semaphore(PARALLEL)

                async def ask(name: str) -> ResolveReply:
                    async with places:
                        request = ResolveRequest(reference=f"{host}/{name}:1")
                        return await resolve(asker, NAMES, request, seconds=60)

                start = time.perf_counter()
                replies = await asyncio.gather(*map(ask, names))
                wall = time.perf_counter() - start
                after = _memory(process.pid)
    states = {reply.knowledge.images[0].search.state for reply in replies if reply.knowledge.images[0].search}
    assert states == {"found" if is_declared else "none"}, states
    mean, most = sum(registry.asked.values()) / IMAGES, max(registry.asked.values())
    kind = f"{'with' if is_declared else 'without'} a specification, {'referrers API' if has_api else 'fallback tag'}"
    print(
        f"{IMAGES} new images {kind}: {IMAGES / wall:.0f} a second, {mean:.2f} requests each (most {most}), "
        f"resident {before:.0f} -> {after:.0f} MB"
    )
    assert mean <= 4 + PARALLEL / IMAGES, "aim: 4, and once more for who finds no referrers API"


def _settings(url: str) -> ConnectionSettings:
    return ConnectionSettings(servers=(url,), name="asker")


if __name__ == "__main__":
    run()
