"""Rules on many nodes: the same as rules.evaluate_chain says of each node alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy import fleet as fleets
from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, kleene
from nodeworthy.rules import (
    Expression,
    Operator,
    Outcome,
    Rule,
    RuleResult,
    TemplateEngine,
    Term,
    compile_rules,
    evaluate_chain,
)
from nodeworthy.rules.templates import Elements

if TYPE_CHECKING:
    from tests.shared.fleet.conftest import Worlds

EXISTS = Expression(Operator.EXISTS)
HAS_X = Term("lab.a", {"x": EXISTS})
MULTIPLES = st.sampled_from((1, 4))
"""More nodes than contents, and fewer, are looked at in different ways."""


def fleet_of(snapshots: Sequence[Snapshot]) -> Fleet:
    fleet = Fleet()
    for number, snapshot in enumerate(snapshots):
        fleet.update(f"n{number}", DETECTOR, snapshot)
    return fleet


def lab(**attributes: str) -> Snapshot:
    contents = {"lab.a": FeatureSet(attributes=attributes)}
    return Snapshot(contents, {"lab.dark": SetStatus(SetState.UNKNOWN, "denied")}, frozenset({"lab.a", "lab.dark"}))


def results_by_node(
    fleet: Fleet, *rules: Rule, templates: TemplateEngine | None = None
) -> list[tuple[RuleResult, ...]]:
    found = fleets.evaluate_rules(fleet, fleets.make_chain(compile_rules(rules)), templates=templates)
    groups = found.groups()
    return [groups[number].results for number in found.group_numbers()]


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_the_table_says_of_each_node_what_its_facts_alone_say(data: st.DataObject, worlds: "Worlds") -> None:
    snapshots = data.draw(worlds.fleets) * data.draw(MULTIPLES)
    rules = compile_rules(data.draw(worlds.chains | worlds.expanding_chains))
    templates = data.draw(st.sampled_from([None, worlds.templates]))
    found = fleets.evaluate_rules(fleet_of(snapshots), fleets.make_chain(rules), templates=templates)
    groups, numbers = found.groups(), found.group_numbers()
    for place, snapshot in enumerate(snapshots):
        alone = evaluate_chain(rules, snapshot, templates)
        assert groups[numbers[place]].results == alone.results
        if any("@rule.matched" in str(rule) for rule in rules):
            assert found.chain_result(int(numbers[place])) == alone
        outcomes = [kleene.OUTCOMES[found.outcomes(rule)[place]] for rule in range(len(rules))]
        assert outcomes == [result.outcome for result in alone.results]
    assert sum(group.size for group in groups) == len(snapshots)


@settings(max_examples=40)  # a busy machine is no failure
@given(data=st.data())
def test_answers_of_contents_that_are_gone_are_not_taken_for_those_of_new_ones(
    data: st.DataObject, worlds: "Worlds"
) -> None:
    fleet = fleet_of(data.draw(worlds.fleets) * data.draw(MULTIPLES))
    rules = compile_rules(data.draw(worlds.chains | worlds.expanding_chains))
    chain = fleets.make_chain(rules)
    for _ in range(3):
        fleets.evaluate_rules(fleet, chain)
        node, snapshot = data.draw(st.sampled_from(("n0", "n1", "n2"))), data.draw(st.none() | worlds.snapshots)
        if snapshot is None:
            fleet.remove(node)
        else:
            fleet.update(node, DETECTOR, snapshot)
        found = fleets.evaluate_rules(fleet, chain)
        groups = found.groups()
        for name, number in zip(found.nodes(), found.group_numbers(), strict=True):
            alone = evaluate_chain(rules, fleet.facts(name))
            assert groups[number].results == alone.results
            assert found.chain_result(int(number)).results == alone.results


def test_rules_see_what_rules_before_them_gave_on_the_same_node() -> None:
    fleet = fleet_of([lab(x="1"), lab(), lab(x="1")])
    given_by = Rule("gives", (HAS_X,), labels={"g": "1"})
    reads = Rule("reads", (Term("rule.matched", {"g": EXISTS}),))
    outcomes = [results[1].outcome for results in results_by_node(fleet, given_by, reads)]
    assert outcomes == [Outcome.TRUE, Outcome.FALSE, Outcome.TRUE]


def test_a_rule_in_doubt_leaves_what_it_may_give_in_doubt_and_tells_why() -> None:
    fleet = fleet_of([lab(x="1"), lab(x="2")])
    gives = Rule("gives", (Term("lab.dark", {"k": EXISTS}),), labels={"g": "1"})
    [results, _] = results_by_node(fleet, gives, Rule("reads", (Term("rule.matched", {"g": EXISTS}),)))
    assert [result.outcome for result in results] == [Outcome.UNKNOWN] * 2
    assert "denied" in results[0].reason
    assert "'gives'" in results[1].reason


def assert_as_alone(fleet: Fleet, *rules: Rule) -> list[list[Outcome]]:
    """The outcomes by node, after comparing the results with those of each node alone."""
    found = results_by_node(fleet, *rules)
    assert found == [evaluate_chain(compile_rules(rules), fleet.facts(node)).results for node in fleet.nodes()]
    return [[result.outcome for result in results] for results in found]


LACKS_G = Rule("lacks g", (Term("rule.matched", {"g": Expression(Operator.DOES_NOT_EXIST)}),))
HAS_G = Rule("has g", (Term("rule.matched", {"g": EXISTS}),))


def test_where_every_rule_before_is_in_error_there_is_nothing_to_read() -> None:
    compares = Rule("compares", (Term("lab.a", {"x": Expression(Operator.GT, ("1",))}),))
    assert assert_as_alone(fleet_of([lab(x="word"), lab(x="0")]), compares, LACKS_G) == [
        [Outcome.ERROR, Outcome.FALSE],
        [Outcome.FALSE, Outcome.TRUE],
    ]


READS_ALL = Rule("reads all", (Term("rule.matched", None, Expression(Operator.IN, ("g",))),))


def test_a_rule_that_asks_all_names_tells_nodes_apart_by_what_any_rule_gave() -> None:
    gives_g = Rule("gives g", (HAS_X,), labels={"g": "1"})
    outcomes = assert_as_alone(fleet_of([lab(x="1"), lab()]), gives_g, READS_ALL, Rule("last"), READS_ALL)
    assert [one[1] for one in outcomes] == [one[3] for one in outcomes] == [Outcome.TRUE, Outcome.FALSE]


def test_names_among_the_facts_are_read_too() -> None:
    named = Snapshot({"rule.matched": FeatureSet(attributes={"g": "1"})}, catalogue=frozenset())
    outcomes = assert_as_alone(fleet_of([named, Snapshot({}, catalogue=frozenset())]), Rule("first"), HAS_G)
    assert outcomes == [[Outcome.TRUE, Outcome.TRUE], [Outcome.TRUE, Outcome.FALSE]]


def test_a_reason_tells_of_all_names_that_are_in_doubt_on_the_node() -> None:
    known = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, catalogue=frozenset({"lab.dark"}))
    gives = Rule("gives", (Term("lab.dark", {"k": EXISTS}),), labels={"g": "1"})
    other = Rule("other", (Term("lab.b", {"k": EXISTS}),), labels={"h": "1"})
    both = msgspec.structs.replace(known, catalogue=frozenset({"lab.dark", "lab.b"}))
    outcomes = assert_as_alone(fleet_of([known, both]), gives, other, HAS_G)
    assert outcomes == [[Outcome.UNKNOWN, Outcome.FALSE, Outcome.UNKNOWN], [Outcome.UNKNOWN] * 3]


def test_nodes_with_one_outcome_and_other_reasons_are_told_apart() -> None:
    too_small = Rule("compares", (Term("lab.a", {"x": Expression(Operator.GT, ("1",))}),))
    [first, second] = results_by_node(fleet_of([lab(x="red"), lab(x="blue")]), too_small)
    assert "'red'" in first[0].reason
    assert "'blue'" in second[0].reason


def test_at_values_tell_nodes_apart_by_the_content_they_are_taken_from() -> None:
    fleet = fleet_of([lab(x="1"), lab(x="2"), lab(x="1")])
    plain = fleets.make_chain(compile_rules([Rule("r", labels={"l": "1"})]))
    dynamic = fleets.make_chain(compile_rules([Rule("r", labels={"l": "@lab.a.x"})]))
    assert [group.size for group in fleets.evaluate_rules(fleet, plain).groups()] == [3]
    assert sorted(group.size for group in fleets.evaluate_rules(fleet, dynamic).groups()) == [1, 2]


class OneByOne:
    """Counts what it expands."""

    def __init__(self) -> None:
        self.count = 0

    def expand(self, template: str, elements: Elements) -> dict[str, str]:
        self.count += 1
        if not elements:
            raise RuleError(template)
        return {"value": elements["lab"]["a"][0]["Value"]}


def test_a_template_is_expanded_once_for_each_content_and_not_for_each_node() -> None:
    engine = OneByOne()
    fleet = fleet_of([lab(x="1"), lab(x="2")] * 20)
    results = results_by_node(fleet, Rule("r", (HAS_X,), labels_template="t"), templates=engine)
    assert [one[0].labels["value"] for one in results] == ["1", "2"] * 20
    assert engine.count == 2


def test_a_term_is_asked_once_for_each_content_also_after_another_node_changed() -> None:
    fleet = fleet_of([lab(x=str(number % 5)) for number in range(50)])
    chain = fleets.make_chain(compile_rules([Rule("r1", (HAS_X,)), Rule("r2", (HAS_X, Term("lab.b", {"y": EXISTS})))]))
    fleets.evaluate_rules(fleet, chain)
    assert fleet.memo.asked == 5
    fleet.update("n0", DETECTOR, lab(x="new"))
    fleets.evaluate_rules(fleet, chain, ["n0"])
    assert fleet.memo.asked == 6


READS_A = Rule("reads a", (HAS_X,), labels={"g": "1"})
EXPANDS_A = Rule("expands a", (HAS_X,), labels_template="{{range .lab.a}}l={{.Value}}\n{{end}}")
READS_B = Rule("reads b", (Term("lab.b", {"y": EXISTS}),), labels={"h": "1"})
EXPANDS_B = Rule("expands b", (Term("lab.b", {"y": EXISTS}),), labels_template="{{range .lab.b}}m={{.Value}}\n{{end}}")
HAS_H = Rule("has h", (Term("rule.matched", {"h": EXISTS}),))


def two_sets(x: str, y: str) -> Snapshot:
    contents = {"lab.a": FeatureSet(attributes={"x": x}), "lab.b": FeatureSet(attributes={"y": y})}
    return Snapshot(contents, catalogue=frozenset(contents))


def test_after_one_node_changed_one_set_only_rules_that_read_it_run() -> None:
    fleet = fleet_of([two_sets(str(number % 3), str(number % 2)) for number in range(12)])
    chain = fleets.make_chain(compile_rules([READS_A, READS_B, HAS_G, HAS_H, EXPANDS_A, EXPANDS_B]))
    assert fleets.evaluate_rules(fleet, chain).ran == {0, 1, 2, 3, 4, 5}
    assert fleets.evaluate_rules(fleet, chain).ran == frozenset()
    fleet.update("n0", DETECTOR, two_sets("new", "0"))
    assert fleets.evaluate_rules(fleet, chain, ["n0"]).ran == {0, 4}
    assert fleets.evaluate_rules(fleet, chain).ran == frozenset()


def test_a_rule_that_reads_what_rules_gave_runs_where_those_gave_something_else() -> None:
    fleet = fleet_of([two_sets("1", "1"), two_sets("2", "1")])
    chain = fleets.make_chain(compile_rules([READS_A, READS_B, HAS_G, HAS_H]))
    fleets.evaluate_rules(fleet, chain)
    fleet.update("n0", DETECTOR, Snapshot({"lab.b": FeatureSet(attributes={"y": "1"})}, catalogue=frozenset({"lab.b"})))
    assert fleets.evaluate_rules(fleet, chain, ["n0"]).ran == {0, 2}


def test_rules_that_are_written_alike_are_not_run_again_when_they_are_compiled_anew() -> None:
    fleet = fleet_of([two_sets("1", "1")])
    for ran in ({0, 1}, set()):
        chain = fleets.make_chain(compile_rules([EXPANDS_A, HAS_G]))
        assert fleets.evaluate_rules(fleet, chain).ran == ran


def test_another_engine_is_asked_though_results_are_remembered() -> None:
    fleet = fleet_of([lab(x="1")])
    rule = Rule("r", (HAS_X,), labels_template="value=of the language")
    assert results_by_node(fleet, rule)[0][0].labels == {"value": "of the language"}
    assert results_by_node(fleet, rule, templates=OneByOne())[0][0].labels == {"value": "1"}
    assert results_by_node(fleet, rule)[0][0].labels == {"value": "of the language"}


def test_only_the_nodes_that_were_asked_about_are_answered_in_their_order() -> None:
    fleet = fleet_of([lab(x="1"), lab(), lab(x="1")])
    found = fleets.evaluate_rules(fleet, fleets.make_chain(compile_rules([Rule("r", (HAS_X,))])), ["n2", "n1"])
    assert found.nodes() == ["n2", "n1"]
    assert found.outcomes(0).tolist() == [kleene.TRUE, kleene.FALSE]


def test_an_empty_fleet_has_no_results() -> None:
    found = fleets.evaluate_rules(Fleet(), fleets.make_chain(compile_rules([Rule("r", (HAS_X,)), Rule("s")])))
    assert (found.nodes(), found.groups(), found.outcomes(1).tolist()) == ([], [], [])


def test_results_refuse_to_look_into_a_table_that_has_changed() -> None:
    fleet = fleet_of([lab(x="1")])
    found = fleets.evaluate_rules(fleet, fleets.make_chain(compile_rules([Rule("r", (HAS_X,))])))
    fleet.update("n0", DETECTOR, lab())
    with pytest.raises(RuntimeError, match="evaluate again"):
        found.groups()


def test_a_rule_hangs_on_the_rules_before_it_that_may_give_what_it_reads() -> None:
    chain = fleets.make_chain(compile_rules([READS_A, READS_B, HAS_G, EXPANDS_B, HAS_G, HAS_H, READS_ALL, READS_A]))
    assert [list(givers) for givers in chain.givers] == [[], [], [0], [], [0, 3], [1, 3], [0, 1, 2, 3, 4, 5], []]
