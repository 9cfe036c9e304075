"""Fixtures that every test may ask for: real registries with the stock client that talks to them, and a real nats-server.

Those of a real Kubernetes control plane stand in tests/kubernetes/fixtures.py.

The programs are those of tests/servers, built at the first test that asks for one and kept outside the tree. A fresh server
is started for each test: it takes milliseconds, and no test sees what another one pushed. What tests need by name for their
annotations (``Oras``, ``SecuredRegistry``) is imported from here under ``TYPE_CHECKING`` only.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import hypothesis
import pytest

# A busy machine is no defect: times are measured in benchmarks, and an example that never ends is seen anyway.
hypothesis.settings.register_profile("nodeworthy", deadline=None)
hypothesis.settings.load_profile("nodeworthy")

pytest_plugins = ("tests.kubernetes.fixtures",)

BUILD = Path(__file__).parent / "servers" / "build.py"
START_SECONDS = 20
"""A server needs 0.3 s at worst on an idle machine (it makes an RSA key); the rest is for a machine that is busy."""
STOP_SECONDS = 5
"""A server ends at once when its standard input is closed; one that does not is stopped harder, and the test fails."""
CLIENT_SECONDS = 60
"""A bound for one call of a stock client, which waits for ever by itself."""


@dataclass(frozen=True)
class SecuredRegistry:
    """A registry that asks for credentials, and the ones that it takes."""

    host: str
    """``127.0.0.1:PORT``"""
    username: str
    password: str


class Oras(Protocol):
    """The stock ``oras`` command; with ``check`` a failure raises :class:`subprocess.CalledProcessError`."""

    def __call__(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run gives it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="session")
def server_programs() -> Path:
    """The folder of the built registries and stock clients."""
    return build_programs("registries")


def build_programs(group: str) -> Path:
    """The folder of a group of programs of tests/servers, built by the first run that asks."""
    done = subprocess.run([sys.executable, str(BUILD), group], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(done.stderr, pytrace=False)
    return Path(done.stdout.strip())


@pytest.fixture
def referrers_registry(server_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``127.0.0.1:PORT`` of an empty registry with the referrers API."""
    with run_server(server_programs / "registry-referrers", folder=tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def distribution_registry(server_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``127.0.0.1:PORT`` of an empty distribution v3: no referrers API, so clients keep fallback tags."""
    with run_server(server_programs / "registry-distribution", folder=tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def distribution_basic_registry(
    server_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredRegistry]:
    """A distribution v3 that wants the password at every request."""
    with run_secured(server_programs, tmp_path_factory.mktemp("registry"), "-auth=basic") as registry:
        yield registry


@pytest.fixture
def distribution_token_registry(
    server_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredRegistry]:
    """A distribution v3 that wants a token, which its token server gives for the password."""
    with run_secured(server_programs, tmp_path_factory.mktemp("registry"), "-auth=token") as registry:
        yield registry


@pytest.fixture
def distribution_public_registry(
    server_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredRegistry]:
    """A distribution v3 as public registries are: everybody gets a token to pull, pushing needs the password."""
    with run_secured(
        server_programs, tmp_path_factory.mktemp("registry"), "-auth=token", "-anonymous-pull"
    ) as registry:
        yield registry


@pytest.fixture
def oras(server_programs: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Oras:
    """The stock client, run in ``tmp_path``, since it takes files by relative paths only.

    Its home is its own: it neither reads nor writes the configuration of who runs the tests.
    """
    home = tmp_path_factory.mktemp("oras")
    environment = {"HOME": str(home), "DOCKER_CONFIG": str(home / ".docker"), "TMPDIR": str(home), "PATH": os.defpath}

    def run(
        *args: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run gives it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        command = [str(server_programs / "oras"), *args]
        done = subprocess.run(
            command,
            input=input or "",  # never the terminal of who runs the tests
            check=False,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
        )
        if check:
            require_success(done)
        return done

    return run


def require_success(done: subprocess.CompletedProcess[str]) -> None:
    """Raise if a command failed, with what it said, which the exception alone does not show."""
    try:
        done.check_returncode()
    except subprocess.CalledProcessError as error:
        error.add_note(done.stderr)
        raise


class NatsCli(Protocol):
    """The stock ``nats`` command; with ``check`` a failure raises :class:`subprocess.CalledProcessError`."""

    def __call__(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def nats_cli(server_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> NatsCli:
    """The stock client of the bus; its home is its own, so it knows no context of who runs the tests."""
    home = tmp_path_factory.mktemp("nats-cli")
    environment = {"HOME": str(home), "PATH": os.defpath}

    def run(*args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(server_programs / "nats"), *args],
            stdin=subprocess.DEVNULL,
            check=False,
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
        )
        if check:
            require_success(done)
        return done

    return run


@contextlib.contextmanager
def run_secured(programs: Path, folder: Path, *flags: str) -> Iterator[SecuredRegistry]:
    """Run distribution v3 with one user."""
    username, password = "tester", "secret:with colon"  # a colon is what a client gets wrong first
    flags = (*flags, f"-username={username}", f"-password={password}")
    with run_server(programs / "registry-distribution", *flags, folder=folder) as host:
        yield SecuredRegistry(host, username, password)


@contextlib.contextmanager
def run_server(program: Path, *flags: str, folder: Path) -> Iterator[str]:
    """Run a test server and give the address that it announces.

    What it logs goes to a file in its folder, not to a pipe that nobody would empty.
    """
    log = folder / "log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [str(program), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={"TMPDIR": str(folder)},
            cwd=folder,
        ) as process,
    ):
        try:
            yield read_address(process, log)
        finally:
            stop(process, log)


def read_address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The first line of a server's standard output, which it writes when it takes connections."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    address = process.stdout.readline().decode().strip() if ready else ""
    if not address:
        pytest.fail(f"{process.args!r} did not start:\n{log.read_text(errors='replace')}", pytrace=False)
    return address


def stop(process: subprocess.Popen[bytes], log: Path) -> None:
    """End a server the way it is meant to end; anything else fails the test, after the process is gone all the same."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        end_by_force(process)
    if process.returncode:
        text = log.read_text(errors="replace")
        pytest.fail(f"{process.args!r} ended with status {process.returncode}:\n{text}", pytrace=False)


def end_by_force(process: subprocess.Popen[bytes]) -> None:
    """Terminate, then kill."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class NatsServer:
    """A real nats-server with JetStream in a folder of its own, and what can happen to one.

    It keeps its port when it is started again. ``configuration`` is what the test gives, in nats-server's JSON form; the
    address, the store and the log are added.
    """

    def __init__(self, folder: Path, configuration: Mapping[str, Any]) -> None:
        self.folder = folder
        self.configuration = dict(configuration)
        self.port = -1
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        assert self._process is None
        settings = {"host": "127.0.0.1", "port": self.port, "ports_file_dir": str(self.folder)}
        settings |= {"jetstream": {"store_dir": str(self.folder / "store")}, "log_file": str(self.folder / "log")}
        (self.folder / "nats.json").write_text(json.dumps(settings | self.configuration))
        with (self.folder / "stderr").open("wb") as stderr:
            self._process = subprocess.Popen(
                [Path(sys.executable).with_name("nats-server"), "-c", self.folder / "nats.json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        self.port = self._read_port(self._process)

    def _read_port(self, process: subprocess.Popen[bytes]) -> int:
        """The port from the file that the server writes when it takes connections."""
        file = self.folder / f"nats-server_{process.pid}.ports"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return int(json.loads(file.read_text())["nats"][0].rpartition(":")[2])
            time.sleep(0.005)
        text = (self.folder / "stderr").read_text(errors="replace") + (self.log if self.port > 0 else "")
        pytest.fail(f"nats-server did not start:\n{text}", pytrace=False)

    def kill(self) -> None:
        """As a crash does: nothing is flushed or said."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As a clean stop does."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(START_SECONDS)
            self._process = None

    def wipe(self) -> None:
        """Lose everything that was stored; only while the server is down."""
        assert self._process is None
        shutil.rmtree(self.folder / "store")

    def freeze(self) -> None:
        """Stop answering, with all connections open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


class StartNats(Protocol):
    """Starts a nats-server with a configuration; it ends with the test."""

    def __call__(self, configuration: Mapping[str, Any] | None = None) -> NatsServer: ...


@pytest.fixture
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartNats]:
    """Start nats-servers, each with an empty store."""
    servers: list[NatsServer] = []

    def start(configuration: Mapping[str, Any] | None = None) -> NatsServer:
        servers.append(NatsServer(tmp_path_factory.mktemp("nats"), configuration or {}))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
