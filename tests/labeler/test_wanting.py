"""What nodes should have, for many at once, is what the library says of each alone."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, Limits, evaluate_rules
from nodeworthy.labels import LabelSettings, OutputSettings, compile_policy, want_labels
from nodeworthy_labeler.rule_files import parse_rule_file
from nodeworthy_labeler.rule_set import RuleSet, compile_rules
from nodeworthy_labeler.wanting import rarest_first, want, want_kinds

if TYPE_CHECKING:
    from tests.labeler.conftest import MakeFacts

RULES = b"""
- name: avx
  labels: {avx: "1", "vendor.com/release": "@system.osrelease.VERSION_ID"}
  vars: {has-avx: "1"}
  matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {op: Exists}}}]
- name: net
  labels: {net: "1"}
  matchFeatures: [{feature: network.device, matchExpressions: {name: {op: Exists}}}]
- name: after
  labels: {after: "1", "kubernetes.io/refused": "1"}
  matchFeatures: [{feature: rule.matched, matchExpressions: {has-avx: {op: Exists}}}]
- name: broken
  labels: {broken: "1"}
  matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {op: Nonsense}}}]
- name: other-avx
  labels: {avx: "2"}
  matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["4"]}}}]
"""


def rule_set(text: bytes = RULES, settings: LabelSettings | None = None) -> RuleSet:
    return compile_rules(parse_rule_file(text, "rules.yaml"), compile_policy(settings))


def fill(nodes: Mapping[str, Snapshot]) -> Fleet:
    fleet = Fleet()
    for node, snapshot in nodes.items():
        fleet.update(node, DETECTOR, snapshot)
    return fleet


def kernel(major: str) -> FeatureSet:
    return FeatureSet(attributes={"major": major})


def test_recorded_machines_want_what_each_wants_alone(machines: Mapping[str, Snapshot]) -> None:
    nodes = {f"{name}-{number}": snapshot for number in range(2) for name, snapshot in machines.items()}
    rules = rule_set()
    found = want(fill(nodes), rules, list(nodes))
    for node, snapshot in nodes.items():
        assert found[node] == want_labels(snapshot, rules.policy, rules.chain)


def test_unknown_sets_and_settings_count_as_they_do_for_one_node(machines: Mapping[str, Snapshot]) -> None:
    settings = LabelSettings(auto_prefix=False)
    rules = rule_set(settings=settings)
    nodes = (
        {
            name: msgspec.structs.replace(snapshot, contents={})  # listed in the catalogue and not delivered
            for name, snapshot in machines.items()
        }
        | dict(list(machines.items())[:1])
    )
    found = want(fill(nodes), rules, list(nodes))
    assert any(one.unresolved for one in found.values())
    for node, snapshot in nodes.items():
        assert found[node] == want_labels(snapshot, rules.policy, rules.chain)


async def test_nodes_of_which_the_rules_say_what_they_say_of_few_come_first(facts: "MakeFacts") -> None:
    kernels = {"n1": "6", "n2": "6", "n3": "4", "n4": "6", "n5": "4", "n6": "unknown"}
    fleet = fill({node: facts({}, {"kernel.version": kernel(major)}) for node, major in kernels.items()})
    assert await rarest_first(fleet, rule_set(), batch=100) == ["n6", "n3", "n5", "n1", "n2", "n4"]
    assert await rarest_first(fleet, rule_set(), batch=3) == ["n3", "n4", "n5", "n6", "n1", "n2"]
    assert await rarest_first(fleet, rule_set(b"[]"), batch=100) == list(kernels)
    assert await rarest_first(Fleet(), rule_set(), batch=100) == []


async def test_a_node_that_goes_while_they_are_put_in_order_is_left_out(facts: "MakeFacts") -> None:
    fleet = fill({f"n{number}": facts() for number in range(4)})
    work = asyncio.ensure_future(rarest_first(fleet, rule_set(), batch=2))
    await asyncio.sleep(0)
    fleet.remove("n3", DETECTOR)
    assert await work == ["n2", "n0", "n1"]


async def test_where_the_rules_ask_too_much_at_once_the_order_stays(facts: "MakeFacts") -> None:
    fleet = Fleet(limits=Limits(asks=1))
    for number in range(3):
        fleet.update(f"n{number}", DETECTOR, facts({}, {"kernel.version": kernel(str(number % 2 * 5))}))
    assert await rarest_first(fleet, rule_set(), batch=100) == ["n0", "n1", "n2"]


def test_short_names_of_features_d_yield_to_every_full_one(facts: "MakeFacts") -> None:
    machine = FeatureSet(attributes={"major": "6", "minor": "1", "revision": "0", "full": "6.1.0"})
    snapshot = facts({"kernel-version.major": "5"}, {"kernel.version": machine})
    found = want(fill({"n1": snapshot}), rule_set(b"[]"), ["n1"])
    assert found["n1"] == want_labels(snapshot, compile_policy(), rule_set(b"[]").chain)
    assert found["n1"].labels["feature.node.kubernetes.io/kernel-version.major"].value == "6"


def test_nodes_that_are_alike_share_one_record_and_those_with_other_contents_share_its_labels(
    facts: "MakeFacts",
) -> None:
    def node(name: str) -> Snapshot:
        return facts({"a": "1"}, {"network.device": FeatureSet(instances=({"name": name},))})

    found = want(fill({"n1": node("x"), "n2": node("x"), "n3": node("y")}), rule_set(), ["n1", "n2", "n3"])
    assert found["n1"] is found["n2"]
    assert found["n3"].labels is found["n1"].labels
    assert found["n3"].inputs["network.device"] != found["n1"].inputs["network.device"]


OBJECTS = """
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: a-consumer, annotations: {nodeworthy.io/auto-prefix: "false"}}
spec:
  rules:
  - name: ready
    labels: {ready: "@rule.matched.has-avx", avx: a}
    annotations: {note: text}
    matchFeatures: [{feature: rule.matched, matchExpressions: {has-avx: {op: Exists}}}]
---
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: b-producer}
spec:
  rules:
  - name: avx
    labels: {avx: b}
    vars: {has-avx: "1"}
    extendedResources: {x.org/units: "4"}
    taints: [{key: x.org/t, effect: NoSchedule}]
    matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {op: Exists}}}]
"""


def test_objects_that_run_in_other_order_want_what_each_node_wants_alone(machines: Mapping[str, Snapshot]) -> None:
    rules = rule_set(OBJECTS.encode(), LabelSettings(outputs=OutputSettings(taints=True)))
    assert [link.giver.name for link in rules.chain.rules] == ["b-producer", "a-consumer"]
    found = want(fill(machines), rules, list(machines))
    for node, snapshot in machines.items():
        assert found[node] == want_labels(snapshot, rules.policy, rules.chain)
    assert any(one.taints and one.labels["ready"].value == "1" for one in found.values())


def test_authors_are_told_of_the_prefix_and_of_what_is_switched_off() -> None:
    told = [notice.message for notice in rule_set(OBJECTS.encode()).notices]
    assert told == [
        "label avx reaches the node as feature.node.kubernetes.io/avx",
        "the rule gives taints, which a setting has switched off",
    ]


def test_no_nodes_want_nothing() -> None:
    assert want(Fleet(), rule_set(), []) == {}


def test_kinds_are_what_nodes_want_but_for_their_inputs(machines: Mapping[str, Snapshot]) -> None:
    """Each node has a device of its own, so that no two have the same inputs."""
    nodes = {}
    for number in range(3):
        device = {"network.device": FeatureSet(instances=({"name": f"eth{number}"},))}
        for name, snapshot in machines.items():
            nodes[f"{name}-{number}"] = msgspec.structs.replace(snapshot, contents={**snapshot.contents, **device})
    rules, fleet, names = rule_set(), fill(nodes), list(nodes)
    kinds = want_kinds(fleet, rules, names, evaluate_rules(fleet, rules.fleet_chain, names))
    assert len(kinds) <= len(machines)
    bare = {node: msgspec.structs.replace(one, inputs={}) for node, one in want(fleet, rules, names).items()}
    found = [msgspec.structs.replace(one, inputs={}) for one in kinds]
    assert all(one in found for one in bare.values())
    assert all(one in bare.values() for one in found)
