"""Everything breaks at once, for long, or again and again: in the end all Nodes are right, and on the way no label goes."""

import asyncio
import math
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest
from tests.labeler.cluster.objects import RULES, Objects
from tests.labeler.cluster.replicas import KEY, History, publish_all
from tests.labeler.cluster.whole import Whole
from yarl import URL

from nodeworthy.features import FeatureSet
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.credentials import FixedCredentials, Shown, bearer
from nodeworthy.labels import LabelState

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

NAMES = [f"b-{number}" for number in range(8)]
PATCH = "/api/v1/nodes/"
NODES_WATCH = r"/api/v1/nodes\?.*watch="
HAS_X = {"lab.a": FeatureSet(attributes={"x": "1"})}


@pytest.fixture
def broken(cluster: "Cluster", fault_proxy: "FaultProxy", namespace: str) -> Access:
    """The API server behind the proxy that breaks it."""
    shown = Shown(bearer(cluster.tokens["admin"]))
    return Access(URL(fault_proxy.url), FixedCredentials(shown), namespace=namespace)


@pytest.fixture
def whole(cluster: "Cluster", broken: Access, bus: "Bus", start: "Start", eventually: "Eventually") -> Whole:
    return Whole(cluster, broken, bus, start, eventually)


@pytest.fixture
async def history(cluster: "Cluster") -> History:
    for name in NAMES:
        cluster.create_node(name)
    return History(NAMES)


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_refusals_lost_answers_and_broken_connections_ends_with_every_node_right(
    whole: Whole,
    client: Client,
    facts: "MakeFacts",
    fault_proxy: "FaultProxy",
    history: History,
    eventually: "Eventually",
    seed: int,
) -> None:
    chance = random.Random(seed)
    faults = []
    await publish_all(whole, facts, NAMES, 0)
    await whole.start()
    async with history.followed(client):
        await eventually(history.has_all(0))
        for count in range(1, 6):
            for _ in range(10):
                make = chance.choice((fault_proxy.drop, fault_proxy.lose_answer, None))
                if make is not None:
                    faults.append(make("PATCH", PATCH))
                else:
                    status = chance.choice((409, 429, 502, 503, 504))  # what is never about a key
                    retry_after = 1 if status == 429 else None
                    faults.append(fault_proxy.answer("PATCH", PATCH, status, retry_after=retry_after))
            if chance.random() < 0.5:
                fault_proxy.answer("GET", "/api/v1/nodes", chance.choice((410, 429, 500)), times=2)
                fault_proxy.break_connections()
            await publish_all(whole, facts, NAMES, count)
        await eventually(history.has_all(5), seconds=60)
        await whole.bus.settled_writes()
    assert sum(fault.hits for fault in faults) > len(faults) / 2
    assert history.is_monotonic()
    assert not history.was_taken


@pytest.mark.parametrize("status", [403, 422, 500])
async def test_a_key_that_was_refused_since_a_webhook_failed_just_then_is_soon_tried_again(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy", monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """As if the key were to blame: the whole request is refused, one without the key is taken, and one with it is not."""
    monkeypatch.setattr("nodeworthy_labeler.cluster.refusals.FIRST_SECONDS", 3.0)
    whole.cluster.create_node("b-webhook")
    await whole.bus.publish("b-webhook", facts({KEY: "0", "x.org/stays": "1"}))
    await whole.start()
    await whole.labels_are("b-webhook", {KEY: "0", "x.org/stays": "1"})
    fault_proxy.answer("PATCH", r"/b-webhook\?(?!.*dryRun)", status)
    passed = fault_proxy.hold("PATCH", r"/b-webhook\?.*dryRun")
    assert passed.released is not None
    passed.released.set()
    refused = fault_proxy.answer("PATCH", r"/b-webhook\?.*dryRun", status)
    await whole.bus.publish("b-webhook", facts({KEY: "1", "x.org/stays": "1"}))
    await refused.reached.wait()
    await whole.labels_are("b-webhook", {"x.org/stays": "1"})
    await whole.labels_are("b-webhook", {KEY: "1", "x.org/stays": "1"})


async def test_an_api_server_and_a_bus_that_are_away_together_lose_no_change(
    whole: Whole, facts: "MakeFacts", bus: "Bus"
) -> None:
    whole.cluster.create_node("b-both")
    await whole.bus.publish("b-both", facts({KEY: "0", "x.org/stays": "1"}))
    await whole.start()
    await whole.labels_are("b-both", {KEY: "0", "x.org/stays": "1"})
    bus.server.kill()
    whole.cluster.api_server.kill()
    bus.server.start()
    await bus.make_streams()
    await whole.bus.resync("b-both", facts({KEY: "1", "x.org/stays": "1"}))
    await asyncio.to_thread(whole.cluster.restart_api_server)
    await whole.labels_are("b-both", {KEY: "1", "x.org/stays": "1"})


async def test_an_api_server_that_restarts_again_and_again_under_load_loses_no_change(
    whole: Whole, facts: "MakeFacts"
) -> None:
    whole.cluster.create_node("b-restart")
    await whole.bus.publish("b-restart", facts({KEY: "0", "x.org/stays": "1"}))
    await whole.start()
    await whole.labels_are("b-restart", {KEY: "0", "x.org/stays": "1"})
    for count in range(1, 4):
        whole.cluster.api_server.kill()
        await whole.bus.publish("b-restart", facts({KEY: str(count), "x.org/stays": "1"}))
        await asyncio.to_thread(whole.cluster.restart_api_server)
        await whole.labels_are("b-restart", {KEY: str(count), "x.org/stays": "1"})


async def test_an_api_server_that_answers_too_late_gets_the_write_again_and_the_labels_are_right(
    whole: Whole, facts: "MakeFacts"
) -> None:
    """Frozen for longer than requests and Leases last: what it was sent before it does when it wakes up."""
    whole.cluster.create_node("b-slow")
    await whole.bus.publish("b-slow", facts({KEY: "0"}))
    await whole.start()
    await whole.labels_are("b-slow", {KEY: "0"})
    whole.cluster.api_server.freeze()
    try:
        for count in (1, 2):
            await whole.bus.publish("b-slow", facts({KEY: str(count)}))
            await asyncio.sleep(2 * whole.settings.limits.timeout)  # there is no event: nothing happens
    finally:
        whole.cluster.api_server.thaw()
    await whole.labels_are("b-slow", {KEY: "2"})
    await whole.bus.settled_writes(1.0)
    assert whole.labels("b-slow") == {KEY: "2"}


async def test_watch_events_that_come_twice_or_late_cause_no_write(
    whole: Whole,
    client: Client,
    facts: "MakeFacts",
    fault_proxy: "FaultProxy",
    history: History,
    eventually: "Eventually",
) -> None:
    passed: list[bytes] = []

    def repeat(line: bytes) -> Iterable[bytes]:
        """Each event twice, and behind it the one before it."""
        passed.append(line)
        return [line, line, *passed[-2:-1]]

    await publish_all(whole, facts, NAMES, 0)
    fault_proxy.rewrite("GET", NODES_WATCH, repeat)
    await whole.start()
    async with history.followed(client):
        await eventually(history.has_all(0))
        await whole.bus.settled_writes()
        mark = whole.cluster.mark_requests()
        await publish_all(whole, facts, NAMES, 1)
        await eventually(history.has_all(1))
        await whole.bus.settled_writes(1.0)
    assert passed
    writes = [request for request in whole.writes(mark) if request.resource == "nodes"]
    assert sorted((request.name, request.status) for request in writes) == [(name, 200) for name in sorted(NAMES)]
    assert history.is_monotonic()


async def test_watch_events_that_are_lost_are_made_up_for_when_the_node_is_written(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy"
) -> None:
    """The labeler does not know that the Node has changed: its write is refused, and made anew from what is there."""
    whole.cluster.create_node("b-unseen")
    await whole.bus.publish("b-unseen", facts({KEY: "0"}))
    fault_proxy.rewrite("GET", NODES_WATCH, lambda _: ())
    await whole.start()
    await whole.labels_are("b-unseen", {KEY: "0"})
    await whole.bus.settled_writes()
    change = {"metadata": {"labels": {"x.org/mine": "1"}}}
    path = "/api/v1/nodes/b-unseen?fieldManager=kubectl-label"
    whole.cluster.admin.must("PATCH", path, change, content="application/merge-patch+json")
    mark = whole.cluster.mark_requests()
    await whole.bus.publish("b-unseen", facts({KEY: "1"}))
    await whole.labels_are("b-unseen", {KEY: "1", "x.org/mine": "1"})
    statuses = [request.status for request in whole.writes(mark) if request.name == "b-unseen"]
    assert statuses == [409, 200]


async def test_a_node_that_is_never_written_and_a_status_that_is_refused_hold_no_other_status_back(
    whole: Whole, facts: "MakeFacts", objects: Objects, fault_proxy: "FaultProxy"
) -> None:
    for name in ("b-good", "b-never"):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({KEY: "1"}, HAS_X))
    for name in ("r-a-refused", "r-b-written"):
        objects.rule(name, {f"x.org/{name}": "1"})
    fault_proxy.answer("PATCH", "/api/v1/nodes/b-never", 503, times=math.inf)
    refused = fault_proxy.answer("PATCH", "/r-a-refused/status", 422, times=math.inf)
    await whole.start(status_seconds=0.05)
    rule = await whole.object_is(RULES, "r-b-written", lambda rule: "status" in rule)
    assert rule["status"]["nodesMatched"] == 2
    assert refused.hits
    assert whole.labels("b-never") == {}


async def test_a_condition_that_was_refused_once_is_written_later(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodeworthy_labeler.cluster.health_conditions.REFUSED_SECONDS", 0.5)
    whole.cluster.create_node("b-condition")
    await whole.bus.publish("b-condition", facts({KEY: "1"}))
    refused = fault_proxy.answer("PATCH", "/b-condition/status", 422)
    await whole.start(has_health_condition=True, health_seconds=0.05)
    await whole.node_is("b-condition", lambda node: "HardwareFactsHealthy" in str(node["status"]["conditions"]))
    assert refused.left == 0


async def test_a_rule_that_gives_5000_labels_gives_as_many_as_a_node_may_have_always_the_same_and_says_so(
    whole: Whole, facts: "MakeFacts", objects: Objects
) -> None:
    """Case Z10 on a whole labeler."""
    whole.cluster.create_node("b-many")
    await whole.bus.publish("b-many", facts({}, HAS_X))
    labels = {f"x.org/l{number:04}": "1" for number in range(5000)}
    path = objects.rule("r-many", labels)
    first = await whole.start()
    await whole.node_is("b-many", lambda node: len(_ours(node["metadata"]["labels"])) == 500)
    before = whole.labels("b-many")
    memory = await whole.bus.record_of("b-many")
    rejected = [entry for entry in memory.labels.values() if entry.state is LabelState.REJECTED]
    assert len(rejected) + memory.left_out == 4500
    assert {entry.reason for entry in rejected} == {"this node has its 500 labels of ours already"}
    await whole.bus.settled_writes()
    await first.end()
    mark = whole.cluster.mark_requests()
    await whole.start()
    await whole.bus.settled_writes()
    assert [request for request in whole.writes(mark) if request.resource == "nodes"] == []
    objects.change_rule(path, dict.fromkeys(labels, "2"))
    await whole.labels_are("b-many", dict.fromkeys(before, "2"))


def _ours(labels: dict[str, str]) -> list[str]:
    return [key for key in labels if key.startswith("x.org/")]
