"""The oracle's cases of kind ``node`` on a real API server: what nfd-master makes of a Node, and what we do.

The rules and NodeFeature objects of a case are read as those of a cluster are, and the Node is real.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.kubernetes.api import MERGE
from tests.labeler.cluster.objects import NODE_LABEL, Objects
from tests.labeler.cluster.one_target import OneTarget
from tests.labeler.cluster.whole import Whole

from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.names import Bucket
from nodeworthy.features import Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, Producer, ProducerKind
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.reflector import Complete, Put
from nodeworthy.labels import (
    NO_FACTS,
    AcceptanceSettings,
    Giver,
    GiverKind,
    LabelSettings,
    OutputSettings,
    WantedLabels,
    compile_policy,
    reconcile,
)
from nodeworthy_cli.labels.adopt import adopt
from nodeworthy_labeler.cluster.node_features import read_node_feature
from nodeworthy_labeler.cluster.rule_objects import RuleObjects
from nodeworthy_labeler.rule_set import compile_rules
from nodeworthy_labeler.wanting import want

if TYPE_CHECKING:
    from tests.kubernetes.api import Api, Object
    from tests.labeler.conftest import Bus

CASES = Path(__file__).parents[2] / "data" / "oracle" / "cases.jsonl"
THE_NODE = "node-1"
"""Of which the NodeFeature objects of a case speak, unless they say of which."""
NFD = "nfd-master"
NFD_NAMES = "nfd.node.kubernetes.io/"
THIRD_PARTIES = "c-node-006"
"""Hangs on names and namespaces, which the labeler looks at before anything is merged: it is a test of the whole."""
ADOPTED = ("c-node-012", "c-node-021")
"""Of which NFD's facts do not tell everything: what NFD has left is kept until the node's detector has spoken."""


def read_cases() -> dict[str, dict[str, Any]]:
    # Not splitlines: some cases hold other characters that Python takes for ends of lines.
    cases = [json.loads(line) for line in CASES.read_text().strip().split("\n")]
    return {case["id"]: case for case in cases if case["kind"] == "node"}


ALL = read_cases()


@pytest.mark.parametrize("case", [pytest.param(ALL[name], id=name) for name in ALL if name != THIRD_PARTIES])
async def test_a_node_ends_as_the_oracle_says(case: dict[str, Any], one: OneTarget, client: Client) -> None:
    name = case["id"]
    one.cluster.create_node(name)
    make_nodes_past(one.cluster.admin, name, case["input"].get("node", {}))
    before = one.object(name)
    await adopt(client, [name], "", (), is_dry=False)
    wanted = want_of(case["input"])
    await settle(one, name, wanted)
    assert result(before, one.object(name), wanted) == case["expected"]
    mark = one.cluster.mark_requests()
    await settle(one, name, wanted)
    assert not one.cluster.read_writes(mark)


@pytest.mark.parametrize("name", ADOPTED)
async def test_what_nfd_has_left_goes_as_with_nfd_once_the_detector_has_spoken(
    name: str, one: OneTarget, client: Client, bus: "Bus"
) -> None:
    case = ALL[name]
    one.cluster.create_node(name)
    make_nodes_past(one.cluster.admin, name, case["input"]["node"])
    before = one.object(name)
    await adopt(client, [name], "", (), is_dry=False, store=bus.store)
    stored = await bus.store.get(Bucket.LABELS, labels_key(name))
    assert stored is not None
    one.records.learn(name, stored.data, stored.revision)
    wanted = want_of(case["input"])
    await settle(one, name, wanted)
    assert result(before, one.object(name), wanted) == case["expected"]
    wanted = want_of(case["input"], is_complete=True)
    await settle(one, name, wanted)
    after = result(before, one.object(name), wanted)
    assert (after["labels"], after["taints"]) == (case["nfd"]["labels"], case["nfd"]["taints"])


@pytest.mark.parametrize("by", ["labels", "namespace"])
async def test_a_node_ends_as_the_oracle_says_where_third_parties_may_say_nothing(
    whole: Whole, objects: Objects, namespace: str, by: str
) -> None:
    """By NFD's setting, and by the namespaces whose objects are taken."""
    case = ALL[THIRD_PARTIES]
    whole.cluster.create_node(THIRD_PARTIES)
    before = whole.object(THIRD_PARTIES)
    others = f"{namespace}-others"
    whole.cluster.create_namespace(others)
    for item in case["input"]["nodeFeatures"]:
        is_own, spec = item["metadata"]["name"] == THE_NODE, item["spec"]
        attributes = {key: one["elements"] for key, one in spec["features"]["attributes"].items()}
        place = namespace if is_own or by == "labels" else others
        name = THIRD_PARTIES if is_own else item["metadata"]["name"]
        objects.feature(place, name, THIRD_PARTIES, labels=spec["labels"], attributes=attributes)
    if by == "labels":
        await whole.start(node_feature_labels=False)
    else:
        await whole.start(node_feature_namespaces=frozenset({namespace}))
    await whole.bus.record_of(THIRD_PARTIES)
    await whole.bus.settled_writes()
    wanted = want_of({"nodeFeatures": case["input"]["nodeFeatures"][:1], "rules": []})
    assert result(before, whole.object(THIRD_PARTIES), wanted) == case["expected"]


def want_of(given: Mapping[str, Any], *, is_complete: bool = False) -> WantedLabels:
    """What the rules of a case give its node; ``is_complete``: its detector has said that there is nothing else."""
    config = given.get("config", {})
    settings = LabelSettings(
        acceptance=AcceptanceSettings(
            denied_namespaces=tuple(config.get("denyLabelNs", ())),
            extra_namespaces=frozenset(config.get("extraLabelNs", ())),
            name_pattern=config.get("labelWhiteList", ""),
        ),
        outputs=OutputSettings(labels=not config.get("disableLabels", False), taints=config.get("enableTaints", False)),
        auto_prefix=not config.get("disableAutoPrefix", False),
    )
    objects = RuleObjects()
    for item in given["rules"]:
        document = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule", **item}
        objects.take(Put(item["metadata"]["name"], msgspec.json.encode(document), "", ""))
    objects.take(Complete(is_first=True))
    loaded = objects.load()
    assert loaded is not None
    fleet = Fleet()
    for item in given["nodeFeatures"]:
        metadata = {"labels": {NODE_LABEL: THE_NODE}, **item["metadata"]}
        said = read_node_feature(msgspec.json.encode({**item, "metadata": metadata}))
        fleet.update(said.node, Producer(ProducerKind.NODE_FEATURE, metadata["name"], "nfd"), said.snapshot)
    if is_complete:
        fleet.update(THE_NODE, DETECTOR, Snapshot({}, {}, frozenset()))
    return want(fleet, compile_rules(loaded, compile_policy(settings)), [THE_NODE])[THE_NODE]


async def settle(one: OneTarget, name: str, wanted: WantedLabels) -> None:
    """Bring the Node to what is wanted, as often as the target asks for another plan."""
    await one.see(name)
    for _ in range(3):
        state = await one.target.read(name, wanted)
        plan = reconcile(wanted, state.labels, state.memory)
        if await one.target.carry_out(name, state, plan, NO_FACTS):
            return
    raise AssertionError(f"{name} was not settled")


def make_nodes_past(admin: "Api", name: str, past: "Object") -> None:
    """What a case finds on the Node: by NFD if its annotations list it, else by a person."""
    metadata = past.get("metadata", {})
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    by_nfd = labels_of_nfd(annotations)
    path = f"/api/v1/nodes/{name}?fieldManager="
    theirs = {key: value for key, value in labels.items() if key not in by_nfd}
    ours = {"labels": {key: labels[key] for key in by_nfd}, "annotations": annotations}
    admin.must("PATCH", f"{path}kubectl-label", {"metadata": {"labels": theirs}}, content=MERGE)
    admin.must("PATCH", path + NFD, {"metadata": ours, "spec": past.get("spec", {})}, content=MERGE)


def labels_of_nfd(annotations: Mapping[str, str]) -> list[str]:
    listed = annotations.get(f"{NFD_NAMES}feature-labels", "").split(",")
    return [key if "/" in key else f"feature.node.kubernetes.io/{key}" for key in listed if key]


def result(before: "Object", after: "Object", wanted: WantedLabels) -> dict[str, Any]:
    """What the Node has that its kubelet did not give; labels by default are left out, since NFD's are its worker's work."""
    default = {key for key, label in wanted.labels.items() if is_default(label.given[-1].giver)}
    labels = after["metadata"]["labels"]
    of_kubelet = {"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"}
    capacity = {
        key: value for key, value in after["status"]["capacity"].items() if key not in before["status"]["capacity"]
    }
    return {
        "annotations": after["metadata"].get("annotations", {}),
        "capacity": capacity,
        "labels": {key: value for key, value in labels.items() if key not in default | of_kubelet},
        "taints": after["spec"].get("taints", []),
    }


def is_default(giver: Giver) -> bool:
    return giver.kind is GiverKind.DEFAULT and giver.name != "local.label"
