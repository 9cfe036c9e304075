"""Annotations, extended resources and taints are decided as labels are, each kind by itself."""

from collections.abc import Callable

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import (
    LabelMemory,
    LabelSettings,
    LabelState,
    NodeLabels,
    OutputSettings,
    Plan,
    RejectedKind,
    RuleObject,
    compile_chain,
    compile_policy,
    labels_of_memory,
    reconcile,
    want_labels,
)
from nodeworthy.rules import Rule, Taint, Term

FactsOf = Callable[..., Snapshot]
POLICY = compile_policy(LabelSettings(outputs=OutputSettings(taints=True)))
OTHERS = tuple(kind for kind in RejectedKind if kind is not RejectedKind.LABEL)
KEYS = {
    RejectedKind.ANNOTATION: "x.org/k",
    RejectedKind.EXTENDED_RESOURCE: "x.org/k",
    RejectedKind.TAINT: "x.org/k:NoSchedule",
}
RULE = Rule(
    "r",
    (Term("a.a"),),
    labels={"x.org/k": "1"},
    annotations={"x.org/k": "1"},
    extended_resources={"x.org/k": "1"},
    taints=(Taint("x.org/k", "NoSchedule", "1"),),
)


def plan(
    facts: Snapshot, *rules: Rule, labels: NodeLabels | None = None, memory: LabelMemory | None = None, most: int = 500
) -> Plan:
    wanted = want_labels(facts, POLICY, compile_chain([RuleObject("o", rules)]))
    return reconcile(wanted, labels or labels_of_memory(memory), memory, max_labels=most)


@pytest.fixture
def present(facts_of: FactsOf) -> Snapshot:
    return facts_of({"a.a": FeatureSet(flags=frozenset({"f"}))})


@pytest.mark.parametrize("kind", OTHERS)
def test_what_a_rule_gives_comes_stays_and_goes(kind: RejectedKind, present: Snapshot, facts_of: FactsOf) -> None:
    first = plan(present, RULE)
    assert first.others[kind].set == {KEYS[kind]: "1"}
    again = plan(present, RULE, memory=first.memory)
    assert (again.others[kind].is_needed, again.is_memory_new) == (False, False)
    gone = plan(facts_of(), RULE, memory=first.memory)
    assert (gone.others[kind].apply, list(gone.others[kind].remove)) == ({}, [KEYS[kind]])
    assert kind not in gone.memory.others


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_unknown_is_kept(kind: RejectedKind, present: Snapshot, facts_of: FactsOf) -> None:
    first = plan(present, RULE)
    kept = plan(facts_of({}, "a.a"), RULE, memory=first.memory)
    assert kept.memory.others[kind][KEYS[kind]].state is LabelState.KEPT
    assert not kept.others[kind].is_needed


@pytest.mark.parametrize("kind", OTHERS)
def test_a_foreign_value_is_a_conflict_of_its_kind_alone(kind: RejectedKind, present: Snapshot) -> None:
    theirs = NodeLabels({}, others={kind: NodeLabels({KEYS[kind]: "9"}, owners={KEYS[kind]: ("kubectl",)})})
    made = plan(present, RULE, labels=theirs)
    entry = made.memory.others[kind][KEYS[kind]]
    assert (entry.state, entry.live, entry.owners) == (LabelState.CONFLICT, "9", ("kubectl",))
    assert made.others[kind].apply == {}
    assert made.apply == {"x.org/k": "1"}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_the_target_has_refused_is_not_asked_for_again_until_its_value_changes(
    kind: RejectedKind, present: Snapshot
) -> None:
    refused = NodeLabels({}, others={kind: NodeLabels({}, refusals={(KEYS[kind], "1"): "not by policy"})})
    made = plan(present, RULE, labels=refused)
    entry = made.memory.others[kind][KEYS[kind]]
    assert (entry.state, entry.reason, entry.given[0].giver.name) == (LabelState.REJECTED, "not by policy", "o")
    assert kind not in made.others
    other = NodeLabels({}, others={kind: NodeLabels({}, refusals={(KEYS[kind], "2"): "not by policy"})})
    assert plan(present, RULE, labels=other).others[kind].set == {KEYS[kind]: "1"}


def test_a_label_that_is_ours_and_whose_new_value_the_target_refuses_goes(present: Snapshot) -> None:
    first = plan(present, RULE)
    labels = NodeLabels({"x.org/k": "0"}, frozenset({"x.org/k"}), refusals={("x.org/k", "1"): "no"})
    made = plan(present, RULE, labels=labels, memory=first.memory)
    assert "no" in made.remove["x.org/k"]


def test_each_kind_has_its_own_quota(present: Snapshot) -> None:
    notes = {f"x.org/n{number}": "1" for number in range(5)}
    made = plan(present, Rule("n", (Term("a.a"),), labels={"x.org/a": "1"}, annotations=notes), most=3)
    entries = made.memory.others[RejectedKind.ANNOTATION]
    assert [key for key, entry in entries.items() if entry.state is LabelState.REJECTED] == ["x.org/n3", "x.org/n4"]
    assert entries["x.org/n4"].reason == "this node has its 3 annotations of ours already"
    assert made.apply == {"x.org/a": "1"}
