"""A real nats-server: started, refused, restarted, broken, killed."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from nodeworthy.bus.permissions import User
from nodeworthy_cli.embedded import errors
from nodeworthy_cli.embedded.data_folder import hold_data_folder
from nodeworthy_cli.embedded.server import Server, run_server
from nodeworthy_cli.embedded.settings import ServerSettings

Settle = Callable[[Client], Coroutine[Any, Any, None]]
Run = Callable[..., AbstractAsyncContextManager[Server]]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def occupied_port() -> Iterator[int]:
    """A port of this machine on which this process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


async def test_it_listens_on_this_machine_only_and_says_its_version(run: Run) -> None:
    async with run() as server:
        assert server.address is not None
        assert server.address.url.startswith("nats://127.0.0.1:")
        assert server.address.version.startswith("2.")
        addresses = [fields[1].partition(":")[0] for fields in sockets_of(server.process.pid)]
    assert addresses == ["0100007F"]  # and no monitoring port


def sockets_of(pid: int) -> list[list[str]]:
    """The lines of the kernel's tables that are listening sockets of a process."""
    links = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [*Path("/proc/net/tcp").read_text().splitlines()[1:], *Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    fields = [line.split() for line in lines]
    return [line for line in fields if line[3] == "0A" and f"socket:[{line[9]}]" in links]


async def test_what_is_stored_is_there_after_a_restart_and_so_are_the_passwords(run: Run, connect: Connect) -> None:
    await put_a_key(run, connect)
    async with run() as server:
        before = server.context("admin").password
    async with run() as server, connect(server.context("admin")) as client:
        assert server.context("admin").password == before
        assert (await (await client.jetstream().key_value("b")).get("key")).value == b"value"


async def test_each_user_may_do_what_its_permissions_say_and_nothing_else(
    run: Run, connect: Connect, settle: Settle
) -> None:
    refused: list[str] = []
    async with (
        run() as server,
        connect(server.context("reader"), refused) as reader,
        connect(server.context("writer"), refused) as writer,
    ):
        subscription = await reader.subscribe("test.>")
        await settle(reader)
        await writer.publish("test.a", b"1")
        await writer.publish("other.a", b"2")
        await writer.subscribe("test.>")
        # An empty list must mean nothing, where nats-server takes it for everything.
        await reader.publish("test.b", b"3")
        await settle(writer)
        await settle(reader)
        assert (await subscription.next_msg(10)).data == b"1"
        assert subscription.pending_msgs == 0
    assert sorted(text.partition("for ")[2].rstrip("'") for text in refused) == [
        'publish to "other.a"',
        'publish to "test.b"',
        'subscription to "test.>"',
    ]


@pytest.mark.parametrize("login", ["{}", '{"user": "admin"}', '{"user": "admin", "pass": "x"}'])
async def test_without_the_password_nobody_gets_in(run: Run, login: str) -> None:
    async with run() as server:
        assert b"Authorization Violation" in await log_in(server, login)


async def test_only_the_owner_can_read_the_data(run: Run, made_folder: Path) -> None:
    async with run():
        assert mode_of(made_folder) == 0o700
        for name in ("passwords.json", "nats-server.json", "lock"):
            assert mode_of(made_folder / name) == 0o600


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_port_in_use_is_told_with_who_uses_it(run: Run, occupied_port: int) -> None:
    with pytest.raises(errors.PortInUseError) as caught:
        async with run(port=occupied_port):
            pytest.fail("it listens")
    assert f"process {os.getpid()}" in str(caught.value)
    assert str(caught.value).startswith(f"port {occupied_port} is in use: ")
    assert "--port" in caught.value.todo


async def test_a_store_that_cannot_be_opened_is_told_with_what_to_do(run: Run, made_folder: Path) -> None:
    store = made_folder / "store"
    store.write_text("no folder")
    with pytest.raises(errors.StoreBrokenError) as caught:
        async with run():
            pytest.fail("it listens")
    assert "not a directory" in caught.value.why
    assert f"move {store} away" in caught.value.todo


def break_meta(stream: Path) -> None:
    (stream / "meta.inf").write_bytes(b"garbage")


def remove_meta(stream: Path) -> None:
    (stream / "meta.inf").unlink()


def replace_messages(stream: Path) -> None:
    shutil.rmtree(stream / "msgs")
    (stream / "msgs").touch()


@pytest.mark.parametrize("damage", [break_meta, remove_meta, replace_messages])
async def test_a_stream_that_the_server_leaves_out_is_a_broken_store(
    run: Run, connect: Connect, folder: Path, damage: Callable[[Path], None]
) -> None:
    # The server would go on, and leave out what is put into that stream again at each next start.
    await put_a_key(run, connect)
    damage(*files(folder, "**/KV_b"))
    with pytest.raises(errors.StoreBrokenError, match=r"KV_b|recreating stream"):
        async with run():
            pytest.fail("it listens")


async def test_damage_that_the_server_repairs_is_told_and_it_goes_on(
    run: Run, connect: Connect, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await put_a_key(run, connect)
    (index,) = files(folder, "**/KV_b/msgs/index.db")
    index.write_bytes(b"garbage" * 10)
    caplog.clear()
    async with run() as server, connect(server.context("admin")) as client:
        assert (await (await client.jetstream().key_value("b")).get("key")).value == b"value"
    assert {record.message for record in warnings_of(caplog)} == {"embedded.server_warning"}
    assert any("index" in event_fields(record)["text"] for record in warnings_of(caplog))
    caplog.clear()
    async with run():
        assert warnings_of(caplog) == []  # what an earlier start found is not told again


async def put_a_key(run: Run, connect: Connect) -> None:
    async with run() as server, connect(server.context("admin")) as client:
        bucket = await client.jetstream().create_key_value(bucket="b")
        await bucket.put("key", b"value")


def files(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


def event_fields(record: Any) -> dict[str, str]:
    fields: dict[str, str] = record.fields
    return fields


async def test_a_sound_start_warns_of_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async with run():
        assert warnings_of(caplog) == []


async def test_a_log_that_cannot_be_written_is_told(run: Run, folder: Path) -> None:
    (folder / "nats-server.log").mkdir(parents=True)
    with pytest.raises(errors.ServerStartError, match=r"nats-server does not start: .*log"):
        async with run():
            pytest.fail("it listens")


async def test_a_program_that_is_not_there_is_told_with_what_to_install(run: Run, tmp_path: Path) -> None:
    with pytest.raises(errors.ServerMissingError) as caught:
        async with run(program=tmp_path / "nats-server"):
            pytest.fail("it listens")
    assert "nodeworthy[embedded]" in caught.value.todo


async def test_a_program_that_never_listens_is_given_up(run: Run, tmp_path: Path) -> None:
    program = script(tmp_path, "import threading; threading.Event().wait()")
    with pytest.raises(errors.ServerStartError, match=r"does not listen after 0\.2 s"):
        async with run(program=program, start_seconds=0.2):
            pytest.fail("it listens")


async def test_a_program_that_ends_at_once_is_told_with_its_last_words(run: Run, tmp_path: Path) -> None:
    program = script(tmp_path, "import sys; sys.exit('nats-server: bad weather')")
    with pytest.raises(errors.ServerStartError, match="does not start: bad weather"):
        async with run(program=program):
            pytest.fail("it listens")


def script(folder: Path, code: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o700)
    return path


async def test_waiting_for_it_ends_when_it_is_told_to_stop(
    tmp_path: Path, settings: ServerSettings, users: Mapping[str, User]
) -> None:
    program = script(tmp_path, "import threading; threading.Event().wait()")
    stop = asyncio.Event()
    async with hold_data_folder(settings.folder) as held, run_server(held, settings, users, program=program) as server:
        stop.set()
        assert await server.wait_until_it_listens(stop) is None


async def test_it_holds_the_lock_itself_so_that_its_store_is_safe_when_its_parent_is_killed(
    run: Run, folder: Path
) -> None:
    async with run() as server:
        assert opened_by(server.process.pid, folder / "lock")


def opened_by(pid: int, path: Path) -> bool:
    return any(link.readlink() == path for link in Path(f"/proc/{pid}/fd").iterdir())


async def test_the_end_of_the_server_is_noticed(run: Run) -> None:
    async with run() as server:
        ready = asyncio.Event()
        watching = asyncio.create_task(server.watch(asyncio.Event(), ready))
        await ready.wait()
        server.process.kill()
        with pytest.raises(errors.ServerEndedError, match="killed by signal 9") as caught:
            await watching
    assert "nats-server.log" in caught.value.todo


async def test_watching_ends_in_peace_when_it_is_told_to_stop(run: Run) -> None:
    async with run() as server:
        stop, ready = asyncio.Event(), asyncio.Event()
        stop.set()
        await server.watch(stop, ready)
        assert server.process.returncode is None


async def test_it_stops_with_a_clean_end_and_leaves_no_file_of_ports(run: Run, folder: Path) -> None:
    async with run() as server:
        pass
    assert server.process.returncode == 0
    assert files(folder, "*.ports") == []
    assert "Server Exiting" in (folder / "nats-server.log").read_text()


async def test_a_frozen_server_is_killed_when_its_time_is_over(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async with run(stop_seconds=0.1) as server:
        server.process.send_signal(signal.SIGSTOP)
    assert server.process.returncode == -signal.SIGKILL
    assert [record.message for record in warnings_of(caplog)] == ["embedded.server_killed"]


async def test_its_log_is_begun_anew_at_its_limit_and_old_ones_are_removed(run: Run, folder: Path) -> None:
    async with run(log_bytes=10_000, log_files=2) as server:
        for _ in range(400):  # each leaves a line of 90 bytes
            await log_in(server, '{"user": "nobody"}')
    logs = files(folder, "nats-server.log*")
    assert len(logs) == 2
    assert all(path.stat().st_size < 11_000 for path in logs)


async def log_in(server: Server, login: str) -> bytes:
    """What a server says to a client that introduces itself with this, until it closes the connection."""
    port = int(server.context("admin").url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"CONNECT {login}\r\nPING\r\n".encode())
    said = await reader.read()
    writer.close()
    await writer.wait_closed()
    return said
