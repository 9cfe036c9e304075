"""The taint of new nodes, and the condition that tells whether their facts can be relied on, on a real API server."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.kubernetes.api import MERGE, STRATEGIC
from tests.labeler.cluster.whole import Whole

from nodeworthy.bus.keys import program
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, Snapshot, SourceHealth
from nodeworthy_labeler.cluster.detector_reports import Health, Report, Verdict, judge_sources
from nodeworthy_labeler.cluster.health_conditions import CONDITION, judge
from nodeworthy_labeler.settings import StartupTaint

if TYPE_CHECKING:
    from tests.kubernetes.api import Object
    from tests.labeler.conftest import MakeFacts

A = "x.org/a"
TAINT = {"key": "x.org/starting", "effect": "NoSchedule"}
OTHER = {"key": "x.org/starting", "effect": "NoExecute", "value": "theirs"}
STARTING = StartupTaint("x.org/starting", "NoSchedule")
FAILING = SourceHealth(error="no access")
PRESSURE = {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"}


def create(whole: Whole, name: str, *taints: "Object") -> None:
    """A Node whose kubelet registers it with taints."""
    whole.cluster.create_node(name)
    kubelet = whole.cluster.user("admin", user_agent="kubelet/v1.35.4")
    kubelet.must("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": list(taints)}}, content=MERGE)


def taints(node: "Object") -> list["Object"]:
    found: list[Object] = node["spec"].get("taints", [])
    return found


def condition(node: "Object") -> dict[str, str]:
    return next((one for one in node["status"]["conditions"] if one["type"] == CONDITION), {})


def says(health: str, reason: str) -> Any:
    return lambda node: (condition(node).get("status"), condition(node).get("reason")) == (health, reason)


def with_sources(snapshot: Snapshot, **sources: SourceHealth) -> Snapshot:
    return msgspec.structs.replace(snapshot, sources=sources)


async def test_the_taint_goes_when_the_first_labels_are_there_and_only_it(whole: Whole, facts: "MakeFacts") -> None:
    create(whole, "w-taint", TAINT, OTHER)
    create(whole, "w-untainted", OTHER)
    mark = whole.cluster.mark_requests()
    for name in ("w-taint", "w-untainted"):
        await whole.bus.publish(name, facts({A: "1"}))
    await whole.start(startup_taint=STARTING)
    node = await whole.node_is("w-taint", lambda node: TAINT not in taints(node))
    assert node["metadata"]["labels"][A] == "1"
    assert taints(node) == [OTHER]
    await whole.bus.settled_writes()
    assert taints(whole.object("w-untainted")) == [OTHER]
    assert len([one for one in whole.writes(mark) if one.name == "w-taint"]) == 2
    assert len([one for one in whole.writes(mark) if one.name == "w-untainted"]) == 1


async def test_a_node_whose_detector_says_nothing_keeps_the_taint_until_it_does(
    whole: Whole, facts: "MakeFacts"
) -> None:
    create(whole, "w-mute", TAINT)
    create(whole, "w-spoken", TAINT)
    await whole.bus.publish("w-mute", facts({A: "1"}), program("other"))
    await whole.bus.publish("w-spoken", facts({A: "1"}))
    await whole.start(startup_taint=STARTING)
    await whole.labels_are("w-mute", {A: "1"})
    await whole.node_is("w-spoken", lambda node: not taints(node))
    await whole.bus.settled_writes()
    assert taints(whole.object("w-mute")) == [TAINT]
    await whole.bus.publish("w-mute", facts({A: "1"}))
    await whole.node_is("w-mute", lambda node: not taints(node))


async def test_the_taint_stays_while_a_set_of_default_labels_is_still_to_come(whole: Whole, facts: "MakeFacts") -> None:
    create(whole, "w-partly", TAINT)
    many = FeatureSet(flags=frozenset(f"X{number}" for number in range(400)))  # a small set travels in the snapshot
    await whole.bus.publish("w-partly", facts({A: "1"}, {"cpu.cpuid": many}))
    await whole.bus.purge(Bucket.SETS)
    await whole.start(startup_taint=STARTING)
    await whole.labels_are("w-partly", {A: "1"})
    await whole.bus.settled_writes()
    assert taints(whole.object("w-partly")) == [TAINT]
    await whole.bus.publish("w-partly", facts({A: "1"}, {"cpu.cpuid": FeatureSet(flags=frozenset({"AVX2"}))}))
    node = await whole.node_is("w-partly", lambda node: not taints(node))
    assert node["metadata"]["labels"]["feature.node.kubernetes.io/cpu-cpuid.AVX2"] == "true"


async def test_without_the_option_no_taint_is_removed_and_no_condition_written(
    whole: Whole, facts: "MakeFacts"
) -> None:
    create(whole, "w-off", TAINT)
    await whole.bus.publish("w-off", facts({A: "1"}))
    await whole.start(health_seconds=0.05)
    await whole.labels_are("w-off", {A: "1"})
    await whole.bus.settled_writes()
    assert taints(whole.object("w-off")) == [TAINT]
    assert condition(whole.object("w-off")) == {}


async def test_the_condition_follows_the_detector_and_other_conditions_stay(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("w-health", capacity={"x.org/slots": "4"})
    kubelet = whole.cluster.user("admin", user_agent="kubelet/v1.35.4")
    kubelet.must("PATCH", "/api/v1/nodes/w-health/status", {"status": {"conditions": [PRESSURE]}}, content=STRATEGIC)
    await whole.start(has_health_condition=True, health_seconds=0.05)
    await whole.node_is("w-health", says("Unknown", "NoFacts"))
    good = with_sources(facts({A: "1"}), pci=SourceHealth(), usb=SourceHealth())
    await whole.bus.publish("w-health", good)
    first = await whole.node_is("w-health", says("True", "SourcesOk"))
    await whole.bus.publish("w-health", with_sources(good, pci=FAILING, usb=SourceHealth()))
    failing = await whole.node_is("w-health", says("False", "SourcesFailing"))
    assert condition(failing)["message"] == "pci: no access"
    await whole.bus.publish("w-health", with_sources(good, pci=FAILING, usb=FAILING))
    blind = await whole.node_is("w-health", says("False", "Blind"))
    assert condition(blind)["lastTransitionTime"] == condition(failing)["lastTransitionTime"]
    assert [one["type"] for one in blind["status"]["conditions"]] == [
        *(one["type"] for one in first["status"]["conditions"] if one["type"] != CONDITION),
        CONDITION,
    ]
    assert (
        PRESSURE.items() <= next(one for one in blind["status"]["conditions"] if one["type"] == "DiskPressure").items()
    )
    assert blind["status"]["capacity"] == first["status"]["capacity"]
    kubelet.must("PATCH", "/api/v1/nodes/w-health/status", {"status": {"conditions": [PRESSURE]}}, content=STRATEGIC)
    assert says("False", "Blind")(whole.object("w-health"))


async def test_facts_that_are_not_renewed_are_stale(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("w-stale")
    await whole.bus.publish("w-stale", facts({A: "1"}))
    await whole.start(has_health_condition=True, health_seconds=0.05, stale_seconds=2.0)
    await whole.node_is("w-stale", says("True", "SourcesOk"))
    await whole.node_is("w-stale", says("Unknown", "Stale"))
    assert whole.labels("w-stale") == {A: "1"}


async def test_a_restart_writes_no_condition_and_no_taint_also_if_the_bus_lost_the_facts(
    whole: Whole, facts: "MakeFacts"
) -> None:
    create(whole, "w-restart", TAINT)
    await whole.bus.publish("w-restart", facts({A: "1"}))
    changes: dict[str, Any] = {"has_health_condition": True, "health_seconds": 0.05, "startup_taint": STARTING}
    first = await whole.start(**changes)
    await whole.node_is("w-restart", says("True", "SourcesOk"))
    await whole.node_is("w-restart", lambda node: not taints(node))
    await whole.bus.settled_writes()
    await first.end()
    mark = whole.cluster.mark_requests()
    second = await whole.start(**changes)
    await whole.bus.settled_writes()
    await second.end()
    await whole.bus.purge(Bucket.NODES)
    await whole.start(**changes)
    await whole.bus.settled_writes()
    assert {request.resource for request in whole.writes(mark)} == {"leases.coordination.k8s.io"}


async def test_a_condition_that_somebody_else_has_stays_theirs(whole: Whole, facts: "MakeFacts") -> None:
    theirs = {"type": CONDITION, "status": "True", "reason": "Theirs"}
    for name in ("w-theirs", "w-ours"):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, with_sources(facts({A: "1"}), pci=FAILING, usb=SourceHealth()))
    path = "/api/v1/nodes/w-theirs/status"
    whole.cluster.admin.must("PATCH", path, {"status": {"conditions": [theirs]}}, content=STRATEGIC)
    mark = whole.cluster.mark_requests()
    await whole.start(has_health_condition=True, health_seconds=0.05)
    await whole.node_is("w-ours", says("False", "SourcesFailing"))
    await whole.bus.settled_writes()
    assert condition(whole.object("w-theirs"))["reason"] == "Theirs"
    tries = [one for one in whole.writes(mark) if one.name == "w-theirs" and one.resource == "nodes/status"]
    assert len(tries) <= 2  # the first may have been about an old resourceVersion


NOW = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
TRUE, FALSE = Verdict(Health.TRUE, "SourcesOk", ""), Verdict(Health.FALSE, "Blind", "")
SAID = {"status": "True", "reason": "SourcesOk"}


@pytest.mark.parametrize(
    ("age", "verdict", "note", "listened", "expected"),
    [
        (10, TRUE, {}, 0, "SourcesOk"),
        (10, TRUE, SAID, 0, None),
        (10, FALSE, SAID, 0, "Blind"),
        (101, TRUE, {}, 0, "Stale"),
        (101, TRUE, SAID, 99, None),
        (101, TRUE, SAID, 101, "Stale"),
        (None, TRUE, {}, 0, "NoFacts"),
        (None, TRUE, SAID, 99, None),
        (None, TRUE, SAID, 101, "NoFacts"),
        (None, TRUE, {"status": "Unknown", "reason": "NoFacts"}, 101, None),
    ],
)
def test_a_detector_counts_as_silent_only_after_it_was_listened_for(
    age: float | None, verdict: Verdict, note: dict[str, str], listened: float, expected: str | None
) -> None:
    report = None if age is None else Report(NOW - age, verdict, frozenset())
    found = judge(report, note, since=NOW - listened, now=NOW, stale_seconds=100)
    assert (found and found.reason) == expected


def test_a_source_that_is_switched_off_does_not_see_and_is_no_fault() -> None:
    off = SourceHealth(disabled=True)
    assert judge_sources({"pci": SourceHealth(), "usb": off}).health is Health.TRUE
    assert judge_sources({"pci": FAILING, "usb": off, "bus": SourceHealth()}).reason == "Blind"


def test_the_message_of_a_condition_is_bounded() -> None:
    assert len(judge_sources({"pci": SourceHealth(error="x" * 10_000)}).message) == 500


@pytest.mark.parametrize(
    ("taint", "effects"),
    [(StartupTaint("k", "NoSchedule"), ["NoSchedule"]), (StartupTaint("k"), ["NoExecute", "NoSchedule"])],
)
def test_a_taint_without_an_effect_means_all_of_its_key(taint: StartupTaint, effects: list[str]) -> None:
    assert [effect for effect in ("NoExecute", "NoSchedule") if taint.is_like("k", effect)] == effects
    assert not taint.is_like("other", "NoSchedule")
