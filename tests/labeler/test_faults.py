"""What happens to the bus, and that no label changes by it."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.keys import program, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.labels import LabelState

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, MakeFacts, Start

PREFIX = "feature.node.kubernetes.io/"
NODES = [f"n{number}" for number in range(20)]


async def _publish_all(bus: "Bus", facts: "MakeFacts") -> None:
    for node in NODES:
        await bus.publish(node, facts({"name": node}))


async def _has_all(bus: "Bus") -> None:
    for node in NODES:
        await bus.labels_that(node, {f"{PREFIX}name": node}.__eq__)


@pytest.mark.parametrize("lose", ["purge", "delete"])
async def test_lost_labels_come_back_also_those_that_are_only_kept(
    bus: "Bus", start: "Start", facts: "MakeFacts", lose: str
) -> None:
    await _publish_all(bus, facts)
    await start()
    await _has_all(bus)
    await bus.publish("n0", facts({}, {}, "local.label"))
    await bus.labels_that("n0", bool)
    await (bus.purge if lose == "purge" else bus.delete)(Bucket.LABELS)
    if lose == "delete":
        await bus.make_streams()
    await _has_all(bus)
    memory = await bus.memory("n0")
    assert memory
    assert memory.labels[f"{PREFIX}name"].state is LabelState.KEPT


@pytest.mark.parametrize("lose", ["purge", "delete"])
async def test_lost_facts_change_no_label_and_facts_that_come_again_do(
    bus: "Bus", start: "Start", facts: "MakeFacts", lose: str
) -> None:
    await _publish_all(bus, facts)
    await start()
    await _has_all(bus)
    before = await bus.settled_writes()
    await (bus.purge if lose == "purge" else bus.delete)(Bucket.NODES)
    if lose == "delete":
        await bus.make_streams()
    await bus.resync("n1", facts({"name": "other"}))
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}name": "other"})
    await bus.resync("n1", facts({"name": "n1"}))
    await _has_all(bus)
    assert await bus.settled_writes() == before + 2


async def test_a_store_that_is_wiped_while_the_server_is_down_changes_no_label(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await _publish_all(bus, facts)
    await start()
    await _has_all(bus)
    await bus.publish("n0", facts({}, {}, "local.label"))
    bus.server.kill()
    bus.server.wipe()
    bus.server.start()
    await _has_all(bus)
    assert await bus.settled_writes() == len(NODES)
    await bus.resync("n1", facts({"name": "other"}))
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}name": "other"})


async def test_a_labeler_that_starts_when_the_facts_are_lost_writes_nothing(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await _publish_all(bus, facts)
    first = await start()
    await _has_all(bus)
    await first.end()
    before = await bus.settled_writes()
    await bus.purge(Bucket.NODES)
    await start()
    await _has_all(bus)
    assert await bus.settled_writes() == before
    await bus.resync("n1", facts({"name": "other"}))
    await bus.labels_that("n1", lambda labels: labels == {f"{PREFIX}name": "other"})


@pytest.mark.parametrize("body", [b"\xc1", b"\x81\xa7version\x63"], ids=["no message", "of a newer version"])
async def test_labels_of_a_producer_that_cannot_be_read_stay_when_the_labeler_starts_again(
    bus: "Bus", start: "Start", facts: "MakeFacts", body: bytes
) -> None:
    await bus.publish("n0", facts({"name": "n0"}))
    await bus.publish("n0", facts({"site": "1"}), program("site"))
    first = await start()
    await bus.labels_that("n0", lambda labels: f"{PREFIX}site" in labels)
    await first.end()
    await bus.store.put(Bucket.NODES, snapshot_key("n0", program("site")), body)
    await start()
    await bus.settled_writes()
    assert (await bus.labels("n0")).keys() == {f"{PREFIX}name", f"{PREFIX}site"}


async def test_labels_whose_record_was_lost_before_the_start_are_made_again(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await _publish_all(bus, facts)
    first = await start()
    await _has_all(bus)
    await first.end()
    await bus.purge(Bucket.LABELS)
    await start()
    await _has_all(bus)


async def test_changes_during_an_outage_are_labels_when_the_server_is_back(
    bus: "Bus", start: "Start", facts: "MakeFacts"
) -> None:
    await _publish_all(bus, facts)
    await start()
    await _has_all(bus)
    bus.server.kill()
    bus.server.start()
    for node in NODES:
        await bus.resync(node, facts({"name": node, "after": "1"}))
    for node in NODES:
        await bus.labels_that(node, lambda labels: f"{PREFIX}after" in labels)


async def test_a_server_that_freezes_loses_no_change(bus: "Bus", start: "Start", facts: "MakeFacts") -> None:
    await _publish_all(bus, facts)
    await start()
    await _has_all(bus)
    for node in NODES:
        await bus.publish(node, facts({"name": node, "before": "1"}))
    bus.server.freeze()
    await asyncio.sleep(2)  # the case is a server that does nothing for so long: twice the lease, four pings
    bus.server.thaw()
    for node in NODES:
        await bus.labels_that(node, lambda labels: f"{PREFIX}before" in labels)
    await bus.resync("n1", facts({"name": "n1", "after": "1"}))
    await bus.labels_that("n1", lambda labels: f"{PREFIX}after" in labels)
