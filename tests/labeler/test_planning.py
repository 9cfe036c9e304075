"""Plans that are made once for many nodes are what the library says of each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet
from nodeworthy.labels import LabelMemory, TargetState, WantedLabels, compile_policy, labels_of_memory, reconcile
from nodeworthy_labeler import planning
from nodeworthy_labeler.memories import Memories
from nodeworthy_labeler.planning import Plans
from nodeworthy_labeler.rule_files import parse_rule_file
from nodeworthy_labeler.rule_set import compile_rules
from nodeworthy_labeler.wanting import want

if TYPE_CHECKING:
    from tests.labeler.conftest import MakeFacts

RULES = b"""
- {name: net, labels: {net: "1"}, matchFeatures: [{feature: network.device, matchExpressions: {name: {op: Exists}}}]}
"""
NODES = [f"n{number}" for number in range(4)]


def wanted_by(facts: "MakeFacts", *unknown: str, devices: str = "") -> dict[str, WantedLabels]:
    """What four nodes want that differ in their devices only."""
    rules = compile_rules(parse_rule_file(RULES, "r.yaml"), compile_policy())
    fleet = Fleet()
    for node in NODES:
        device = FeatureSet(instances=({"name": node + devices},))
        snapshot: Snapshot = facts({"a": "1"}, {"network.device": device}, *unknown)
        fleet.update(node, DETECTOR, snapshot)
    return want(fleet, rules, NODES)


def states(memories: Memories, before: dict[str, LabelMemory]) -> Iterator[tuple[str, TargetState]]:
    for node, memory in before.items():
        known = memories.unpack(memories.pack(memory))
        yield node, TargetState(known.labels, known.memory)


@pytest.mark.parametrize("unknown", [(), ("network.device",), ("local.label",)])
@pytest.mark.parametrize("devices", ["", "-new"])
def test_each_plan_is_that_of_the_node_alone(facts: "MakeFacts", unknown: tuple[str, ...], devices: str) -> None:
    none = labels_of_memory(None)
    before = {node: reconcile(wanted, none, None).memory for node, wanted in wanted_by(facts).items()}
    now = wanted_by(facts, *unknown, devices=devices)
    plans = Plans(500)
    for node, state in states(Memories(), before):
        assert plans.make(now[node], state) == reconcile(now[node], state.labels, before[node])


def test_nodes_that_differ_in_inputs_only_are_decided_once(facts: "MakeFacts", monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def count(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        return reconcile(*arguments, **options)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(planning, "reconcile", count)
    plans, none = Plans(500), labels_of_memory(None)
    made = {node: plans.make(wanted, TargetState(none, None)) for node, wanted in wanted_by(facts).items()}
    assert len(calls) == 1
    memories = Memories()
    packed = [memories.pack(plan.memory) for plan in made.values()]
    assert len({one.tables for one in packed}) == 1
    assert len({one.inputs for one in packed}) == len(NODES)
