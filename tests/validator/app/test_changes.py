"""What a validator answers while facts change, run out, or are lost."""

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.keys import DETECTOR, program, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import Undeclared
from nodeworthy.errors import BusUnreachableError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.verdicts import Answer
from nodeworthy_validator.settings import Lifetimes

if TYPE_CHECKING:
    from tests.validator.app.conftest import MakeNode
    from tests.validator.conftest import Bus, Eventually, Person, Registry, Start


def asking_for(card: str, feature: str, condition: str) -> str:
    """The specification with another condition."""
    return card.replace("pci.device", feature).replace('vendor: {op: In, value: ["10de"]}', condition)


@pytest.mark.usefixtures("resolver")
async def test_a_set_that_never_comes_is_unknown_and_never_compatible(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    image = await registry.push("app", spec=asking_for(card, "kernel.config", "GONE: {op: DoesNotExist}"))
    await bus.publish("n1", make_node(options=200))
    await start()
    assert await reader.answer(image) is Answer.COMPATIBLE
    await bus.admin.request(f"$JS.API.STREAM.PURGE.{bus.store.names.stream(Bucket.SETS)}")
    await start(lifetimes=Lifetimes(image=0, pending=0.1))
    answers = {await reader.answer(image, undeclared=Undeclared.COMPATIBLE) for _ in range(30)}
    assert answers == {Answer.COMPATIBLE, Answer.UNKNOWN}  # of the one who knew it, and of the one who never saw it


@pytest.mark.usefixtures("resolver")
async def test_what_changes_on_the_bus_changes_the_answer_before_the_next_poll(
    bus: "Bus",
    reader: "Person",
    registry: "Registry",
    start: "Start",
    eventually: "Eventually",
    make_node: "MakeNode",
    card: str,
) -> None:
    image = await registry.push("app", spec=card)
    await bus.publish("n1", make_node("8086"))
    await start()
    assert await reader.answer(image) is Answer.INCOMPATIBLE
    begun = time.monotonic()
    await bus.publish("n1", make_node())

    async def is_compatible() -> bool:
        return await reader.answer(image) is Answer.COMPATIBLE

    await eventually(is_compatible)
    assert time.monotonic() - begun < 3  # some 20 ms; the poll comes every 5 s
    await bus.store.remove(Bucket.NODES, snapshot_key("n1", DETECTOR))

    async def is_gone() -> bool:
        return not (await reader.nodes()).total

    await eventually(is_gone)


@pytest.mark.usefixtures("resolver")
async def test_facts_of_a_program_count_until_it_said_they_would(
    bus: "Bus",
    reader: "Person",
    registry: "Registry",
    start: "Start",
    eventually: "Eventually",
    make_node: "MakeNode",
    card: str,
) -> None:
    image = await registry.push("app", spec=asking_for(card, "lab.burnt", "GONE: {op: DoesNotExist}"))
    await bus.publish("n1", make_node())
    burnt = Snapshot({"lab.burnt": FeatureSet(attributes={"WAS": "1"})})
    await bus.publish("n1", burnt, program("lab"), expires=int(time.time()) + 2)
    await start()
    assert await reader.answer(image) is Answer.COMPATIBLE

    async def is_unknown() -> bool:
        return await reader.answer(image) is Answer.UNKNOWN

    await eventually(is_unknown)
    [known] = (await reader.nodes()).nodes
    assert [producer.problem for producer in known.producers][1].startswith("the time until which")


@pytest.mark.usefixtures("resolver")
async def test_a_store_that_was_lost_leaves_answers_as_they_were_or_unknown(
    bus: "Bus", reader: "Person", registry: "Registry", start: "Start", make_node: "MakeNode", card: str
) -> None:
    good, bad = await registry.push("app", spec=card), await registry.push("arm", "linux/arm64")
    await bus.publish("n1", make_node())
    running = await start(lifetimes=Lifetimes(image=0, lost=600))
    seen: list[tuple[Answer, Answer]] = []

    async def look() -> None:
        with contextlib.suppress(BusUnreachableError):
            reply = await reader.validate(images=(good, bad), node="n1", seconds=1, undeclared=Undeclared.COMPATIBLE)
            seen.append((reply.verdicts[0].verdict, reply.verdicts[1].verdict))

    await look()
    bus.server.kill()
    bus.server.wipe()
    await look()
    bus.server.start()
    for _ in range(10):
        await look()
    await bus.make_streams()
    for _ in range(10):
        await look()
    await bus.publish("n2", make_node())
    async with asyncio.timeout(20):
        while (await reader.nodes()).total < 2 or seen[-1] != (Answer.COMPATIBLE, Answer.INCOMPATIBLE):
            await look()
    assert seen[0] == (Answer.COMPATIBLE, Answer.INCOMPATIBLE)
    assert {first for first, _ in seen} <= {Answer.COMPATIBLE, Answer.UNKNOWN}
    assert {second for _, second in seen} <= {Answer.INCOMPATIBLE, Answer.UNKNOWN}
    [lost, _] = (await reader.nodes()).nodes
    assert "gone from the bus" in lost.producers[0].problem
    # Another replica never heard of it, and says so.
    await running.end()
    await start()
    assert (await reader.validate(good, node="n1")).verdicts[0].verdict is Answer.UNKNOWN
