"""The command line as a user runs it: the installed program, in an empty folder, with a home of its own."""

import contextlib
import dataclasses
import os
import select
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import msgspec
import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "nodeworthy"

Done = subprocess.CompletedProcess[str]


class Nodeworthy(Protocol):
    """Run ``nodeworthy`` with these arguments; what it prints and its exit code."""

    def __call__(self, *arguments: str | Path, input: str | None = None, code: int | None = None) -> Done: ...  # noqa: A002 # as subprocess


@pytest.fixture
def nodeworthy(tmp_path: Path) -> Nodeworthy:
    home = tmp_path / "home"
    home.mkdir()
    keep = ("PATH", "LANG", "VIRTUAL_ENV")
    environment = {**{k: v for k, v in os.environ.items() if k in keep}, "HOME": str(home)}

    def run(*arguments: str | Path, input: str | None = None, code: int | None = None) -> Done:  # noqa: A002 # as subprocess
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        if code is not None:
            assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """The program of examples/ that builds images."""
    return load(ROOT / "examples" / "build_images.py")


@pytest.fixture
def layout(tmp_path: Path, builder: ModuleType) -> Callable[..., str]:
    """Build ``oci:NAME`` in the test's folder, an image for one architecture or an index for several."""

    def build(name: str, *architectures: str) -> str:
        made = builder.Layout(tmp_path / name)
        images = [(made.add_image(f"{name} {a}\n", a), a) for a in architectures or ("amd64",)]
        if len(images) == 1:
            made.finish(images[0][0], "latest")
            return f"oci:{name}"
        children = [{**image, "platform": {"os": "linux", "architecture": a}} for image, a in images]
        media_type = "application/vnd.oci.image.index.v1+json"
        index = {"schemaVersion": 2, "mediaType": media_type, "manifests": children}
        made.finish(made.add(media_type, msgspec.json.encode(index)), "latest")
        return f"oci:{name}"

    return build


Reply = tuple[int, Mapping[str, str], bytes]


@pytest.fixture
def broken_registry() -> Iterator[Callable[[Callable[[str], Reply]], str]]:
    """Start a server on this machine that answers each path as the test says; gives its ``host:port``."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answer: Callable[[str], Reply]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answer(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 # the name that http.server looks up

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"127.0.0.1:{server.server_address[1]}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


PASSWORD = "correct-horse-battery-staple"


@dataclasses.dataclass(frozen=True)
class FactsBus:
    """A bus with a user for people, and its streams; what is on it is put there by the test."""

    server: "NatsServer"
    store: Store

    @property
    def options(self) -> tuple[str, ...]:
        """The options of a person's verbs."""
        return ("--server", self.server.url, "--user", "reader", "--password", PASSWORD)

    def publisher(self, node: str, *, start: int = 1) -> SnapshotPublisher:
        """The detector of a node; one with a later start is a later run of it."""
        return SnapshotPublisher(self.store, Identity(node, DETECTOR, Session("boot-1", start)))

    async def make_streams(self) -> None:
        await ensure_streams(self.store.connection, define_streams(self.store.names))


@pytest.fixture
async def facts_bus(nats_server: "StartNats") -> AsyncIterator[FactsBus]:
    names = Names("local")
    people = [permissions.reader(names), permissions.operator(names)]
    users = [permissions.admin(), *people, permissions.detector(names, "n1")]
    passwords = {user.name: PASSWORD for user in users}
    server = nats_server({"accounts": describe_accounts(names, users, passwords)})
    settings = ConnectionSettings(
        servers=(server.url,),
        user="admin",
        password=PASSWORD,
        inbox_prefix=users[0].inbox_prefix,
        reconnect_seconds=0.05,
        reconnect_most_seconds=0.1,
    )
    async with connect(settings) as connection:
        made = FactsBus(server, Store(connection, names))
        await made.make_streams()
        yield made


Verb = Callable[..., Done]


@pytest.fixture
def verb(tmp_path: Path) -> Verb:
    """Run a verb that the program may not list yet, to its end; gives what it printed, and checks its exit code."""

    def run(*arguments: str, code: int = 0, **environment: str) -> Done:
        done = subprocess.run(
            verb_command(*arguments),
            cwd=tmp_path,
            env=verb_environment(tmp_path) | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


StartVerb = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_verb(tmp_path: Path) -> Iterator[StartVerb]:
    """Start a verb that goes on until it is told to stop."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            verb_command(*arguments),
            cwd=tmp_path,
            env=verb_environment(tmp_path) | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def verb_command(verb: str, *arguments: str) -> list[str]:
    program = f"import sys; from nodeworthy_cli import main; main.VERBS.setdefault({verb!r}, '')"
    return [sys.executable, "-c", f"{program}; sys.exit(main.main(sys.argv[1:]))", verb, *arguments]


def verb_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}


ReadUntil = Callable[["subprocess.Popen[str]", str], str]


@pytest.fixture
def read_until() -> ReadUntil:
    """Read a process's standard error until a text is in it; gives that line."""

    def read(process: "subprocess.Popen[str]", text: str) -> str:
        assert process.stderr
        seen = []
        with contextlib.suppress(ValueError):
            while select.select([process.stderr], [], [], 30)[0]:
                line = process.stderr.readline()
                seen.append(line)
                if text in line:
                    return line
                if not line:
                    break
        pytest.fail(f"no {text!r} in {seen!r}", pytrace=False)

    return read
