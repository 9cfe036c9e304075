"""``nodeworthy validator``: its options, and the process that they make."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.bus.requests import NodesRequest
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.bus.validating import list_nodes
from nodeworthy.errors import UsageError
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.validator import make_settings

if TYPE_CHECKING:
    from tests.conftest import StartNats

BUS = BusOptions(server="nats://bus.example:4222", cluster="east", user="validator", password="secret")


def test_options_stand_in_the_place_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEWORTHY_HTTP_PORT", "1")
    monkeypatch.setenv("NODEWORTHY_HTTP_HOST", "0.0.0.0")
    settings = make_settings(BUS, {"http_port": 0, "http_host": None})
    assert (settings.http_port, settings.http_host, settings.cluster) == (0, "0.0.0.0", "east")
    assert settings.bus.servers == ("nats://bus.example:4222",)
    assert (settings.bus.user, settings.bus.inbox_prefix) == ("validator", "_INBOX.validator")


def test_a_variable_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEWORTHY_HTTP_PORT", "many")
    with pytest.raises(UsageError, match="NODEWORTHY_HTTP_PORT"):
        make_settings(BUS, {})


PROGRAM = """
import sys
from nodeworthy_cli import main
main.VERBS.setdefault("validator", "")
sys.exit(main.main(["validator", *sys.argv[1:]]))
"""
SECONDS = 30
"""A bound; everything takes less than a second when nothing is wrong."""


@pytest.fixture
async def bus_url(nats_server: "StartNats") -> str:
    """A bus with its streams."""
    url = nats_server().url
    async with connect(ConnectionSettings(servers=(url,))) as connection:
        await ensure_streams(connection, define_streams(Names()))
    return url


@contextlib.asynccontextmanager
async def running(home: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """``nodeworthy validator`` with these arguments; its log is on its standard error."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_DATA_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *arguments, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def lines_until(process: asyncio.subprocess.Process, event: str) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(SECONDS):
        while event.encode() not in (line := await process.stderr.readline()):
            assert line, f"it ended without {event}"


async def test_the_process_answers_and_ends_on_a_signal(bus_url: str, tmp_path: Path) -> None:
    async with running(tmp_path, "--server", bus_url, "--http-port", "0") as process:
        await lines_until(process, "validator.http_listening")
        await lines_until(process, "validator.ready")
        async with connect(ConnectionSettings(servers=(bus_url,))) as connection:
            assert (await list_nodes(connection, Names(), NodesRequest(), seconds=SECONDS)).total == 0
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            assert await process.wait() == 0


async def test_a_port_that_is_taken_ends_it_with_a_sentence(bus_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with running(tmp_path, "--server", bus_url, "--http-port", port) as process:
            async with asyncio.timeout(SECONDS):
                _, said = await process.communicate()
    assert process.returncode == 2
    assert b"another program listens there" in said
    assert b"Traceback" not in said
