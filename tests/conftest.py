"""Fixtures that every test may ask for: real registries, and the stock client that talks to them.

The programs are those of tests/servers, built at the first test that asks for one and kept outside the tree. A fresh server
is started for each test: it takes milliseconds, and no test sees what another one pushed. What tests need by name for their
annotations (``Oras``, ``SecuredRegistry``) is imported from here under ``TYPE_CHECKING`` only.
"""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

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
    """The folder of the built test servers and clients."""
    done = subprocess.run([sys.executable, str(BUILD)], capture_output=True, text=True, check=False)
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
