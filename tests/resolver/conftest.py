"""Images to test with, and a registry that misbehaves on demand.

The registry is a real HTTP server on a free port of this machine. Left alone it behaves as registries without the
referrers API do; a test scripts answers for single paths in front of that, and reads afterwards what was asked.
"""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from aiohttp import web
from tests.web_serving import serve_web

from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.images import ARTIFACT_TYPE, SPEC_MEDIA_TYPE
from nodeworthy_resolver.oci import RegistryAccess
from nodeworthy_resolver.oci import digests as content_digests
from nodeworthy_resolver.oci.manifests import EMPTY, IMAGE_CONFIG, IMAGE_INDEX, IMAGE_MANIFEST
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from tests.conftest import StartNats

SPEC = b"version: v1alpha1\ncompatibilities:\n- rules:\n  - name: any\n    matchFeatures: []\n"
CREATED = "org.opencontainers.image.created"

Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Builder:
    """Makes images and artifacts, and holds their bytes by digest."""

    spec = SPEC

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, Content] = {}

    def blob(self, data: bytes, media_type: str, **more: Any) -> dict[str, Any]:
        """The descriptor of a blob that is now held."""
        digest = content_digests.compute(data)
        self.blobs[digest] = data
        return {"mediaType": media_type, "digest": digest, "size": len(data)} | more

    def document(self, document: Mapping[str, Any], media_type: str = IMAGE_MANIFEST) -> Content:
        """Any manifest or index, held as it is."""
        data = json.dumps({"schemaVersion": 2, "mediaType": media_type} | dict(document)).encode()
        content = Content(data, media_type, content_digests.compute(data))
        self.manifests[content.digest] = content
        return content

    def image(self, platform: str = "linux/amd64", *, environment: tuple[str, ...] = (), **config: Any) -> Content:
        """A runnable image of a platform; one layer, which nobody reads."""
        os, architecture, variant = (*platform.split("/"), "")[:3]
        said = {"os": os, "architecture": architecture, "config": {"Env": list(environment)}}
        said |= ({"variant": variant} if variant else {}) | config
        layer = self.blob(platform.encode(), "application/vnd.oci.image.layer.v1.tar")
        return self.document({"config": self.blob(json.dumps(said).encode(), IMAGE_CONFIG), "layers": [layer]})

    def index(self, *children: tuple[Content, str], more: tuple[dict[str, Any], ...] = ()) -> Content:
        """An index of images and what it claims of their platforms; an empty text claims nothing."""
        entries = [self.entry(child, **self._platform(platform)) for child, platform in children]
        return self.document({"manifests": [*entries, *more]}, IMAGE_INDEX)

    def _platform(self, platform: str) -> dict[str, Any]:
        if not platform:
            return {}
        os, architecture, variant = (*platform.split("/"), "")[:3]
        return {
            "platform": {"os": os, "architecture": architecture} | ({"variant": variant} if variant else {}),
        }

    def entry(self, content: Content, **more: Any) -> dict[str, Any]:
        """What an index says of a manifest."""
        return {"mediaType": content.media_type, "digest": content.digest, "size": len(content.data)} | more

    def artifact(
        self,
        subject: Content,
        spec: bytes = SPEC,
        *,
        created: str | None = "2026-01-01T00:00:00Z",
        artifact_type: str | None = ARTIFACT_TYPE,
        **more: Any,
    ) -> Content:
        """An artifact as NFD's documentation and ours make it; ``more`` replaces fields."""
        document: dict[str, Any] = {
            "config": self.blob(b"{}", EMPTY),
            "layers": [self.blob(spec, SPEC_MEDIA_TYPE)],
            "subject": self.entry(subject),
        }
        document |= {"artifactType": artifact_type} if artifact_type else {}
        document |= {"annotations": {CREATED: created}} if created is not None else {}
        return self.document(document | more)

    def listing(self, *artifacts: Content, typed: bool = True) -> Content:
        """A list of referrers, as the API and the fallback tag have it."""
        entries = []
        for artifact in artifacts:
            said = json.loads(artifact.data)
            kept = {key: said[key] for key in ("annotations", "artifactType") if key in said and typed}
            entries.append(self.entry(artifact, **kept))
        return self.document({"manifests": entries}, IMAGE_INDEX)

    def write_layout(self, folder: Path, *entries: dict[str, Any]) -> Path:
        """A folder with everything that is held, and an index of these entries."""
        for digest, data in self.blobs.items() | {(name, one.data) for name, one in self.manifests.items()}:
            path = folder / "blobs" / digest.replace(":", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": list(entries)}
        (folder / "index.json").write_text(json.dumps(index))
        return folder

    def tagged(self, content: Content, tag: str) -> dict[str, Any]:
        """An entry of a layout folder's index with a tag."""
        return self.entry(content, annotations={"org.opencontainers.image.ref.name": tag})


@dataclass(frozen=True)
class Seen:
    """One request that arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass
class FaultyRegistry:
    """A registry that does what a test scripted, and otherwise what distribution does, without a login."""

    builder: Builder
    host: str = ""
    tags: dict[str, Content] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    scripts: dict[tuple[str, str], list[Responder]] = field(default_factory=dict)
    listings: dict[str, Content] = field(default_factory=dict)
    """Answers of the referrers API by subject; empty: there is no such API."""
    guard: Callable[[web.Request], web.Response | None] | None = None
    """Looks at every request first; what it returns is the answer."""

    @property
    def name(self) -> str:
        """The image that tests ask for."""
        return f"{self.host}/team/app:v1"

    def script(self, method: str, path: str, *responders: Responder, always: bool = False) -> None:
        """Answer the next requests for ``/v2/team/app/`` + path, or for a path from the root, by these; then as usual."""
        full = path if path.startswith("/") else f"/v2/team/app/{path}"
        self.scripts[method, full] = list(responders) * (1000 if always else 1)

    def asked(self, method: str, part: str) -> list[Seen]:
        """The requests whose path holds a part."""
        return [one for one in self.seen if one.method == method and part in one.path]

    def attach(self, subject: Content, **artifact: Any) -> Content:
        """Attach an artifact, listed by the fallback tag in the place of any other."""
        made = self.builder.artifact(subject, **artifact)
        self.tags[content_digests.fallback_tag(subject.digest)] = self.builder.listing(made)
        return made

    def take_down(self) -> None:
        """Be there and serve nobody."""
        self.guard = lambda _: web.Response(status=503)

    def token_guard(self, realm: str, service: str = "test") -> None:
        """Let in who shows a token for the very repository, ``Bearer token-SCOPE-...``, as ``token_server`` gives them."""

        def guard(request: web.Request) -> web.Response | None:
            repository = "/".join(request.path.split("/")[2:4])
            actions = "pull" if request.method in {"GET", "HEAD"} else "pull,push"
            scope = f"repository:{repository}:{actions}"
            if request.headers.get("Authorization", "").startswith(f"Bearer token-{scope}-"):
                return None
            challenge = f'Bearer realm="{realm}",service="{service}",scope="{scope}"'
            return problem(401, "UNAUTHORIZED", "authentication required", **{"WWW-Authenticate": challenge})

        self.guard = guard

    def token_server(self, lifetime: int | None = 300) -> str:
        """Give a new token at each request for ``/token``; the address to ask."""

        async def give(request: web.Request) -> web.StreamResponse:
            form = await request.post()
            scope = request.query.get("scope") or str(form.get("scope"))
            number = len(self.asked(request.method, "/token"))
            said = {"token": f"token-{scope}-{number}"} | ({"expires_in": lifetime} if lifetime else {})
            return web.json_response(said)

        for method in ("GET", "POST"):
            self.script(method, "/token", give, always=True)
        return f"http://{self.host}/token"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Record the request and answer it."""
        body = await request.read()
        self.seen.append(Seen(request.method, request.path, dict(request.query), dict(request.headers), body))
        if self.guard is not None and (refused := self.guard(request)) is not None:
            return refused
        waiting = self.scripts.get((request.method, request.path))
        if waiting:
            return await waiting.pop(0)(request)
        return self._usual(request, body)

    def _usual(self, request: web.Request, body: bytes) -> web.Response:
        kind, _, name = request.path.removeprefix("/v2/team/").partition("/")[2].partition("/")
        if kind == "manifests":
            return self._manifest(request, name, body)
        if kind == "blobs":
            return self._blob(request, name, body)
        if kind == "referrers" and name in self.listings:
            return web.Response(body=self.listings[name].data, content_type=IMAGE_INDEX)
        return web.Response(status=404)

    def _manifest(self, request: web.Request, name: str, body: bytes) -> web.Response:
        if request.method == "PUT":
            content = Content(body, request.headers["Content-Type"], content_digests.compute(body))
            self.builder.manifests[content.digest] = self.tags[name] = content
            return web.Response(status=201)
        found = self.tags.get(name) or self.builder.manifests.get(name)
        if found is None:
            return problem(404, "MANIFEST_UNKNOWN", "manifest unknown")
        return manifest_response(found)

    def _blob(self, request: web.Request, name: str, body: bytes) -> web.Response:
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": "/v2/team/app/blobs/uploads/1?state=a%2Fb"})
        if request.method == "PUT":
            self.builder.blobs[request.query["digest"]] = body
            return web.Response(status=201)
        data = self.builder.blobs.get(name)
        return web.Response(status=404) if data is None else web.Response(body=data)


def manifest_response(content: Content, **headers: str) -> web.Response:
    """A manifest as a registry sends it."""
    said = {"Docker-Content-Digest": content.digest, "Content-Type": content.media_type} | headers
    return web.Response(body=content.data, headers=said)


def problem(status: int, code: str = "", message: str = "", **headers: str) -> web.Response:
    """A refusal as a registry sends it."""
    return web.json_response({"errors": [{"code": code, "message": message}]}, status=status, headers=headers)


class Reply(Protocol):
    """Makes a responder that gives one answer; ``Retry_After=1`` is the header Retry-After."""

    def __call__(self, status: int = 200, body: bytes = b"", /, **headers: str) -> Responder: ...


@pytest.fixture
def reply() -> Reply:
    """Makes scripted answers."""

    def make(status: int = 200, body: bytes = b"", /, **headers: str) -> Responder:
        async def respond(_: web.Request) -> web.StreamResponse:
            said = {name.replace("_", "-"): value for name, value in headers.items()}
            return web.Response(status=status, body=body, headers=said)

        return respond

    return make


@pytest.fixture
def build() -> Builder:
    """Makes images."""
    return Builder()


@asynccontextmanager
async def serve(registry: FaultyRegistry, context: ssl.SSLContext | None = None) -> AsyncIterator[FaultyRegistry]:
    """Run a registry on a free port; behind TLS it is called localhost, as its certificate says."""
    async with serve_web(registry.answer, context=context) as port:
        registry.host = f"{'localhost' if context else '127.0.0.1'}:{port}"
        yield registry


class Serve(Protocol):
    """Runs a registry that misbehaves as the test says."""

    def __call__(self, context: ssl.SSLContext | None = None) -> AbstractAsyncContextManager[FaultyRegistry]: ...


@pytest.fixture
def serve_faulty(build: Builder) -> Serve:
    """Runs registries over the builder's images."""
    return lambda context=None: serve(FaultyRegistry(build), context)


@pytest.fixture
async def faulty(build: Builder) -> AsyncIterator[FaultyRegistry]:
    """A registry that misbehaves as the test says."""
    async with serve(FaultyRegistry(build)) as registry:
        yield registry


@pytest.fixture
async def other_host(build: Builder) -> AsyncIterator[FaultyRegistry]:
    """Another server, for redirects and tokens."""
    async with serve(FaultyRegistry(build)) as registry:
        yield registry


@dataclass
class Waits:
    """How long the client would have waited; it goes on at once."""

    seconds: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Take the place of ``asyncio.sleep``."""
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    """The client's waits."""
    return Waits()


@dataclass
class Clock:
    """A clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The clock by which tokens expire."""
    return Clock()


class OpenClient(Protocol):
    """Opens a client of plain HTTP; fields of its access may be given."""

    def __call__(self, **access: Any) -> RegistryClient: ...


@pytest.fixture
def open_client(waits: Waits, clock: Clock) -> OpenClient:
    """Clients that do not wait, whose jitter is fixed, and for whose tokens the test's clock counts."""

    def make(**access: Any) -> RegistryClient:
        settings = replace(RegistryAccess(plain_http=True), **access)
        return RegistryClient(settings, sleep=waits.sleep, jitter=lambda: 1.0, clock=clock)

    return make


@pytest.fixture
async def bus(nats_server: "StartNats") -> AsyncIterator[Store]:
    """A bus of its own for each test."""
    async with connect(ConnectionSettings(servers=(nats_server().url,))) as connection:
        await ensure_streams(connection, define_streams(Names()))
        yield Store(connection, Names())
