"""When a validator answers and when it says that others should be asked; how it begins and ends."""

import asyncio
import contextlib
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import aiohttp
import msgspec
import pytest

from nodeworthy.bus.client import Msg
from nodeworthy.bus.names import TIMEOUT_HEADER, VALIDATOR_SERVICE, Bucket, Endpoint
from nodeworthy.bus.requests import ValidateReply
from nodeworthy.errors import BusBusyError, BusDeniedError, BusNobodyError
from nodeworthy_validator.app import Validator, run
from nodeworthy_validator.following import Following

if TYPE_CHECKING:
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Eventually, Person, Registry, Start


async def test_nobody_is_answered_before_everything_was_read_once(bus: "Bus", reader: "Person", start: "Start") -> None:
    stream = bus.store.names.stream(Bucket.LABELS)
    await bus.admin.request(f"$JS.API.STREAM.DELETE.{stream}")
    running = await start(wait=False)
    async with asyncio.timeout(20):  # it is found, and has no endpoints
        while True:
            with contextlib.suppress(BusNobodyError):
                info = json.loads((await reader.connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")).data)
                break
            await asyncio.sleep(0.01)
    assert not info["endpoints"]
    with pytest.raises(BusNobodyError, match="no validator answers"):
        await reader.validate("app", seconds=0.2)
    await bus.make_streams()
    async with asyncio.timeout(20):
        await running.ready.wait()
    assert (await reader.nodes()).total == 0


async def test_others_should_be_asked_while_what_is_known_may_be_old(bus: "Bus", reader: "Person") -> None:
    validator = Validator(bus.validator())
    assert validator.why_not_answering() == "there is no connection to the bus yet"
    assert validator.why_not_ready() == "there is no connection to the bus"
    validator.connection = reader.connection
    validator.following = following = Following(
        bus.store, validator.inventory, validator.labels, validator.metrics, pending_seconds=1
    )
    assert validator.why_not_ready() == "the facts of the nodes are being read"
    following._nodes_complete.set()
    assert validator.why_not_ready() == "the labels of the nodes are being read"
    following._labels_complete.set()
    assert (validator.why_not_answering(), validator.why_not_ready()) == ("", "")
    following._watch.problem = "nobody listens"
    assert (validator.why_not_answering(), validator.why_not_ready()) == ("", "nobody listens")


@pytest.mark.usefixtures("resolver")
async def test_http_gives_the_answers_of_the_bus_and_says_when_others_should_be_asked(
    bus: "Bus",
    reader: "Person",
    registry: "Registry",
    start: "Start",
    eventually: "Eventually",
    free_port: int,
    make_node: "MakeNode",
    card: str,
) -> None:
    await bus.publish("n1", make_node())
    await start(http_port=free_port)
    image = await registry.push("app", spec=card)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{free_port}") as session:

        async def is_ready() -> bool:
            async with session.get("/readyz") as probe:
                return probe.status == 200

        assert await is_ready()
        async with session.post("/v1/validate", json={"image": image}) as said:
            assert msgspec.json.decode(await said.read(), type=ValidateReply) == await reader.validate(image)
        async with session.get("/v1/nodes") as said:
            assert [one["node"] for one in (await said.json())["nodes"]] == ["n1"]
        async with session.get("/metrics") as said:
            text = await said.text()
        assert "nodeworthy_validator_nodes 1.0" in text
        assert 'nodeworthy_validator_replies_total{outcome="answered"} 1.0' in text
        bus.server.kill()

        async def is_not_ready() -> bool:
            return not await is_ready()

        await eventually(is_not_ready)
        hurry = {TIMEOUT_HEADER: "500"}
        async with session.post("/v1/validate", json={"image": image}, headers=hurry) as said:
            # Of nodes it knows what it knew, of images nothing.
            assert [one["verdict"] for one in (await said.json())["verdicts"]] == ["unknown"]
        bus.server.start()
        await eventually(is_ready)


async def test_a_busy_validator_says_so(bus: "Bus", reader: "Person", start: "Start") -> None:
    settings = bus.validator()
    await start(bounds=replace(settings.bounds, requests=0))
    with pytest.raises(BusBusyError):
        await reader.validate("app", seconds=0.3)


async def test_it_ends_while_requests_are_in_work(
    bus: "Bus", reader: "Person", start: "Start", make_node: "MakeNode"
) -> None:
    await bus.publish("n1", make_node())
    running = await start()
    asked = asyncio.Event()

    async def hear(_: Msg) -> None:
        asked.set()  # and never answers

    async with bus.admin.subscribed(bus.store.names.endpoint(Endpoint.RESOLVE), hear):
        asking = asyncio.create_task(reader.validate("example.com/app:1", seconds=15))
        await asked.wait()
        begun = time.monotonic()
        await running.end()
        assert time.monotonic() - begun < 9
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


async def test_it_ends_when_it_may_not_read_what_it_needs(bus: "Bus") -> None:
    async with asyncio.timeout(20):
        with pytest.raises(BusDeniedError):
            await run(bus.validator(bus=bus.resolver().bus), asyncio.Event(), asyncio.Event())


async def test_it_waits_for_a_bus_and_ends_without_one(bus: "Bus", start: "Start") -> None:
    bus.server.kill()
    await (await start(wait=False)).end()
    running = await start(wait=False)
    bus.server.start()
    async with asyncio.timeout(20):
        await running.ready.wait()
