"""One node through time: what it should have, what it has, what is remembered, and what then happens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import (
    LabelEntry,
    LabelMemory,
    LabelPolicy,
    LabelSettings,
    LabelState,
    NodeLabels,
    OutputSettings,
    Plan,
    RuleObject,
    WantedLabels,
    compile_chain,
    compile_policy,
    reconcile,
    want_labels,
)
from nodeworthy.rules import Expression, Operator, Rule, Term

FactsOf = Callable[..., Snapshot]
K, J = "x.org/k", "x.org/j"


def on(set_name: str, *, name: str = "", **outputs: str) -> Rule:
    """A rule that holds where a set is there, and gives labels below x.org."""
    return Rule(name or set_name, (Term(set_name),), labels={f"x.org/{key}": value for key, value in outputs.items()})


PRESENT = FeatureSet(flags=frozenset({"f"}))


@dataclass
class Node:
    """A node with its target and its memory."""

    policy: LabelPolicy
    facts_of: FactsOf
    live: dict[str, str] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)
    owners: dict[str, tuple[str, ...]] = field(default_factory=dict)
    memory: LabelMemory | None = None

    def want(self, rules: Sequence[Rule], *present: str, unknown: Sequence[str] = (), unread: str = "") -> WantedLabels:
        objects = [RuleObject("o", tuple(rules))]
        if unread:
            objects.append(RuleObject("", unreadable="it is not YAML", source=unread))
        facts = self.facts_of(dict.fromkeys(present, PRESENT), *unknown)
        return want_labels(facts, self.policy, compile_chain(objects))

    def plan(self, wanted: WantedLabels, max_labels: int = 500) -> Plan:
        labels = NodeLabels(dict(self.live), frozenset(self.owned), self.owners)
        return reconcile(wanted, labels, self.memory, max_labels=max_labels)

    def carry_out(self, plan: Plan) -> Plan:
        """What server-side apply does: what is omitted goes, unless somebody else owns it too."""
        for key in self.owned - plan.apply.keys():
            if key not in self.owners:
                del self.live[key]
        self.live |= plan.apply
        self.owned = set(plan.apply)
        self.memory = plan.memory
        return plan

    def step(
        self, rules: Sequence[Rule], *present: str, unknown: Sequence[str] = (), unread: str = "", max_labels: int = 500
    ) -> Plan:
        return self.carry_out(self.plan(self.want(rules, *present, unknown=unknown, unread=unread), max_labels))

    def state(self, key: str) -> LabelState:
        assert self.memory is not None
        return self.memory.labels[key].state


@pytest.fixture
def node(policy: LabelPolicy, facts_of: FactsOf) -> Node:
    return Node(policy, facts_of)


A, B = on("a.a", k="1"), on("b.b", k="2")


def test_what_is_wanted_is_set_and_a_second_time_nothing_is_sent(node: Node) -> None:
    first = node.step([A], "a.a")
    second = node.step([A], "a.a")
    assert (first.set, first.is_needed, first.is_memory_new) == ({K: "1"}, True, True)
    assert (second.set, second.remove, second.is_needed, second.is_memory_new) == ({}, {}, False, False)
    assert second.apply == {K: "1"}


def test_a_label_goes_when_its_rule_no_longer_holds(node: Node) -> None:
    node.step([A], "a.a")
    plan = node.step([A])
    assert plan.remove == {K: "rule o/a.a does not give it any more"}
    assert node.live == {}
    assert node.memory == LabelMemory()


def test_a_label_goes_when_its_rule_is_gone(node: Node) -> None:
    node.step([A], "a.a")
    assert node.step([], "a.a").remove == {K: "rule o/a.a is gone"}


def test_a_label_goes_when_what_its_rule_gives_is_no_longer_legal(node: Node) -> None:
    node.step([A], "a.a")
    plan = node.step([on("a.a", k="a b")], "a.a")
    assert plan.remove[K].startswith("what rule o/a.a gives now is refused: the value")
    assert node.state(K) is LabelState.REJECTED


def test_unknown_facts_remove_and_change_nothing(node: Node) -> None:
    node.step([A, B], "a.a", "b.b")
    plan = node.step([A, B], "a.a", unknown=["b.b"])
    assert not plan.is_needed
    assert node.live == {K: "2"}
    assert plan.in_state(LabelState.KEPT)[K].reason == (
        "it is not known what rule o/b.b gives: b.b is not known: permission denied"
    )


def test_a_kept_label_remembers_who_gave_it_so_that_it_goes_when_that_is_known(node: Node) -> None:
    node.step([A], "a.a")
    given = node.memory.labels[K].given if node.memory else None
    node.step([A], unknown=["a.a"])
    assert node.memory is not None
    assert node.memory.labels[K].given == given
    assert node.step([A]).remove == {K: "rule o/a.a does not give it any more"}


def test_a_rule_in_error_keeps_its_label(node: Node) -> None:
    bad = Rule("r", (Term("a.a", {"n": Expression(Operator.GT, ("1",))}),), labels={K: "1"})
    chain = compile_chain([RuleObject("o", (bad,))])
    for value, state in (("5", LabelState.APPLIED), ("many", LabelState.KEPT)):
        facts = node.facts_of({"a.a": FeatureSet(attributes={"n": value})})
        node.carry_out(node.plan(want_labels(facts, node.policy, chain)))
        assert node.state(K) is state
    assert node.live == {K: "1"}


def test_a_later_rule_that_is_unknown_holds_back_another_value_and_not_the_same_one(node: Node) -> None:
    node.step([A, B], unknown=["b.b"])
    assert node.live == {}
    node.step([A, B], "a.a", unknown=["b.b"])
    assert node.state(K) is LabelState.UNKNOWN
    assert node.live == {}
    node.step([A, on("b.b", k="1")], "a.a", unknown=["b.b"])
    assert node.live == {K: "1"}


def test_the_reason_does_not_hang_on_what_is_remembered(node: Node) -> None:
    template = Rule("a.a", (Term("b.b"),), labels_template="k={{ . }}")
    rules = [A, template, on("c.c", k="2")]
    first = node.step(rules, "a.a", unknown=["b.b", "c.c"])
    assert "rule o/c.c" in first.memory.labels[K].reason
    assert not node.step(rules, "a.a", unknown=["b.b", "c.c"]).is_memory_new


def test_an_earlier_rule_that_is_unknown_holds_back_nothing(node: Node) -> None:
    node.step([A, B], "b.b", unknown=["a.a"])
    assert node.live == {K: "2"}


def test_two_givers_one_of_them_unknown_keep_the_label_when_the_other_stops(node: Node) -> None:
    rules = [on("a.a", k="1"), on("b.b", k="1")]
    node.step(rules, "a.a", "b.b")
    node.step(rules, "a.a", unknown=["b.b"])
    plan = node.step(rules, unknown=["b.b"])
    assert plan.remove == {}
    assert node.state(K) is LabelState.KEPT


def test_files_of_features_d_that_gave_a_label_too_keep_it_while_they_are_unknown(node: Node) -> None:
    chain = compile_chain([RuleObject("o", (A,))])
    local = {"local.label": FeatureSet(attributes={K: "1"})}
    history = (
        node.facts_of({**local, "a.a": PRESENT}),
        node.facts_of({"a.a": PRESENT}, "local.label"),
        node.facts_of({}, "local.label"),
    )
    for facts in history:
        node.carry_out(node.plan(want_labels(facts, node.policy, chain)))
        assert node.live == {K: "1"}
    assert set(node.plan(want_labels(node.facts_of(), node.policy, chain)).remove) == {K}


def test_a_lost_memory_removes_nothing_and_what_is_explained_again_goes_later(node: Node) -> None:
    node.step([A, on("b.b", j="1")], "a.a", "b.b")
    node.memory = None
    assert not node.step([A], "a.a").is_needed
    assert node.live == {K: "1", J: "1"}
    assert node.memory is not None
    assert node.memory.labels[J] == LabelEntry(
        LabelState.KEPT,
        "1",
        reason="nothing explains this label any more; it goes when a rule that gave it is seen to stop",
    )
    node.step([A, on("b.b", j="1")], "a.a", "b.b")
    assert node.state(J) is LabelState.APPLIED
    assert set(node.step([A], "b.b").remove) == {K, J}


def test_with_a_lost_memory_a_known_new_value_is_set(node: Node) -> None:
    node.step([A], "a.a")
    node.memory = None
    assert node.step([on("a.a", k="3")], "a.a").set == {K: "3"}


def test_while_a_file_cannot_be_read_no_rule_counts_as_gone(node: Node) -> None:
    node.step([A, on("b.b", j="1")], "a.a", "b.b")
    plan = node.step([A], "a.a", unread="gpu.yaml")
    assert plan.remove == {}
    assert "gpu.yaml: it is not YAML" in node.memory.labels[J].reason if node.memory else False
    assert set(node.step([A], "a.a").remove) == {J}


def test_while_a_file_cannot_be_read_a_rule_that_no_longer_holds_still_stops(node: Node) -> None:
    node.step([A], "a.a")
    assert set(node.step([A], unread="gpu.yaml").remove) == {K}


def test_the_value_of_a_rule_in_a_file_that_cannot_be_read_stays(node: Node) -> None:
    node.step([A, B], "a.a", "b.b")
    node.step([A], "a.a", "b.b", unread="gpu.yaml")
    assert node.live == {K: "2"}
    node.step([A], "a.a", "b.b")
    assert node.live == {K: "1"}


def test_a_broken_file_stops_no_new_label_of_its_neighbours(node: Node) -> None:
    node.step([A], "a.a", unread="gpu.yaml")
    assert node.live == {K: "1"}


def test_with_a_lost_memory_and_a_broken_file_a_value_stays_until_the_file_is_read(node: Node) -> None:
    node.step([A, B], "a.a", "b.b")
    node.memory = None
    for _ in range(2):
        node.step([A], "a.a", "b.b", unread="gpu.yaml")
        assert node.live == {K: "2"}
    node.step([A], "a.a", "b.b")
    assert node.live == {K: "1"}


def test_default_labels_of_an_unknown_set_stay_and_go_when_the_set_is_known(node: Node) -> None:
    gpu = FeatureSet(instances=({"class": "0302", "vendor": "10de"},))
    chain = compile_chain([])

    def step(facts: Snapshot) -> Plan:
        return node.carry_out(node.plan(want_labels(facts, node.policy, chain)))

    step(node.facts_of({"pci.device": gpu}))
    assert list(node.live) == ["feature.node.kubernetes.io/pci-0302_10de.present"]
    assert not step(node.facts_of({}, "pci.device")).is_needed
    assert step(node.facts_of({"pci.device": FeatureSet(instances=())})).remove == {
        "feature.node.kubernetes.io/pci-0302_10de.present": "default labels of pci.device does not give it any more"
    }


def test_unknown_files_of_features_d_keep_their_labels_and_stop_no_others(node: Node) -> None:
    chain = compile_chain([RuleObject("o", (A,))])
    both = {"local.label": FeatureSet(attributes={"rack": "7"}), "a.a": PRESENT}
    node.carry_out(node.plan(want_labels(node.facts_of(both), node.policy, chain)))
    plan = node.carry_out(node.plan(want_labels(node.facts_of({}, "local.label"), node.policy, chain)))
    assert set(plan.remove) == {K}
    assert node.live == {"feature.node.kubernetes.io/rack": "7"}


def test_a_foreign_label_with_the_wanted_value_is_held_and_left_alone(node: Node) -> None:
    node.live, node.owners = {K: "1"}, {K: ("kubectl",)}
    plan = node.step([A], "a.a")
    assert (plan.apply, plan.is_needed) == ({}, False)
    assert plan.in_state(LabelState.HELD)[K].owners == ("kubectl",)
    assert not node.step([A]).is_needed
    assert node.live == {K: "1"}


def test_a_foreign_label_with_another_value_is_a_conflict_and_left_alone(node: Node) -> None:
    node.live, node.owners = {K: "mine"}, {K: ("kubectl",)}
    plan = node.step([A, on("a.a", name="j", j="1")], "a.a")
    entry = plan.in_state(LabelState.CONFLICT)[K]
    assert (entry.value, entry.live, entry.owners) == ("1", "mine", ("kubectl",))
    assert entry.reason == "it has the value 'mine' by kubectl"
    assert plan.apply == {J: "1"}


def test_r20_a_foreign_label_stays_and_is_a_conflict_while_our_own_is_updated(node: Node) -> None:
    node.live[K] = "old"
    node.step([on("a.a", k="new", y="1")], "a.a")
    plan = node.step([on("a.a", k="new", y="2")], "a.a")
    assert (plan.set, node.live) == ({"x.org/y": "2"}, {K: "old", "x.org/y": "2"})
    assert node.state(K) is LabelState.CONFLICT


def test_labels_that_are_switched_off_go_also_those_in_doubt(node: Node) -> None:
    node.step([A, B], "a.a", "b.b")
    node.policy = compile_policy(LabelSettings(outputs=OutputSettings(labels=False)))
    node.step([A, B], "a.a", unknown=["b.b"])
    assert node.live == {}


def test_a_foreign_label_that_goes_makes_room_for_ours(node: Node) -> None:
    node.live, node.owners = {K: "mine"}, {K: ("kubectl",)}
    node.step([A], "a.a")
    node.live, node.owners = {}, {}
    assert node.step([A], "a.a").set == {K: "1"}


def test_a_label_that_somebody_else_owns_too_is_given_up_where_the_values_part(node: Node) -> None:
    node.step([A], "a.a")
    node.owners = {K: ("other-apply",)}
    assert not node.step([A], "a.a").is_needed
    plan = node.step([on("a.a", k="9")], "a.a")
    assert (plan.apply, plan.is_needed) == ({}, True)
    assert (node.live, node.state(K)) == ({K: "1"}, LabelState.CONFLICT)


def test_a_label_of_ours_that_somebody_deleted_is_set_again(node: Node) -> None:
    node.step([A], "a.a")
    node.live, node.owned = {}, set()
    assert node.step([A], "a.a").set == {K: "1"}


def test_the_apply_is_always_complete_so_that_nothing_goes_by_omission(node: Node) -> None:
    node.step([A, on("b.b", j="1")], "a.a", "b.b")
    plan = node.step([A, on("b.b", j="1"), on("c.c", i="1")], "a.a", "c.c", unknown=["b.b"])
    assert plan.apply == {K: "1", J: "1", "x.org/i": "1"}
    assert plan.set == {"x.org/i": "1"}


def test_over_the_quota_new_labels_are_refused_and_those_on_the_node_stay(node: Node) -> None:
    few, many = on("a.a", m="1", n="1"), on("a.a", name="many", **{f"l{number:02}": "1" for number in range(10)})
    node.step([few], "a.a")
    plan = node.step([few, many], "a.a", max_labels=5)
    assert list(plan.apply) == ["x.org/l00", "x.org/l01", "x.org/l02", "x.org/m", "x.org/n"]
    assert plan.in_state(LabelState.REJECTED)["x.org/l03"].reason == "this node has its 5 labels of ours already"
    assert not node.step([few, many], "a.a", max_labels=5).is_needed
    assert len(node.step([few, many], "a.a", max_labels=1).apply) == 5


def test_a_kept_label_remembers_the_digests_it_was_made_from(node: Node) -> None:
    node.step([A], "a.a")
    digest = node.memory.inputs["a.a"] if node.memory else ""
    plan = node.step([A], unknown=["a.a"])
    assert digest.startswith("sha256:")
    assert plan.memory.inputs == {"a.a": digest}
    assert not node.step([A], unknown=["a.a"]).is_memory_new


def test_a_memory_stays_small_whatever_is_refused_or_unknown(node: Node) -> None:
    bad = Rule("bad", labels={f"x.org/{number:05}": "a b" for number in range(2000)})
    dark = [Rule(f"d{number}", (Term("dark.set"),), labels={f"x.org/d{number}": "1"}) for number in range(500)]
    plan = node.step([bad, *dark], unknown=["dark.set"])
    assert len(plan.memory.labels) == 200
    assert len(plan.memory.unresolved) == 200
    assert plan.memory.left_out == 1800 + 300
    assert len(msgspec.msgpack.encode(plan.memory)) < 256 * 1024


def test_a_label_that_many_rules_give_remembers_the_last_ones(node: Node) -> None:
    plan = node.step([Rule(f"r{number}", labels={K: "1"}) for number in range(50)])
    assert [given.giver.part for given in plan.memory.labels[K].given] == [f"r{number}" for number in range(42, 50)]
