"""Whole labelers on a real API server and a real bus: cases Z of the catalogue of node cases, and what the cluster tells."""

import asyncio
from typing import TYPE_CHECKING

from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import GROUPS, RULES, Objects
from tests.labeler.cluster.whole import Whole

from nodeworthy.bus.keys import KUBERNETES, node_feature
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet

if TYPE_CHECKING:
    from tests.kubernetes.fixtures import Kubectl
    from tests.labeler.conftest import MakeFacts

A, B = "x.org/a", "x.org/b"
HAS_X = {"lab.a": FeatureSet(attributes={"x": "1"})}


async def test_a_node_gets_its_labels_and_a_restart_writes_nothing_but_the_lease(
    whole: Whole, facts: "MakeFacts"
) -> None:
    """Case Z1."""
    for number in range(5):
        whole.cluster.create_node(f"w-{number}")
        await whole.bus.publish(f"w-{number}", facts({A: str(number)}))
    first = await whole.start()
    for number in range(5):
        await whole.labels_are(f"w-{number}", {A: str(number)})
    await whole.bus.settled_writes()
    await first.end()
    mark = whole.cluster.mark_requests()
    records = await whole.bus.writes()
    second = await whole.start()
    await whole.bus.settled_writes()
    await second.end()
    assert {request.resource for request in whole.writes(mark)} == {"leases.coordination.k8s.io"}
    assert await whole.bus.writes() == records


async def test_a_node_is_patched_once_for_a_change(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("w-once")
    await whole.bus.publish("w-once", facts({A: "1"}))
    await whole.start()
    await whole.labels_are("w-once", {A: "1"})
    await whole.bus.settled_writes()
    mark = whole.cluster.mark_requests()
    await whole.bus.publish("w-once", facts({A: "2", B: "1"}))
    await whole.labels_are("w-once", {A: "2", B: "1"})
    await whole.bus.settled_writes()
    assert [request.resource for request in whole.writes(mark) if request.name == "w-once"] == ["nodes"]


async def test_labels_stay_when_their_detector_falls_silent_or_the_bus_loses_its_facts(
    whole: Whole, facts: "MakeFacts"
) -> None:
    """Case Z2."""
    whole.cluster.create_node("w-silent")
    await whole.bus.publish("w-silent", facts({A: "1"}))
    first = await whole.start()
    await whole.labels_are("w-silent", {A: "1"})
    await whole.bus.settled_writes()
    mark = whole.cluster.mark_requests()
    await first.end()
    await whole.bus.purge(Bucket.NODES)
    await whole.bus.purge(Bucket.LABELS)
    await whole.start()
    await whole.bus.settled_writes()
    assert whole.labels("w-silent") == {A: "1"}
    assert [request for request in whole.writes(mark) if request.resource == "nodes"] == []


async def test_a_node_made_again_under_its_name_gets_labels_from_new_facts_only(
    whole: Whole, facts: "MakeFacts"
) -> None:
    """Case Z3."""
    whole.cluster.create_node("w-again")
    await whole.bus.publish("w-again", facts({A: "old"}))
    await whole.start()
    await whole.labels_are("w-again", {A: "old"})
    whole.cluster.delete_node("w-again")
    await whole.bus.no_record("w-again")
    await asyncio.sleep(1.1)  # the API tells whole seconds when a Node was made
    whole.cluster.create_node("w-again")
    await whole.bus.settled_writes()
    assert whole.labels("w-again") == {}
    await whole.bus.publish("w-again", facts({A: "new", B: "1"}))
    await whole.labels_are("w-again", {A: "new", B: "1"})


async def test_facts_of_a_node_that_does_not_exist_make_no_node(whole: Whole, facts: "MakeFacts") -> None:
    await whole.bus.publish("w-phantom", facts({A: "1"}))
    whole.cluster.create_node("w-real")
    await whole.bus.publish("w-real", facts({A: "1"}))
    await whole.start()
    await whole.labels_are("w-real", {A: "1"})
    await whole.bus.settled_writes()
    assert whole.cluster.admin.request("GET", "/api/v1/nodes/w-phantom").status == 404
    assert await whole.bus.memory("w-phantom") is None


async def test_an_owned_label_that_a_user_deleted_is_restored_and_an_own_one_of_the_user_stays(
    whole: Whole, facts: "MakeFacts"
) -> None:
    """Cases Z4 and Z5."""
    whole.cluster.create_node("w-user")
    await whole.bus.publish("w-user", facts({A: "1"}))
    await whole.start()
    await whole.labels_are("w-user", {A: "1"})
    change = {"metadata": {"labels": {A: None, "x.org/mine": "1"}}}
    whole.cluster.admin.must("PATCH", "/api/v1/nodes/w-user?fieldManager=kubectl-label", change, content=MERGE)
    await whole.labels_are("w-user", {A: "1", "x.org/mine": "1"})


async def test_a_conflict_is_an_event_on_the_node(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("w-conflict", {A: "theirs"})
    await whole.bus.publish("w-conflict", facts({A: "ours"}))
    await whole.start()
    event = await whole.event_on("w-conflict")
    assert (event["reason"], event["type"]) == ("LabelConflict", "Warning")
    assert event["note"] == (
        "label x.org/a should be 'ours' by default labels of local.label, and it has the value 'theirs' by kubelet"
    )


async def test_rules_are_objects_and_a_rule_that_is_deleted_takes_its_labels_and_nothing_else(
    whole: Whole, facts: "MakeFacts", objects: Objects
) -> None:
    """Case Z6."""
    for name in ("w-rule-1", "w-rule-2"):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({A: "1"}, HAS_X))
    path = objects.rule("r-labels", {"x.org/r": "1"}, annotations={"x.org/note": "by a rule"})
    await whole.start()
    await whole.labels_are("w-rule-1", {A: "1", "x.org/r": "1"})
    assert whole.object("w-rule-1")["metadata"]["annotations"]["x.org/note"] == "by a rule"
    objects.change_rule(path, {"x.org/r": "2"})
    for name in ("w-rule-1", "w-rule-2"):
        await whole.labels_are(name, {A: "1", "x.org/r": "2"})
    objects.delete(path)
    for name in ("w-rule-1", "w-rule-2"):
        await whole.labels_are(name, {A: "1"})


async def test_a_rule_that_comes_later_keeps_what_others_gave_each_node_before_and_meanwhile(
    whole: Whole, facts: "MakeFacts", objects: Objects
) -> None:
    names = ("w-late-1", "w-late-2")
    for name in names:
        whole.cluster.create_node(name, {B: name})
        await whole.bus.publish(name, facts({A: "1"}, HAS_X))
    await whole.start()
    for name in names:
        await whole.labels_are(name, {A: "1", B: name})
    change = {"metadata": {"labels": {B: "meanwhile"}}}
    whole.cluster.admin.must("PATCH", "/api/v1/nodes/w-late-2?fieldManager=driver", change, content=MERGE)
    await whole.bus.settled_writes()
    objects.rule("r-late", {B: "ours", "x.org/r": "1"})
    for name, live, owner in zip(names, ("w-late-1", "meanwhile"), ("kubelet", "driver"), strict=True):
        await whole.labels_are(name, {A: "1", B: live, "x.org/r": "1"})
        assert (await whole.event_on(name))["note"].endswith(f"and it has the value {live!r} by {owner}")


async def test_what_a_node_feature_says_is_mirrored_and_labels_its_node(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    whole.cluster.create_node("w-feature")
    await whole.bus.publish("w-feature", facts({A: "1", B: "detector"}))
    objects.rule("r-feature", {"x.org/r": "1"})
    path = objects.feature(namespace, "vendor", "w-feature", labels={B: "vendor"}, attributes={"lab.a": {"x": "1"}})
    await whole.start()
    await whole.labels_are("w-feature", {A: "1", B: "vendor", "x.org/r": "1"})
    assert await whole.bus.has_key("w-feature", node_feature(namespace, "vendor"))
    objects.change_feature(path, {B: "other"})
    await whole.labels_are("w-feature", {A: "1", B: "other", "x.org/r": "1"})
    objects.delete(path)
    await whole.labels_are("w-feature", {A: "1", B: "detector"})
    assert not await whole.bus.has_key("w-feature", node_feature(namespace, "vendor"))


async def test_a_node_feature_of_a_namespace_that_is_not_allowed_is_not_used(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    whole.cluster.create_node("w-allowed")
    await whole.bus.publish("w-allowed", facts({A: "1"}))
    objects.feature("default", "stranger", "w-allowed", labels={A: "stranger"})
    objects.feature(namespace, "vendor", "w-allowed", labels={B: "vendor"})
    objects.feature(namespace, "phantom", "w-no-such-node", labels={B: "vendor"})
    await whole.start(node_feature_namespaces=frozenset({namespace}))
    await whole.labels_are("w-allowed", {A: "1", B: "vendor"})
    assert whole.cluster.admin.request("GET", "/api/v1/nodes/w-no-such-node").status == 404


async def test_labels_by_a_node_feature_stay_when_the_bus_is_lost_while_nobody_labels(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    whole.cluster.create_node("w-lost")
    await whole.bus.publish("w-lost", facts({A: "1"}))
    objects.feature(namespace, "vendor", "w-lost", labels={B: "vendor"})
    first = await whole.start()
    await whole.labels_are("w-lost", {A: "1", B: "vendor"})
    await whole.bus.settled_writes()
    await first.end()
    await whole.bus.purge(Bucket.NODES)
    await whole.bus.resync("w-lost", facts({A: "1"}))
    mark = whole.cluster.mark_requests()
    await whole.start()
    await whole.bus.settled_writes()
    assert await whole.bus.has_key("w-lost", node_feature(namespace, "vendor"))
    assert [request for request in whole.writes(mark) if request.resource == "nodes"] == []


async def test_a_node_without_a_detector_has_the_facts_of_its_kubelet_until_there_is_one(
    whole: Whole, facts: "MakeFacts"
) -> None:
    whole.cluster.create_node("w-windows", node_info={"operatingSystem": "windows", "kernelVersion": "10.0.20348.2113"})
    await whole.start(info_seconds=3.0)
    stored = await whole.bus.snapshot_of("w-windows", KUBERNETES)
    assert stored["kubernetes.node"] == {
        "os": "windows",
        "architecture": "amd64",
        "kernel_version": "10.0.20348.2113",
        "os_image": "Debian GNU/Linux 13 (trixie)",
        "container_runtime": "containerd://2.1.4",
        "kubelet_version": "v1.35.4",
    }
    assert "system.architecture" not in stored
    await whole.bus.publish("w-windows", facts({A: "1"}))
    await whole.labels_are("w-windows", {A: "1"})
    await whole.bus.no_key("w-windows", KUBERNETES)


async def test_what_the_bus_holds_of_a_node_that_is_gone_is_removed_after_a_while(
    whole: Whole, facts: "MakeFacts"
) -> None:
    whole.cluster.create_node("w-left")
    await whole.bus.publish("w-left", facts({A: "1"}))
    await whole.start(gone_seconds=1.0)
    await whole.labels_are("w-left", {A: "1"})
    whole.cluster.delete_node("w-left")
    await whole.bus.no_key("w-left")


async def test_a_rule_has_a_status_that_is_written_once(
    whole: Whole, facts: "MakeFacts", objects: Objects, kubectl: "Kubectl"
) -> None:
    for name, has in (("w-status-1", HAS_X), ("w-status-2", {})):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({A: "1"}, has))
    objects.rule("r-status", {"x.org/r": "1", "kubernetes.io/no": "1"})
    first = await whole.start(status_seconds=0.2)
    rule = await whole.object_is(RULES, "r-status", lambda rule: "status" in rule)
    status = rule["status"]
    (accepted,) = status["conditions"]
    assert (accepted["type"], accepted["status"], status["observedGeneration"]) == ("Accepted", "True", 1)
    assert status["nodesMatched"] == 1
    assert status["rules"] == [{"name": "r-status", "matched": 1, "unmatched": 1}]
    assert [refusal["key"] for refusal in status["refusals"]] == ["kubernetes.io/no"]
    assert kubectl("get", "nfr", "r-status", "--no-headers").stdout.split()[:3] == ["r-status", "True", "1"]
    await first.end()
    mark = whole.cluster.mark_requests()
    await whole.start(status_seconds=0.1)
    await whole.bus.settled_writes(1.0)
    assert {request.resource for request in whole.writes(mark)} == {"leases.coordination.k8s.io"}
    await whole.bus.publish("w-status-2", facts({A: "1"}, HAS_X))
    await whole.object_is(RULES, "r-status", lambda rule: rule["status"]["nodesMatched"] == 2)


async def test_the_members_of_a_group_are_in_its_status_in_any_namespace(
    whole: Whole, facts: "MakeFacts", objects: Objects, namespace: str
) -> None:
    for name, has in (("w-member", HAS_X), ("w-other", {})):
        whole.cluster.create_node(name)
        await whole.bus.publish(name, facts({A: "1"}, has))
    objects.group(namespace, "g", key="x")
    await whole.start(status_seconds=0.2)
    collection = GROUPS.format(namespace)
    group = await whole.object_is(collection, "g", lambda group: bool(group.get("status", {}).get("nodes")))
    assert group["status"]["nodes"] == [{"name": "w-member"}]
    await whole.bus.publish("w-other", facts({A: "1"}, HAS_X))
    await whole.object_is(collection, "g", lambda group: len(group["status"]["nodes"]) == 2)


async def test_rules_are_in_force_where_their_definition_has_no_status_as_nfds(
    whole: Whole, facts: "MakeFacts", objects: Objects
) -> None:
    whole.cluster.create_node("w-plain")
    await whole.bus.publish("w-plain", facts({A: "1"}, HAS_X))
    path = objects.rule("r-plain", {"x.org/r": "1"})
    with objects.without_status("nodefeaturerules", path):
        mark = whole.cluster.mark_requests()
        await whole.start(status_seconds=0.1)
        await whole.labels_are("w-plain", {A: "1", "x.org/r": "1"})
        await whole.bus.settled_writes(1.0)
    # Asked once, and then never again.
    asked = [request.status for request in whole.writes(mark) if request.resource.endswith("/status")]
    assert asked == [404]
