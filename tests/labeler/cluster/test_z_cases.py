"""Cases Z2 and Z12 of the catalogue of node cases on a whole labeler; the others are in test_app.py and test_target.py."""

import asyncio
import urllib.request
from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.api import MERGE
from tests.labeler.cluster.whole import Whole

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Identity, compose
from nodeworthy.bus.keys import DETECTOR, snapshot_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.records import Session
from nodeworthy_cli.node_summaries import read_nodes

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

A = "x.org/a"


async def test_a_detector_that_is_away_changes_nothing_but_the_age_of_its_facts(
    whole: Whole, facts: "MakeFacts", bus: "Bus"
) -> None:
    """Case Z2: every timer of a labeler goes off several times, and what the last change of the Node waits for does too."""
    whole.cluster.create_node("z-away")
    await whole.bus.publish("z-away", facts({A: "1"}))
    await whole.start(gone_seconds=0.2, info_seconds=0.2, status_seconds=0.2)
    await whole.labels_are("z-away", {A: "1"})
    await whole.bus.settled_writes()
    mark, record = whole.cluster.mark_requests(), await whole.bus.memory("z-away")
    (before,) = await read_nodes(bus.store, ["z-away"])
    heartbeat = {"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}}
    whole.cluster.admin.must("PATCH", "/api/v1/nodes/z-away?fieldManager=kubelet", heartbeat, content=MERGE)
    await whole.bus.settled_writes(1.0)
    assert whole.labels("z-away") == {A: "1"}
    assert {request.resource for request in whole.writes(mark)} == {"leases.coordination.k8s.io"}
    assert await whole.bus.memory("z-away") == record
    (after,) = await read_nodes(bus.store, ["z-away"])
    assert after.labels == before.labels == {A: "1"}
    assert after.producers[0].age > before.producers[0].age


async def test_what_one_node_says_of_another_is_dropped_and_counted(
    whole: Whole,
    facts: "MakeFacts",
    bus: "Bus",
    start: "Start",
    eventually: "Eventually",
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Case Z12: the key is what the server lets its writer use, the body is what anybody may write into it."""
    for name in ("z-liar", "z-other"):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({A: name}))
    with caplog.at_level("INFO"):
        await start(kubernetes=whole.settings, http_port=0)
    events = {record.message: record.__dict__.get("fields", {}) for record in caplog.records}
    metrics = f"http://127.0.0.1:{events['labeler.http_listening']['port']}/metrics"
    for name in ("z-liar", "z-other"):
        await whole.labels_are(name, {A: name})
    assert "nodeworthy_labeler_facts_refused 0.0\n" in await asyncio.to_thread(read_page, metrics)
    of_other = Identity("z-other", DETECTOR, Session("another boot", 2), "uid-z-other")
    lie = payloads.encode(compose(facts({A: "a lie"}), of_other, sequence=0).message)
    await bus.store.put(Bucket.NODES, snapshot_key("z-liar", DETECTOR), lie)

    async def is_counted() -> bool:
        return "nodeworthy_labeler_facts_refused 1.0\n" in await asyncio.to_thread(read_page, metrics)

    await eventually(is_counted)
    await whole.bus.settled_writes()
    for name in ("z-liar", "z-other"):
        assert whole.labels(name) == {A: name}


def read_page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text: str = answer.read().decode()
        return text
