"""Nodes that are gone: no validator tells of them while the bus still holds what was said of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from tests.labeler.cluster.whole import Whole
from tests.labeler.conftest import NAMES, bus_settings

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR, KUBERNETES, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.records import Session
from nodeworthy.bus.requests import NodesRequest
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.validating import list_nodes
from nodeworthy_validator import app as validator
from nodeworthy_validator.settings import Settings

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts

A = "x.org/a"

Told = Callable[[], Awaitable[list[str]]]
"""The nodes of which the validator tells, whose names begin with w-gone."""


@pytest.fixture
async def told(bus: "Bus") -> AsyncIterator[Told]:
    """A validator that answers."""
    settings = Settings(cluster=NAMES.cluster, bus=bus_settings(bus.server.url, "admin"))
    stop, ready = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(validator.run(settings, stop, ready), name="validator")

    async def ask() -> list[str]:
        reply = await list_nodes(bus.store.connection, NAMES, NodesRequest(), seconds=5)
        return [one.node for one in reply.nodes if one.node.startswith("w-gone")]

    async with asyncio.timeout(20):
        await ready.wait()
    yield ask
    stop.set()
    await running


def detector(bus: "Bus", node: str, uid: str = "") -> SnapshotPublisher:
    return SnapshotPublisher(bus.store, Identity(node, DETECTOR, Session(f"boot of {node}", 1), uid))


def becomes(told: Told, nodes: list[str]) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return await told() == nodes

    return is_so


async def test_a_validator_drops_a_node_that_is_gone_until_there_is_one_again(
    whole: Whole, bus: "Bus", facts: "MakeFacts", told: Told, eventually: "Eventually"
) -> None:
    speaker = detector(bus, "w-gone")
    whole.cluster.create_node("w-gone")
    whole.cluster.create_node("w-gone-not")
    await whole.bus.publish("w-gone-not", facts({A: "1"}))
    await whole.bus.publish("w-gone-elsewhere", facts({A: "1"}))  # a machine that never was in the cluster
    await speaker.publish(facts({A: "1"}))
    await whole.start()
    await whole.labels_are("w-gone", {A: "1"})
    assert await told() == ["w-gone", "w-gone-elsewhere", "w-gone-not"]
    whole.cluster.delete_node("w-gone")
    await eventually(becomes(told, ["w-gone-elsewhere", "w-gone-not"]))
    await speaker.publish(facts({A: "2"}))  # as its detector does as long as the machine runs
    assert await whole.bus.has_key("w-gone")
    await whole.bus.settled_writes()
    assert await told() == ["w-gone-elsewhere", "w-gone-not"]
    whole.cluster.create_node("w-gone")
    await eventually(becomes(told, ["w-gone", "w-gone-elsewhere", "w-gone-not"]))
    assert not await whole.bus.has_key("w-gone", KUBERNETES)


async def test_what_says_so_outlives_the_labeler_and_goes_with_the_last_of_the_facts(
    whole: Whole, bus: "Bus", facts: "MakeFacts", told: Told, eventually: "Eventually"
) -> None:
    for node in ("w-gone-1", "w-gone-2"):
        whole.cluster.create_node(node)
        await detector(bus, node).publish(facts({A: "1"}))
    first = await whole.start()
    await whole.labels_are("w-gone-1", {A: "1"})
    await whole.labels_are("w-gone-2", {A: "1"})
    whole.cluster.delete_node("w-gone-1")
    await eventually(becomes(told, ["w-gone-2"]))
    await first.end()
    whole.cluster.delete_node("w-gone-2")
    whole.cluster.create_node("w-gone-1")
    await whole.start(gone_seconds=1.0)
    await eventually(becomes(told, ["w-gone-1"]))
    await whole.bus.no_key("w-gone-2")
    await whole.bus.no_key("w-gone-2", KUBERNETES)
    assert await told() == ["w-gone-1"]


async def test_it_is_said_again_where_it_was_lost(
    whole: Whole, bus: "Bus", facts: "MakeFacts", told: Told, eventually: "Eventually"
) -> None:
    whole.cluster.create_node("w-gone")
    await detector(bus, "w-gone").publish(facts({A: "1"}))
    await whole.start()
    await whole.labels_are("w-gone", {A: "1"})
    whole.cluster.delete_node("w-gone")
    await eventually(becomes(told, []))
    key = snapshot_key("w-gone", KUBERNETES)
    said = await bus.store.get(Bucket.NODES, key)
    assert said is not None
    await bus.store.purge(Bucket.NODES, key, up_to=said.revision)

    async def is_new() -> bool:
        now = await bus.store.get(Bucket.NODES, key)
        return now is not None and now.revision > said.revision and now.data == said.data

    await eventually(is_new)
    await eventually(becomes(told, []))
