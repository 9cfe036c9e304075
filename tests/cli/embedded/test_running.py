"""Server and services together, with tiny services that really use the bus."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from nodeworthy.bus.names import Names, Topic
from nodeworthy.bus.permissions import User
from nodeworthy.processes import DEFAULT_LIMITS, Limits, Service, ServiceFailedError
from nodeworthy_cli.embedded.contexts import Context, read_context
from nodeworthy_cli.embedded.errors import ServerEndedError
from nodeworthy_cli.embedded.running import EmbeddedService, bus_users, end_seconds, run_embedded
from nodeworthy_cli.embedded.server import Server
from nodeworthy_cli.embedded.settings import ServerSettings

Connect = Callable[..., AbstractAsyncContextManager[Client]]
Work = Callable[[Client, asyncio.Event, asyncio.Event], Coroutine[Any, Any, None]]
Settle = Callable[[Client], Coroutine[Any, Any, None]]
RunAll = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def run_all(settings: ServerSettings, users: Mapping[str, User]) -> RunAll:
    """Run services on an embedded server until ``stop``, which is set when all are ready unless the test has its own."""

    async def run(
        *services: EmbeddedService, stop: asyncio.Event, announce: Callable[[Server], None] | None = None
    ) -> None:
        announce = announce or (lambda _server: stop.set())
        async with asyncio.timeout(60):
            await run_embedded(settings, users, services, stop, announce=announce)

    return run


@pytest.fixture
def service(connect: Connect) -> Callable[[str, Work], EmbeddedService]:
    """A service that connects as the user of its role and does what the test says."""

    def make(role: str, work: Work) -> EmbeddedService:
        def bind(context: Context) -> Service:
            async def main(stop: asyncio.Event, ready: asyncio.Event) -> None:
                async with connect(context) as client:
                    await work(client, stop, ready)

            return Service(role, main)

        return EmbeddedService(role, bind)

    return make


MakeService = Callable[[str, Work], EmbeddedService]


async def wait(_client: Client, stop: asyncio.Event, ready: asyncio.Event) -> None:
    ready.set()
    await stop.wait()


async def test_services_speak_to_each_other_each_as_its_own_user(
    run_all: RunAll, service: MakeService, settle: Settle
) -> None:
    stop, subscribed, heard = asyncio.Event(), asyncio.Event(), []

    async def read(client: Client, _stop: asyncio.Event, ready: asyncio.Event) -> None:
        subscription = await client.subscribe("test.>")
        await settle(client)
        subscribed.set()
        heard.append((await subscription.next_msg(10)).data)
        ready.set()
        await stop.wait()

    async def write(client: Client, _stop: asyncio.Event, ready: asyncio.Event) -> None:
        await subscribed.wait()
        await client.publish("test.a", b"hello")
        ready.set()
        await stop.wait()

    await run_all(service("reader", read), service("writer", write), stop=stop)
    assert heard == [b"hello"]


async def test_a_detector_of_this_machine_is_heard_and_speaks_for_no_other_node(
    settings: ServerSettings, connect: Connect, settle: Settle
) -> None:
    names, node = Names(), "ip-10-0-1-2.eu-west-1.compute.internal"
    own, foreign = (names.node_subject(Topic.HEARTBEAT, name) for name in (node, "other"))
    stop, subscribed, heard = asyncio.Event(), asyncio.Event(), []
    refused: list[str] = []

    def listen(context: Context) -> Service:
        async def main(_stop: asyncio.Event, ready: asyncio.Event) -> None:
            async with connect(context) as client:
                subscription = await client.subscribe(names.all_nodes(Topic.HEARTBEAT))
                await settle(client)
                subscribed.set()
                heard.append((await subscription.next_msg(10)).subject)
                ready.set()
                await stop.wait()

        return Service("labeler", main)

    def speak(context: Context) -> Service:
        async def main(_stop: asyncio.Event, ready: asyncio.Event) -> None:
            async with connect(context, refused) as client:
                await subscribed.wait()
                await client.publish(foreign, b"")
                await client.publish(own, b"")
                await settle(client)
                ready.set()
                await stop.wait()

        return Service("detector", main)

    services = [EmbeddedService("labeler", listen), EmbeddedService("detector", speak)]
    async with asyncio.timeout(60):
        await run_embedded(settings, bus_users(names, node), services, stop, announce=lambda _server: stop.set())
    assert heard == [own]
    assert [foreign in text for text in refused] == [True]


async def test_the_server_outlives_the_services_and_a_second_start_finds_their_last_words(
    run_all: RunAll, service: MakeService
) -> None:
    async def say_last_words(client: Client, stop: asyncio.Event, ready: asyncio.Event) -> None:
        bucket = await client.jetstream().create_key_value(bucket="b")
        ready.set()
        await stop.wait()
        await bucket.put("key", b"last words")

    found = []

    async def find(client: Client, stop: asyncio.Event, ready: asyncio.Event) -> None:
        found.append((await (await client.jetstream().key_value("b")).get("key")).value)
        await wait(client, stop, ready)

    await run_all(service("admin", say_last_words), stop=asyncio.Event())
    await run_all(service("admin", find), stop=asyncio.Event())
    assert found == [b"last words"]


async def test_others_on_this_machine_find_the_bus_by_its_context(
    run_all: RunAll, connect: Connect, folder: Path
) -> None:
    stop, announced = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(run_all(stop=stop, announce=lambda _server: announced.set()), name="embedded")
        await announced.wait()
        context = read_context(folder)
        assert context is not None
        async with connect(context) as client:
            await client.flush()
        stop.set()


async def test_a_service_that_fails_ends_everything_and_is_named(
    run_all: RunAll, service: MakeService, folder: Path
) -> None:
    async def fail(_client: Client, _stop: asyncio.Event, _ready: asyncio.Event) -> None:
        raise ValueError("bad")

    with pytest.raises(ServiceFailedError, match="writer failed: ValueError: bad"):
        await run_all(service("writer", fail), service("reader", wait), stop=asyncio.Event())
    assert "Server Exiting" in (folder / "nats-server.log").read_text()


async def test_a_server_that_ends_ends_everything_with_the_reason(run_all: RunAll, service: MakeService) -> None:
    stopped = []

    async def note(_client: Client, stop: asyncio.Event, ready: asyncio.Event) -> None:
        ready.set()
        await stop.wait()
        stopped.append("note")

    def kill(server: Server) -> None:
        os.kill(server.process.pid, signal.SIGKILL)

    with pytest.raises(ServiceFailedError, match="bus failed: nats-server ended: killed by signal 9") as caught:
        await run_all(service("writer", note), stop=asyncio.Event(), announce=kill)
    assert isinstance(caught.value.__cause__, ServerEndedError)
    assert "nats-server.log" in caught.value.todo
    assert stopped == ["note"]


async def test_told_to_stop_before_the_server_listens_no_service_is_started(
    run_all: RunAll, service: MakeService
) -> None:
    started = []

    async def note(_client: Client, _stop: asyncio.Event, _ready: asyncio.Event) -> None:
        started.append("note")

    stop = asyncio.Event()
    stop.set()
    await run_all(service("writer", note), stop=stop)
    assert started == []


def test_the_end_has_room_for_the_services_the_server_and_a_little_more(settings: ServerSettings) -> None:
    limits = Limits(stop=4, cancel=2)
    assert end_seconds(settings, limits) == 4 + 2 + 5 + 1
    assert end_seconds(settings, DEFAULT_LIMITS) < 30  # what Kubernetes and systemd wait at least
