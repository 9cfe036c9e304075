"""``nodeworthy resolver`` as a process: what it refuses, how it ends, and that a killed replica loses nobody's question."""

import asyncio
import base64
import json
import os
import secrets
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from aiohttp import web
from tests.web_serving import serve_web

from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.bus.requests import ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.errors import NodeworthyError
from nodeworthy_resolver.oci import digests
from nodeworthy_resolver.oci.manifests import IMAGE_CONFIG, IMAGE_MANIFEST

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats
    from tests.kubernetes.cluster import Cluster

END_SECONDS = 30
"""A bound; it takes half a second when nothing is wrong."""

CERTIFICATE = Path(__file__).parents[1] / "resolver" / "oci" / "localhost.pem"
"""Self-signed, for localhost, with its key."""

PROGRAM = """
import sys
from nodeworthy_cli import main
main.VERBS.setdefault("resolver", "")
sys.exit(main.main(["resolver", *sys.argv[1:]]))
"""


class Program:
    """A running ``nodeworthy resolver``; its log goes to a file."""

    def __init__(self, arguments: tuple[str, ...], log: Path, environment: Mapping[str, str]) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def ready(self) -> None:
        """Wait until it says that it is ready."""
        async with asyncio.timeout(END_SECONDS):
            while "resolver.ready" not in self.log:
                assert self.process.poll() is None, self.log
                await asyncio.sleep(0.02)

    def end(self) -> tuple[int, bytes]:
        """Wait for its end: the exit code, and what it printed."""
        output, _ = self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode, output


Start = Callable[..., Program]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start ``nodeworthy resolver`` with these arguments, and more variables."""
    started: list[Program] = []
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}

    def run(*arguments: str, **more: str) -> Program:
        started.append(Program(arguments, tmp_path / f"log{len(started)}", environment | more))
        return started[-1]

    yield run
    for program in started:
        program.process.kill()
        program.process.communicate()


@pytest.fixture
async def server(nats_server: "StartNats") -> "NatsServer":
    server = nats_server()
    async with connect(ConnectionSettings(servers=(server.url,))) as connection:
        await ensure_streams(connection, define_streams(Names()))
    return server


@pytest.fixture
async def asker(server: "NatsServer") -> AsyncIterator[Connection]:
    async with connect(ConnectionSettings(servers=(server.url,))) as connection:
        yield connection


@asynccontextmanager
async def slow_registry(context: ssl.SSLContext | None = None, login: str = "") -> AsyncIterator[str]:
    """``127.0.0.1:PORT`` of a registry in which every tag is one image; each answer takes a moment.

    Behind TLS it is called localhost, as its certificate says; with a ``login`` it is for whoever shows that.
    """
    config = b'{"os": "linux", "architecture": "amd64"}'
    descriptor = {"mediaType": IMAGE_CONFIG, "digest": digests.compute(config), "size": len(config)}
    manifest = json.dumps({"schemaVersion": 2, "config": descriptor, "layers": []}).encode()
    headers = {"Docker-Content-Digest": digests.compute(manifest), "Content-Type": IMAGE_MANIFEST}

    async def answer(request: web.Request) -> web.Response:
        await asyncio.sleep(0.02)
        if login and request.headers.get("Authorization") != login:
            return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
        if "/blobs/" in request.path:
            return web.Response(body=config)
        is_image = "/manifests/v" in request.path or request.path.endswith(digests.compute(manifest))
        is_listed = "/referrers/" in request.path or not is_image
        return web.Response(status=404) if is_listed else web.Response(body=manifest, headers=headers)

    async with serve_web(answer, context=context) as port:
        yield f"{'localhost' if context else '127.0.0.1'}:{port}"


async def test_a_replica_that_is_killed_under_load_loses_nobodys_question(
    start: Start, server: "NatsServer", asker: Connection
) -> None:
    replicas = [start("--server", server.url, "--plain-http") for _ in range(2)]
    for replica in replicas:
        await replica.ready()
    answered = 0

    async def ask(number: int) -> str:
        nonlocal answered
        request = ResolveRequest(reference=f"{host}/team/app:v{number % 60}")
        reply = await resolve(asker, Names(), request, seconds=30, try_seconds=1)
        answered += 1
        if answered == 50:
            replicas[0].process.kill()
        return reply.knowledge.digest

    async with slow_registry() as host, asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(number)) for number in range(300)]
    assert len({task.result() for task in tasks}) == 1
    assert replicas[0].end()[0] == -signal.SIGKILL
    assert replicas[1].process.poll() is None


async def test_a_signal_ends_it_cleanly(start: Start, server: "NatsServer") -> None:
    program = start("--server", server.url)
    await program.ready()
    program.process.send_signal(signal.SIGTERM)
    assert program.end() == (0, b"")
    assert "Traceback" not in program.log


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cluster", "No Name"), "is no name of a cluster"),
        ((), "no bus is known for cluster local"),
        (("--server", "nats://127.0.0.1:1", "--tag-seconds", "-1"), "tag-seconds"),
        (("--server", "nats://127.0.0.1:1", "--ca-file", "/nowhere.pem"), "/nowhere.pem cannot be read"),
        (("--server", "nats://127.0.0.1:1", "--registry-config", "/nowhere.json"), "/nowhere.json cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_in_three_parts(arguments: tuple[str, ...], message: str, start: Start) -> None:
    program = start(*arguments)
    assert program.end() == (2, b"")
    assert message in program.log
    assert "Traceback" not in program.log


class Answers(Protocol):
    """What a resolver that is started with these arguments says of each image: how many it is, or why it is not known."""

    async def __call__(self, images: Sequence[str], *arguments: str, **environment: str) -> list[str]: ...


@pytest.fixture
def answers(start: Start, server: "NatsServer", asker: Connection) -> Answers:
    """Starts resolvers, one for each call."""

    async def ask(image: str) -> str:
        try:
            found = await resolve(asker, Names(), ResolveRequest(reference=image), seconds=20)
        except NodeworthyError as error:
            return str(error)
        return f"{len(found.knowledge.images)} image"

    async def run(images: Sequence[str], *arguments: str, **environment: str) -> list[str]:
        await start("--server", server.url, *arguments, **environment).ready()
        return [await ask(image) for image in images]

    return run


async def test_a_folder_of_hosts_names_the_mirror_that_is_asked(answers: Answers, tmp_path: Path) -> None:
    folder = tmp_path / "certs.d" / "registry.invalid"
    folder.mkdir(parents=True)
    async with slow_registry() as host:
        (folder / "hosts.toml").write_text(f'server = "http://{host}"\n')
        images = ("registry.invalid/team/app:v1", "other.invalid/team/app:v1")
        said = await answers(images, "--hosts-dir", str(folder.parent))
    assert said[0] == "1 image"
    assert "other.invalid is not known" in said[1]


async def test_with_a_list_only_the_hosts_on_it_are_asked(answers: Answers) -> None:
    async with slow_registry() as host:
        images = (f"{host}/team/app:v1", "elsewhere.example/team/app:v1")
        said = await answers(images, "--plain-http-host", host, "--allow-host", host)
    assert said[0] == "1 image"
    assert "not on the list" in said[1]


async def test_private_addresses_are_asked_only_where_that_is_allowed(answers: Answers) -> None:
    async with slow_registry() as host, slow_registry() as other:
        images = (f"{host}/team/app:v1", f"{other}/team/app:v1")
        said = await answers(images, "--plain-http", "--no-allow-private", "--private-host", host)
    assert said[0] == "1 image"
    assert "its address is private" in said[1]


async def test_a_certificate_authority_that_is_named_is_trusted(answers: Answers) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    async with slow_registry(context) as host:
        said = await answers([f"{host}/team/app:v1"], "--no-plain-http", "--ca-file", str(CERTIFICATE))
    assert said == ["1 image"]


LOGIN = {"username": "me", "password": "mine"}
SHOWN = f"Basic {base64.b64encode(b'me:mine').decode()}"


async def test_a_file_of_credentials_that_is_named_counts(answers: Answers, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    async with slow_registry(login=SHOWN) as host, slow_registry(login=SHOWN) as other:
        config.write_text(json.dumps({"auths": {host: LOGIN}}))
        images = (f"{host}/team/app:v1", f"{other}/team/app:v1")
        said = await answers(images, "--plain-http", "--registry-config", str(config))
    assert said[0] == "1 image"
    assert "401" in said[1]


async def test_the_pull_secrets_of_a_namespace_that_is_named_are_used(answers: Answers, cluster: "Cluster") -> None:
    namespace = f"pull-{secrets.token_hex(4)}"
    cluster.create_namespace(namespace)
    async with slow_registry(login=SHOWN) as host:
        data = base64.b64encode(json.dumps({"auths": {host: LOGIN}}).encode()).decode()
        kind = "kubernetes.io/dockerconfigjson"
        secret = {"metadata": {"name": "pull"}, "type": kind, "data": {".dockerconfigjson": data}}
        cluster.admin.must("POST", f"/api/v1/namespaces/{namespace}/secrets", secret)
        options = ("--plain-http", "--pull-secrets", namespace)
        said = await answers([f"{host}/team/app:v1"], *options, KUBECONFIG=str(cluster.kubeconfig))
    assert said == ["1 image"]


def test_options_stand_above_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    from nodeworthy_cli.bus_options import BusOptions
    from nodeworthy_cli.resolver import make_settings

    monkeypatch.setenv("NODEWORTHY_TAG_SECONDS", "10")
    monkeypatch.setenv("NODEWORTHY_SEARCH_SECONDS", "100")
    given = {
        "tag_seconds": 20.0,
        "search_seconds": None,
        "allow_attach": True,
        "plain_http": False,
        "plain_http_hosts": ("one:5000", "two"),
        "http_port": 0,
    }
    settings = make_settings(BusOptions(server="nats://bus:4222", cluster="lab"), given)
    assert (settings.lifetimes.tag, settings.lifetimes.found) == (20, 100)
    assert settings.allow_attach
    assert settings.registries.plain_http is False
    assert settings.registries.plain_http_hosts == ("one:5000", "two")
    assert settings.http_port == 0
    assert (settings.cluster, settings.bus.servers) == ("lab", ("nats://bus:4222",))
