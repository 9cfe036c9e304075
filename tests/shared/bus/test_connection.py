import asyncio
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection, ConnectionState, connect, reconnect_delay
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import BusDeniedError, BusNobodyError, BusUnreachableError, PayloadError

if TYPE_CHECKING:
    from tests.conftest import NatsServer, StartNats
    from tests.shared.bus.conftest import Connect, Eventually

LIMITED = {
    "accounts": {
        "A": {
            "users": [
                {
                    "user": "limited",
                    "password": "secret",
                    "permissions": {"publish": {"allow": ["open.>"]}, "subscribe": {"allow": ["_INBOX.>", "open.>"]}},
                }
            ]
        }
    }
}


async def open_and_close(settings: ConnectionSettings) -> None:
    async with connect(settings):
        pass


async def test_a_question_gets_its_answer(connecting: "Connect") -> None:
    asker, answerer = await connecting(), await connecting()

    async def answer(message: Msg) -> None:
        await message.respond(message.data + b" world")

    async with answerer.subscribed("greet", answer):
        assert (await asker.request("greet", b"hello")).data == b"hello world"
    with pytest.raises(BusNobodyError, match="nobody listens on elsewhere"):
        await asker.request("elsewhere", b"hello")


async def test_a_question_that_nobody_answers_ends_in_time(connecting: "Connect") -> None:
    connection = await connecting()

    async def ignore(message: Msg) -> None:
        pass

    async with connection.subscribed("greet", ignore):
        with pytest.raises(BusUnreachableError, match=r"waited 0\.05 s"):
            await connection.request("greet", seconds=0.05)


async def test_a_handler_that_fails_does_not_end_its_subscription(
    connecting: "Connect", caplog: pytest.LogCaptureFixture
) -> None:
    connection = await connecting()

    async def answer(message: Msg) -> None:
        await message.respond(b"%d" % (100 // int(message.data)))

    async with connection.subscribed("divide", answer):
        with pytest.raises(BusUnreachableError):
            await connection.request("divide", b"0", seconds=0.05)
        assert (await connection.request("divide", b"5")).data == b"20"
    assert "bus.error" in caplog.messages


async def test_a_body_larger_than_the_server_takes_is_refused(connecting: "Connect") -> None:
    connection = await connecting()
    with pytest.raises(PayloadError, match="larger than the server takes"):
        await connection.publish("anything", b"x" * (1024 * 1024 + 1))


async def test_no_server_is_a_clear_error_within_the_limit() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"nats://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(BusUnreachableError, match="cannot be reached") as error:
            async with asyncio.timeout(10):
                await open_and_close(ConnectionSettings(servers=(address,), connect_seconds=0.3))
    assert "Connect call failed" in error.value.why
    assert "nodeworthy up" in error.value.todo


async def test_a_server_that_never_speaks_is_a_clear_error_within_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"nats://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(BusUnreachableError, match=r"no answer within 0\.3 s"):
            async with asyncio.timeout(10):
                await open_and_close(ConnectionSettings(servers=(address,), connect_seconds=0.3))


async def test_a_wrong_password_is_told_at_once(nats_server: "StartNats") -> None:
    server = nats_server(LIMITED)
    settings = ConnectionSettings(servers=(server.url,), user="limited", password="wrong", connect_seconds=60)
    with pytest.raises(BusDeniedError, match="refused this user"):
        async with asyncio.timeout(10):
            await open_and_close(settings)


async def test_what_a_user_may_not_do_is_told_to_who_asked(nats_server: "StartNats") -> None:
    server = nats_server(LIMITED)
    settings = ConnectionSettings(servers=(server.url,), user="limited", password="secret", request_seconds=30)

    async def ignore(message: Msg) -> None:
        pass

    async with asyncio.timeout(10), connect(settings) as connection:
        with pytest.raises(BusDeniedError, match=r"may not publish to Closed\.door"):
            await connection.request("Closed.door")
        with pytest.raises(BusDeniedError, match=r"may not subscribe to closed\.door"):
            await connection.subscribe("closed.door", ignore)
        assert connection.denials.counts == {"publish": 1, "subscription": 1}
        with pytest.raises(BusNobodyError):
            await connection.request("open.door")


async def test_a_server_that_is_killed_is_found_again(
    server: "NatsServer", connecting: "Connect", eventually: "Eventually"
) -> None:
    connection = await connecting()
    told: list[ConnectionState] = []
    with connection.listening(told.append):
        server.kill()
        await eventually(lambda: ConnectionState.DISCONNECTED in told)
        server.start()
        await eventually(lambda: ConnectionState.RECONNECTED in told)
        with pytest.raises(BusNobodyError):
            await connection.request("nobody")
        server.stop()
        await eventually(lambda: told.count(ConnectionState.DISCONNECTED) == 2)
    assert not connection.closed.is_set()


async def test_a_server_that_freezes_is_noticed(
    server: "NatsServer", connecting: "Connect", eventually: "Eventually"
) -> None:
    connection = await connecting(ping_seconds=0.1)
    told: list[ConnectionState] = []
    with connection.listening(told.append):
        server.freeze()
        await eventually(lambda: ConnectionState.DISCONNECTED in told)
        server.thaw()
        await eventually(lambda: ConnectionState.RECONNECTED in told)


async def test_a_closed_connection_says_so_and_closing_never_raises(server: "NatsServer") -> None:
    told: list[ConnectionState] = []
    settings = ConnectionSettings(servers=(server.url,), drain_seconds=0.2)
    async with connect(settings) as connection:
        with connection.listening(told.append):
            server.kill()
            await connection.close()
            assert connection.closed.is_set()
            await connection.close()
        with pytest.raises(BusUnreachableError):
            await connection.request("anything")
    assert ConnectionState.CLOSED in told


async def test_only_an_end_that_nobody_asked_for_is_a_warning(
    server: "NatsServer", eventually: "Eventually", caplog: pytest.LogCaptureFixture
) -> None:
    settings = ConnectionSettings(servers=(server.url,), reconnect_seconds=0.02, drain_seconds=0.2)
    async with connect(settings):
        pass
    assert "bus.disconnected" not in caplog.messages
    async with connect(settings) as connection:
        server.kill()
        await eventually(lambda: not connection.is_connected)
        await eventually(lambda: "bus.disconnected" in caplog.messages)


async def test_a_connection_that_was_never_made_closes_too() -> None:
    await Connection(ConnectionSettings()).close()


async def test_a_listener_that_fails_does_not_stop_the_others(
    server: "NatsServer", connecting: "Connect", eventually: "Eventually"
) -> None:
    connection = await connecting()
    told: list[ConnectionState] = []

    def fail(state: ConnectionState) -> None:
        raise ZeroDivisionError(state)

    with connection.listening(fail), connection.listening(told.append):
        server.kill()
        server.start()
        await eventually(lambda: ConnectionState.RECONNECTED in told)


async def test_a_subscription_that_is_cancelled_while_the_server_answers_is_cancelled(
    connecting: "Connect", monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await connecting()
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def flush(timeout: float) -> None:  # noqa: ASYNC109 # nats-py's signature
        asked.set()
        await asyncio.wait_for(asyncio.shield(answer), timeout)

    async def take(_: Msg) -> None:
        pass

    monkeypatch.setattr(connection.client, "flush", flush)
    subscribing = asyncio.create_task(connection.subscribe("open.a", take))
    await asked.wait()
    answer.set_result(None)
    await asyncio.sleep(0)  # now the answer is on its way, and so is the cancellation
    subscribing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await subscribing


def test_waits_double_up_to_their_bound_and_are_jittered() -> None:
    settings = ConnectionSettings(reconnect_seconds=0.25, reconnect_most_seconds=8)
    assert [reconnect_delay(settings, tries, 1) for tries in (0, 1, 2, 5, 9, 10**9)] == [0.25, 0.5, 1, 8, 8, 8]
    assert reconnect_delay(settings, 5, 0) == 4


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    key, file = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", key, "-out", file], check=True, capture_output=True)
    return file, key


async def test_a_server_is_trusted_by_its_authority_and_not_without(
    nats_server: "StartNats", certificate: tuple[Path, Path]
) -> None:
    file, key = certificate
    server = nats_server({"tls": {"cert_file": str(file), "key_file": str(key)}})
    address = server.url.replace("nats://", "tls://")
    async with connect(ConnectionSettings(servers=(address,), ca_file=file)) as connection:
        assert connection.client._server_info["tls_required"]
    with pytest.raises(BusUnreachableError, match="certificate verify failed"):
        async with asyncio.timeout(20):
            await open_and_close(ConnectionSettings(servers=(address,), connect_seconds=0.5))
