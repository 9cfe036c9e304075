"""Specifications on many nodes: the same as rules.report_sets says of each node alone."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy import fleet as fleets
from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, Limits, kleene
from nodeworthy.rules import (
    CompatibilitySet,
    Expression,
    Operator,
    Outcome,
    Rule,
    TemplateEngine,
    Term,
    report_sets,
)
from nodeworthy.rules.templates import Elements

if TYPE_CHECKING:
    from tests.shared.fleet.conftest import Worlds

LARGE = Term("lab.a", {"x": Expression(Operator.GT, ("5",))})
"""Does the element x pass five."""
OTHER = Term("lab.a", {"x": Expression(Operator.EXISTS)})
GIVEN = Term("rule.matched", {"v": Expression(Operator.EXISTS)})


def fleet_of(*values: int, limits: Limits | None = None) -> Fleet:
    fleet = Fleet(limits=limits)
    for number, value in enumerate(values):
        contents = {"lab.a": FeatureSet(attributes={"x": str(value)})}
        fleet.update(f"n{number}", DETECTOR, Snapshot(contents, catalogue=frozenset(contents)))
    return fleet


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_the_table_says_of_each_node_what_its_facts_alone_say(data: st.DataObject, worlds: "Worlds") -> None:
    snapshots = data.draw(worlds.fleets)
    sets = data.draw(worlds.specifications)
    templates = data.draw(st.sampled_from([None, worlds.templates]))
    fleet = Fleet()
    for number, snapshot in enumerate(snapshots):
        fleet.update(f"n{number}", DETECTOR, snapshot)
    found = fleets.evaluate_specification(fleet, fleets.make_specification(sets), templates=templates)
    vectors = found.vector_numbers()
    for place, snapshot in enumerate(snapshots):
        alone = report_sets(sets, snapshot, templates)
        assert [kleene.OUTCOMES[found.outcomes(one)[place]] for one in range(len(sets))] == [s.outcome for s in alone]
        assert found.report(f"n{place}") == alone
        example = found.example(int(vectors[place]))
        assert [[rule.outcome for rule in one.rules] for one in example] == [
            [r.outcome for r in s.rules] for s in alone
        ]


def test_nodes_with_other_values_that_fare_alike_share_a_report() -> None:
    found = fleets.evaluate_specification(
        fleet_of(7, 8, 1, 9), fleets.make_specification([CompatibilitySet((Rule("r", (LARGE,)),))])
    )
    assert found.outcomes(0).tolist() == [kleene.TRUE, kleene.TRUE, kleene.FALSE, kleene.TRUE]
    first, second, third, fourth = found.vector_numbers().tolist()
    assert first == second == fourth != third
    assert found.example(second) is found.example(first)
    assert "8" in str(found.report("n1")[0].rules[0].expressions[0].observed)


def test_a_set_without_rules_says_nothing() -> None:
    found = fleets.evaluate_specification(fleet_of(7), fleets.make_specification([CompatibilitySet(())]))
    assert found.outcomes(0).tolist() == [kleene.UNKNOWN]


def test_variables_of_one_set_are_seen_by_the_next_on_the_same_node() -> None:
    sets = [CompatibilitySet((Rule("gives", (LARGE,), vars={"v": "1"}),)), CompatibilitySet((Rule("reads", (GIVEN,)),))]
    found = fleets.evaluate_specification(fleet_of(7, 1), fleets.make_specification(sets))
    assert found.outcomes(1).tolist() == [kleene.TRUE, kleene.FALSE]


def outcomes_as_alone(fleet: Fleet, *rules: Rule, templates: TemplateEngine | None = None) -> list[list[Outcome]]:
    """The outcome of each rule, every one in a set of its own, by node; compared with what each node alone gives."""
    sets = [CompatibilitySet((rule,)) for rule in rules]
    found = fleets.evaluate_specification(fleet, fleets.make_specification(sets), templates=templates)
    alone = [[one.outcome for one in report_sets(sets, fleet.facts(node), templates)] for node in fleet.nodes()]
    together = [
        [kleene.OUTCOMES[found.outcomes(number)[place]] for number in range(len(sets))] for place in range(len(alone))
    ]
    assert together == alone
    return together


def test_after_a_rule_in_error_nobody_knows_what_was_handed_on() -> None:
    bad = Rule("bad", (Term("lab.a", {"x": Expression(Operator.GT, ("9",)), "y": Expression(Operator.GT, ("word",))}),))
    lacks = Rule("lacks", (Term("rule.matched", {"v": Expression(Operator.DOES_NOT_EXIST)}),))
    fleet = fleet_of(1)
    contents = {"lab.a": FeatureSet(attributes={"x": "10", "y": "1"})}
    fleet.update("n1", DETECTOR, Snapshot(contents, catalogue=frozenset()))
    assert outcomes_as_alone(fleet, bad, lacks) == [[Outcome.FALSE, Outcome.TRUE], [Outcome.UNKNOWN] * 2]


def test_a_rule_of_which_only_the_alternatives_fail_hands_on_its_variables() -> None:
    never = Term("lab.a", {"ghost": Expression(Operator.EXISTS)})
    gives = Rule("gives", (LARGE,), ((never,),), vars={"v": "1"})
    assert outcomes_as_alone(fleet_of(7, 1), gives, Rule("reads", (GIVEN,))) == [
        [Outcome.FALSE, Outcome.TRUE],
        [Outcome.FALSE, Outcome.FALSE],
    ]


class Values:
    """Gives the value of the one element that was matched as variable ``v``."""

    def expand(self, template: str, elements: Elements) -> dict[str, str]:
        return {template: elements["lab"]["a"][0]["Value"]}


def test_variables_of_templates_are_handed_on_with_the_nodes_own_values() -> None:
    gives = Rule("gives", (OTHER,), vars_template="v")
    reads = Rule("reads", (Term("rule.matched", {"v": Expression(Operator.IN, ("7",))}),))
    assert outcomes_as_alone(fleet_of(7, 1), gives, reads, templates=Values()) == [
        [Outcome.TRUE, Outcome.TRUE],
        [Outcome.TRUE, Outcome.FALSE],
    ]


def test_only_the_nodes_that_were_asked_about_are_answered_in_their_order() -> None:
    specification = fleets.make_specification([CompatibilitySet((Rule("r", (LARGE,)),))])
    found = fleets.evaluate_specification(fleet_of(7, 1, 8), specification, ["n1", "n2"])
    assert found.outcomes(0).tolist() == [kleene.FALSE, kleene.TRUE]


def test_the_reports_that_one_specification_can_ask_for_are_bounded() -> None:
    terms = [Term("lab.a", {"x": Expression(Operator.IN, (str(value),))}) for value in range(4)]
    gives = [Rule(f"gives {number}", (term,), vars={"v": "1"}) for number, term in enumerate(terms)]
    specification = fleets.make_specification([CompatibilitySet((*gives, Rule("reads", (GIVEN,))))])
    assert fleets.evaluate_specification(fleet_of(*range(4), limits=Limits(reports=4)), specification)
    with pytest.raises(UsageError, match="too many kinds of nodes"):
        fleets.evaluate_specification(fleet_of(*range(4), limits=Limits(reports=3)), specification)


def test_the_questions_of_one_evaluation_are_bounded_and_the_table_goes_on() -> None:
    fleet = fleet_of(*range(10), limits=Limits(asks=10))
    one, two = (fleets.make_specification([CompatibilitySet((Rule("r", (LARGE, *more)),))]) for more in ((), (OTHER,)))
    with pytest.raises(UsageError, match="too many questions"):
        fleets.evaluate_specification(fleet, two)
    assert fleets.evaluate_specification(fleet, one).outcomes(0).tolist().count(kleene.TRUE) == 4
    assert [s.outcome for s in fleets.evaluate_specification(fleet, two).report("n0")] == [Outcome.FALSE]
