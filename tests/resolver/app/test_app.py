"""The resolver as a whole: what it answers, how it starts and ends, and what becomes of it when its bus goes away."""

import asyncio
import json
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import web

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connecting import wait_for_end
from nodeworthy.bus.connection import connect
from nodeworthy.bus.images import TagLostPlatforms
from nodeworthy.bus.names import Names
from nodeworthy.errors import (
    BusDeniedError,
    BusUnreachableError,
    ImageNotFoundError,
    NodeworthyError,
    RegistryDeniedError,
    RegistryError,
    UsageError,
)
from nodeworthy_resolver.app import run
from nodeworthy_resolver.oci import RegistryAccess
from nodeworthy_resolver.settings import Lifetimes, Settings

if TYPE_CHECKING:
    from tests.conftest import NatsCli
    from tests.resolver.app.conftest import Bus, Person, Run, Start
    from tests.resolver.conftest import Builder, FaultyRegistry


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def until(settings: Settings, status: int, path: str = "/readyz") -> str:
    """Ask until the answer has this status, and give its text."""
    url = f"http://127.0.0.1:{settings.http_port}{path}"
    async with asyncio.timeout(20), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url) as answer:
                    if answer.status == status:
                        return await answer.text()
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.02)


async def test_a_reader_asks_and_is_answered(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start()
    faulty.tags["v1"] = image = build.image()
    reply = await reader.look(faulty.name)
    assert reply.knowledge.digest == image.digest
    assert abs(reply.looked - time.time()) < 60


async def test_replicas_share_the_work_and_the_cache(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    for _ in range(2):
        await start()
    faulty.tags["v1"] = build.image()
    await reader.look(faulty.name)
    asked = len(faulty.seen)
    replies = [await reader.look(faulty.name) for _ in range(20)]
    assert len({reply.knowledge for reply in replies}) == 1
    assert len(faulty.seen) == asked


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": 404}, ImageNotFoundError),
        ({"status": 403}, RegistryDeniedError),
        ({"status": 503}, RegistryError),
        ({"status": 200, "content_type": "text/html", "text": "<html>"}, RegistryError),
    ],
    ids=["not there", "denied", "down", "a web page"],
)
async def test_what_the_registry_said_reaches_the_asker_as_an_error_of_the_tree(
    answer: dict[str, Any],
    error: type[NodeworthyError],
    start: "Start",
    reader: "Person",
    faulty: "FaultyRegistry",
) -> None:
    await start()
    faulty.guard = lambda _: web.Response(**answer)
    with pytest.raises(error) as caught:
        await reader.look(faulty.name)
    assert type(caught.value) is error
    assert faulty.host.partition(":")[0] in str(caught.value)


async def test_a_registry_that_is_not_there_is_told(start: "Start", reader: "Person") -> None:
    await start()
    with pytest.raises(RegistryError, match="cannot be reached"):
        await reader.look("127.0.0.1:1/team/app:v1")


async def test_a_refused_login_does_not_tell_the_bus_where_it_was_kept(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", tmp_path: Path
) -> None:
    config = tmp_path / "private-folder" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"auths": {faulty.host: {"username": "me", "password": "hunter2"}}}))
    await start(registries=RegistryAccess(plain_http=True, attempts=1, config=config))
    faulty.guard = lambda _: web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
    with pytest.raises(RegistryDeniedError) as caught:
        await reader.look(faulty.name)
    said = " ".join(caught.value.diagnostics())
    assert "(from config.json) were sent and refused" in said
    assert "private-folder" not in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    "content", [b"{", b'{"credsStore": "../../bin/sh"}', None], ids=["broken", "no helper", "gone"]
)
async def test_files_that_cannot_be_used_are_told_to_the_bus_without_their_folders(
    content: bytes | None, start: "Start", reader: "Person", faulty: "FaultyRegistry", tmp_path: Path
) -> None:
    config, folder = tmp_path / "private-folder" / "config.json", tmp_path / "private-folder" / "certs.d" / "hub.test"
    folder.mkdir(parents=True)
    (folder / "hosts.toml").write_text("server =")
    config.write_bytes(content or b"{}")
    await start(registries=RegistryAccess(plain_http=True, attempts=1, config=config, hosts_folder=folder.parent))
    if content is None:
        config.unlink()
    faulty.guard = lambda _: web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
    for name in (faulty.name, "hub.test/team/app:v1"):
        with pytest.raises(NodeworthyError) as caught:
            await reader.look(name)
        assert "private-folder" not in " ".join(caught.value.diagnostics())


async def test_who_asks_on_a_shared_bus_reaches_no_private_address(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start(allow_private=False)
    faulty.tags["v1"] = build.image()
    with pytest.raises(RegistryDeniedError, match="its address is private"):
        await reader.look(faulty.name)
    assert not faulty.seen


async def test_a_reader_hears_that_a_tag_moved_and_lost_a_platform(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    heard: asyncio.Queue[TagLostPlatforms] = asyncio.Queue()

    async def hear(message: Msg) -> None:
        heard.put_nowait(payloads.decode(message.data, TagLostPlatforms))

    await start(lifetimes=Lifetimes(tag=0, failure=0))
    faulty.tags["v1"] = build.image("linux/arm64")
    async with reader.connection.subscribed(Names().image_changes, hear):
        await reader.look(faulty.name)
        faulty.tags["v1"] = moved = build.image("linux/amd64")
        await reader.look(faulty.name)
        told = await asyncio.wait_for(heard.get(), 20)
    assert (told.reference, told.after, told.lost) == (faulty.name, moved.digest, ("linux/arm64",))
    assert not reader.connection.denials.recent


async def test_metrics_show_what_registries_were_asked_and_that_one_wants_to_be_left_alone(
    cluster_bus: "Bus", run_resolver: "Run", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    settings = cluster_bus.resolver(http_port=free_port())
    faulty.guard = lambda _: web.Response(status=429, headers={"Retry-After": "600"})
    async with run_resolver(settings) as resolver:
        await asyncio.wait_for(resolver.ready.wait(), 20)
        for _ in range(2):
            with pytest.raises(RegistryError):
                await reader.look(faulty.name)
        text = await until(settings, 200, "/metrics")
    assert 'nodeworthy_resolver_registry_requests_total{method="GET",outcome="429"} 1.0' in text
    assert "nodeworthy_resolver_registry_paused 1.0" in text
    assert "nodeworthy_resolver_registry_held_back_total 1.0" in text
    assert "nodeworthy_resolver_registry_rate_limit_left_ratio 1.0" in text


@pytest.mark.parametrize("reference", ["", "a b", "oci:/etc", "https://registry.example/app", "APP/app"])
async def test_a_reference_that_is_none_is_a_mistake_of_the_asker(
    reference: str, start: "Start", reader: "Person"
) -> None:
    await start()
    with pytest.raises(UsageError):
        await reader.look(reference)


async def test_the_stock_command_finds_the_service_and_asks_it_in_json(
    start: "Start", cluster_bus: "Bus", faulty: "FaultyRegistry", build: "Builder", nats_cli: "NatsCli"
) -> None:
    await start()
    faulty.tags["v1"] = image = build.image()
    inbox = cluster_bus.settings("reader").inbox_prefix
    login = ("--user", "reader", "--password", cluster_bus.password, "--inbox-prefix", inbox)

    async def nats(*arguments: str) -> str:
        return (await asyncio.to_thread(nats_cli, "--server", cluster_bus.server.url, *login, *arguments)).stdout

    assert "nodeworthy-resolver" in await nats("micro", "ls")
    described = json.loads(await nats("micro", "info", "nodeworthy-resolver", "--json"))["info"]
    assert described["metadata"]["cluster"] == "local"
    assert {one["subject"] for one in described["endpoints"]} == {
        "nodeworthy.local.resolve",
        "nodeworthy.local.attach",
    }
    question = json.dumps({"reference": faulty.name, "platforms": ["linux/amd64"]})
    answer = json.loads(await nats("req", "--raw", "nodeworthy.local.resolve", question))
    assert answer["knowledge"]["digest"] == image.digest
    assert answer["knowledge"]["images"][0]["configured"] == {"os": "linux", "architecture": "amd64"}


async def test_telling_it_to_stop_ends_it_soon_even_when_a_registry_is_frozen(
    start: "Start", reader: "Person", faulty: "FaultyRegistry"
) -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def freeze(_: web.Request) -> web.StreamResponse:
        asked.set()
        await release.wait()
        return web.Response(status=404)

    faulty.script("GET", "manifests/v1", freeze)
    resolver = await start()
    waiting = asyncio.create_task(reader.look(faulty.name, seconds=1), name="caller")
    await asked.wait()
    assert await resolver.end() < 5
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("resolve ")]
    with pytest.raises(NodeworthyError):
        await waiting
    release.set()


async def test_it_waits_for_its_bus_and_is_ready_when_that_is_there(cluster_bus: "Bus", run_resolver: "Run") -> None:
    cluster_bus.server.stop()
    settings = cluster_bus.resolver(http_port=free_port())
    async with run_resolver(settings) as resolver:
        assert await until(settings, 503) == "there is no connection to the bus\n"
        cluster_bus.server.start()
        await asyncio.wait_for(resolver.ready.wait(), 20)
        assert await until(settings, 200) == "ready\n"
        cluster_bus.server.stop()
        assert await until(settings, 503) == "there is no connection to the bus\n"
        cluster_bus.server.start()
        assert await until(settings, 200) == "ready\n"


async def test_a_bus_that_refuses_the_user_is_one_clear_error(cluster_bus: "Bus") -> None:
    settings = cluster_bus.resolver(bus=replace(cluster_bus.settings("resolver"), password="wrong"))
    with pytest.raises(BusDeniedError, match="refused this user"):
        await run(settings, asyncio.Event(), asyncio.Event())


async def test_it_ends_when_told_to_while_there_is_no_bus(cluster_bus: "Bus", run_resolver: "Run") -> None:
    cluster_bus.server.stop()
    impatient = replace(cluster_bus.settings("resolver"), connect_seconds=0.2)
    settings = cluster_bus.resolver(bus=impatient, http_port=free_port())
    async with run_resolver(settings) as resolver:
        await until(settings, 503)
        assert await resolver.end() < 5


@pytest.mark.parametrize("what", ["restarted", "wiped"])
async def test_it_goes_on_when_the_bus_was_away(
    what: str, start: "Start", cluster_bus: "Bus", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start()
    faulty.tags["v1"] = image = build.image()
    await reader.look(faulty.name)
    asked = len(faulty.seen)
    cluster_bus.server.kill()
    if what == "wiped":
        cluster_bus.server.wipe()
    cluster_bus.server.start()
    assert (await reader.look(faulty.name, seconds=20)).knowledge.digest == image.digest
    assert (len(faulty.seen) == asked) == (what == "restarted")


async def test_a_frozen_bus_is_waited_for(
    start: "Start", cluster_bus: "Bus", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start()
    faulty.tags["v1"] = image = build.image()
    cluster_bus.server.freeze()
    try:
        waiting = asyncio.create_task(reader.look(faulty.name, seconds=20), name="caller")
        await asyncio.wait({waiting}, timeout=0.2)
        assert not waiting.done()
    finally:
        cluster_bus.server.thaw()
    assert (await waiting).knowledge.digest == image.digest


async def test_a_connection_that_was_closed_for_good_ends_it(cluster_bus: "Bus") -> None:
    async with connect(cluster_bus.settings("resolver")) as connection:
        watching = asyncio.create_task(wait_for_end(connection, asyncio.Event(), "resolver"), name="watch")
        await asyncio.sleep(0)
        await connection.client.close()
        with pytest.raises(BusUnreachableError, match="for good"):
            await watching


async def test_what_was_answered_is_counted(
    start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    port = free_port()
    await start(http_port=port)
    faulty.tags["v1"] = build.image()
    for _ in range(3):
        await reader.look(faulty.name)
    with pytest.raises(UsageError):
        await reader.look("")
    text = await until(Settings(http_port=port), 200, "/metrics")
    assert 'nodeworthy_resolver_replies_total{outcome="answered"} 3.0' in text
    assert 'nodeworthy_resolver_replies_total{outcome="bad-request"} 1.0' in text
    assert 'nodeworthy_resolver_cache_total{kind="search",result="hit"} 2.0' in text
    assert 'nodeworthy_resolver_request_seconds_count{endpoint="resolve"} 4.0' in text
