"""``nodeworthy conflicts``: both values and both owners, from the bus and from a real API server."""

import json
from typing import TYPE_CHECKING

from tests.cli.labels.test_labels import MEMORY, put, rows
from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import Objects

from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, Snapshot

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Verb
    from tests.kubernetes.cluster import Cluster

HEADS = ["NODE", "KIND", "KEY", "WANTED", "BY RULE", "THERE", "OWNER"]


async def test_conflicts_are_what_the_labelers_have_noted(facts_bus: "FactsBus", verb: "Verb") -> None:
    await put(facts_bus, "node-1", MEMORY)
    done = verb("conflicts", *facts_bus.options)
    row = ["node-1", "label", "x.org/conflict", "2", "rule object/rule", "theirs", "kubectl"]
    assert rows(done.stdout) == [HEADS, row]
    assert verb("conflicts", "node-2", *facts_bus.options).stderr == "there are no conflicts\n"


async def test_a_record_that_cannot_be_read_may_hold_conflicts(facts_bus: "FactsBus", verb: "Verb") -> None:
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), b"junk")
    assert "not known: node-1" in verb("conflicts", *facts_bus.options, code=3).stderr


async def test_conflicts_are_worked_out_from_a_cluster_before_any_labeler_runs(
    cluster: "Cluster", objects: Objects, facts_bus: "FactsBus", verb: "Verb"
) -> None:
    cluster.create_node("n1")
    person = cluster.user("admin", user_agent="kubectl-label/v1")
    person.must("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"x.org/a": "mine"}}}, content=MERGE)
    objects.rule("r1", {"x.org/a": "1"})
    facts = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, {}, frozenset())
    await facts_bus.publisher("n1").publish(facts)
    options = ("--kubeconfig", str(cluster.kubeconfig), *facts_bus.options, "-o", "json")
    assert json.loads(verb("conflicts", *options).stdout) == {"conflicts": []}
    (found,) = json.loads(verb("conflicts", "--live", *options).stdout)["conflicts"]
    assert found == {
        "node": "n1",
        "label": "x.org/a",
        "wanted": "1",
        "giver": "rule r1/r1",
        "live": "mine",
        "owners": ["kubectl-label"],
    }


def test_without_a_bus_what_nfd_has_found_is_what_counts(cluster: "Cluster", objects: Objects, verb: "Verb") -> None:
    cluster.create_node("n1", {"x.org/a": "mine"})
    objects.rule("r1", {"x.org/a": "1"})
    objects.feature("default", "n1", "n1", attributes={"lab.a": {"x": "1"}})
    done = verb("conflicts", "--kubeconfig", str(cluster.kubeconfig))
    assert rows(done.stdout)[1] == ["n1", "label", "x.org/a", "1", "rule r1/r1", "mine", "kubelet"]


def test_neither_a_bus_nor_a_cluster_is_told(verb: "Verb") -> None:
    assert "no bus is known for cluster local" in verb("conflicts", code=2).stderr
    assert "no Kubernetes API server is known" in verb("conflicts", "--live", code=2).stderr
