"""``nodeworthy labels diff`` on a real API server, before any labeler is there."""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.cli.labels.nodes import PREFIX, NfdMaster
from tests.labeler.cluster.objects import Objects

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.features import FeatureSet, Snapshot

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Verb
    from tests.kubernetes.cluster import Cluster

FACTS = {"lab.a": {"x": "1"}}


def diff(verb: "Verb", cluster: "Cluster", *arguments: str, code: int) -> Any:
    options = ("-o", "json", "--kubeconfig", str(cluster.kubeconfig))
    return json.loads(verb("labels", "diff", *arguments, *options, code=code).stdout)


def keys(found: Any) -> dict[tuple[str, str], str]:
    return {(one["node"], one["label"]): one["after"] for one in found["changes"]}


def test_it_tells_what_an_nfd_cluster_would_get_and_writes_nothing(
    cluster: "Cluster", objects: Objects, verb: "Verb"
) -> None:
    for name in ("n1", "n2"):
        cluster.create_node(name)
    objects.rule("r1", {"x.org/a": "1"}, annotations={f"{PREFIX}note": "b"}, resources={f"{PREFIX}slots": "4"})
    objects.feature("default", "n1", "n1", attributes=FACTS | {"cpu.model": {"id": "85"}}, labels={"v.org/x": "y"})
    mark = cluster.mark_requests()
    found = diff(verb, cluster, code=1)
    assert not cluster.read_writes(mark)
    of_n1 = {(one.get("kind", "label"), one["label"]): one["after"] for one in found["changes"] if one["node"] == "n1"}
    wanted = {
        ("label", "x.org/a"): "1",
        ("label", "v.org/x"): "y",
        ("label", f"{PREFIX}cpu-model.id"): "85",
        ("annotation", f"{PREFIX}note"): "b",
        ("extended resource", f"{PREFIX}slots"): "4",
    }
    assert wanted.items() <= of_n1.items()
    assert not any(one["label"] == "x.org/a" for one in found["changes"] if one["node"] == "n2")
    assert {node for node, _ in keys(diff(verb, cluster, "n1", code=1))} == {"n1"}


def test_a_node_without_any_detector_is_known_by_its_kubelet(cluster: "Cluster", verb: "Verb") -> None:
    cluster.create_node("n1", node_info={"kernelVersion": "6.8.1-lab"})
    assert keys(diff(verb, cluster, "n1", code=1))["n1", f"{PREFIX}kernel-version.full"] == "6.8.1-lab"


def test_what_nfd_has_labelled_alike_would_not_change(
    cluster: "Cluster", objects: Objects, nfd: NfdMaster, verb: "Verb"
) -> None:
    cluster.create_node("n1")
    objects.rule("r1", {"x.org/a": "1", "x.org/b": "2"})
    objects.feature("default", "n1", "n1", attributes=FACTS)
    nfd.label("n1", {"x.org/a": "1", "x.org/b": "other"})
    found = diff(verb, cluster, code=1)
    assert not {label for _, label in keys(found)} & {"x.org/a", "x.org/b"}
    assert found["conflicts"] == 1


def test_a_folder_shows_what_would_be_if_it_were_applied(
    cluster: "Cluster", objects: Objects, verb: "Verb", tmp_path: Path
) -> None:
    cluster.create_node("n1")
    objects.rule("r1", {"x.org/a": "1"})
    objects.feature("default", "n1", "n1", attributes=FACTS)
    (tmp_path / "rules").mkdir()
    term = {"feature": "lab.a", "matchExpressions": {"x": {"op": "Exists"}}}
    spec = {"rules": [{"name": "r1", "labels": {"x.org/a": "2"}, "matchFeatures": [term]}]}
    rule = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": "r1"},
        "spec": spec,
    }
    (tmp_path / "rules" / "r1.json").write_text(json.dumps(rule))
    assert keys(diff(verb, cluster, code=1))["n1", "x.org/a"] == "1"
    assert keys(diff(verb, cluster, "--rules", "rules", code=1))["n1", "x.org/a"] == "2"


async def test_facts_of_a_node_that_is_gone_do_not_count_for_the_next_of_its_name(
    cluster: "Cluster", objects: Objects, facts_bus: "FactsBus", verb: "Verb"
) -> None:
    objects.rule("r1", {"x.org/a": "1"})
    old = Identity("n1", DETECTOR, Session("boot-1", 1), "uid-of-another")
    facts = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, {}, frozenset())
    await SnapshotPublisher(facts_bus.store, old).publish(facts)
    stored = time.time()
    # A Node tells its age in whole seconds.
    while datetime.fromisoformat(cluster.create_node("n1")["metadata"]["creationTimestamp"]).timestamp() < stored:
        cluster.delete_node("n1")
    assert ("n1", "x.org/a") not in keys(diff(verb, cluster, *facts_bus.options, code=1))


def test_without_the_bus_it_says_that_labels_that_would_go_are_not_told(
    cluster: "Cluster", nfd: NfdMaster, verb: "Verb"
) -> None:
    cluster.create_node("n1")
    nfd.label("n1", {"x.org/a": "1"})
    options = ("--kubeconfig", str(cluster.kubeconfig))
    assert "labels that would go" not in verb("labels", "diff", *options, code=1).stderr
    verb("labels", "adopt", *options)
    assert "labels that would go are not told" in verb("labels", "diff", *options, code=1).stderr


def test_an_object_that_speaks_of_no_node_is_told(cluster: "Cluster", objects: Objects, verb: "Verb") -> None:
    cluster.create_node("n1")
    objects.feature("default", "stray", "nowhere", attributes=FACTS)
    done = verb("labels", "diff", "--kubeconfig", str(cluster.kubeconfig), code=1)
    assert "not used: NodeFeature default/stray: there is no Node nowhere\n" in done.stderr


def test_without_rules_and_without_a_cluster_nobody_knows(facts_bus: "FactsBus", verb: "Verb") -> None:
    assert "nobody knows the rules" in verb("labels", "diff", *facts_bus.options, code=2).stderr


def test_a_node_that_is_not_there_is_told(cluster: "Cluster", verb: "Verb") -> None:
    done = verb("labels", "diff", "nowhere", "--kubeconfig", str(cluster.kubeconfig), code=2)
    assert "there is no Node nowhere" in done.stderr
