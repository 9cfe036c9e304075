from collections.abc import Callable

from nodeworthy.errors import Problem
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import (
    LabelPolicy,
    ObjectStatus,
    RuleChain,
    RuleObject,
    RuleStatus,
    StatusCounting,
    combine,
    compile_chain,
    make_default_labels,
)
from nodeworthy.labels import statuses as statuses_module
from nodeworthy.rules import Expression, Operator, Rule, Term, UnreadableRule, evaluate_chain

FactsOf = Callable[..., Snapshot]
AVX = (Term("cpu.cpuid", {"AVX": Expression(Operator.EXISTS)}),)
PREFIX = "feature.node.kubernetes.io/"


def ask(policy: LabelPolicy, chain: RuleChain, *nodes: tuple[Snapshot, int]) -> dict[str, ObjectStatus]:
    counting = StatusCounting(chain)
    for facts, size in nodes:
        result = evaluate_chain(chain.compiled, facts)
        counting.add_results(result.results, size)
        counting.add_wanted(combine(facts, policy, make_default_labels(facts, policy.defaults), chain, result))
    return {status.name: status for status in counting.statuses()}


def test_nodes_are_counted_by_rule_and_outcome(policy: LabelPolicy, facts_of: FactsOf) -> None:
    number = (Term("lab.x", {"k": Expression(Operator.GT, ("1",))}),)
    chain = compile_chain([RuleObject("o", (Rule("avx", AVX), Rule("number", number)))])
    new = facts_of({"cpu.cpuid": FeatureSet(flags=frozenset({"AVX"}))})
    old = facts_of({"cpu.cpuid": FeatureSet(flags=frozenset()), "lab.x": FeatureSet(attributes={"k": "abc"})})
    dark = facts_of({}, "cpu.cpuid")
    status = ask(policy, chain, (new, 3), (old, 2), (dark, 1))["o"]
    avx, numbers = status.rules
    assert (avx.matched, avx.unmatched, avx.unknown, avx.errors) == (3, 2, 1, 0)
    assert "permission denied" in avx.reason
    assert (numbers.unmatched, numbers.errors) == (4, 2)
    assert "abc" in numbers.reason


def test_rules_stand_in_the_order_of_their_object_whatever_the_order_in_which_they_run(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    seen = (Term("rule.matched", {"v": Expression(Operator.EXISTS)}),)
    bad = UnreadableRule("bad", (Problem("f", 1, "spec", "wrong"),))
    objects = [RuleObject("b", (Rule("p", vars={"v": "1"}),)), RuleObject("a", (Rule("c", seen), Rule("d"), bad))]
    told = ask(policy, compile_chain(objects), (facts_of(), 1))
    assert list(told) == ["a", "b"]
    reason = "the rule could not be read: spec: wrong"
    left_out = RuleStatus("bad", errors=1, reason=reason, is_left_out=True)
    assert told["a"].rules == (RuleStatus("c", matched=1), RuleStatus("d", matched=1), left_out)
    assert told["b"].rules == (RuleStatus("p", matched=1),)


def test_r16_a_conflict_stands_in_the_status_of_both_objects(policy: LabelPolicy, facts_of: FactsOf) -> None:
    objects = [
        RuleObject(name, (Rule("r", labels={"x": value}),)) for name, value in (("a", "1"), ("b", "2"), ("c", "2"))
    ]
    told = ask(policy, compile_chain(objects), (facts_of(), 1), (facts_of(), 1))
    (conflict,) = told["a"].conflicts
    assert (conflict.key, conflict.winner, conflict.loser) == (f"{PREFIX}x", "rule c/r", "rule a/r")
    assert (told["c"].conflicts, told["b"].conflicts) == ((conflict,), ())


def test_l9_a_refusal_stands_in_the_status_of_its_object(policy: LabelPolicy, facts_of: FactsOf) -> None:
    chain = compile_chain([RuleObject("o", (Rule("r", labels={"good": "1", "bad": "a b"}),))])
    (refusal,) = ask(policy, chain, (facts_of(), 1))["o"].refusals
    assert (refusal.rule, refusal.kind, refusal.key) == ("r", "label", f"{PREFIX}bad")
    assert refusal.reason.startswith("the value must be")


def test_a_circle_stands_in_the_status_of_its_objects(policy: LabelPolicy, facts_of: FactsOf) -> None:
    def rule(asked: str, given: str) -> Rule:
        return Rule("r", (Term("rule.matched", {asked: Expression(Operator.EXISTS)}),), vars={given: "1"})

    objects = [RuleObject("a", (rule("x", "y"),)), RuleObject("b", (rule("y", "x"),)), RuleObject("c", (Rule("r"),))]
    told = ask(policy, compile_chain(objects), (facts_of(), 1))
    assert [len(told[name].notices) for name in "abc"] == [1, 1, 0]


def test_a_status_lists_no_more_than_fits_into_a_message(policy: LabelPolicy, facts_of: FactsOf) -> None:
    limit = statuses_module.MAX_LISTED
    rule = Rule("r", labels={f"k{number}": "a b" for number in range(limit + 7)})
    status = ask(policy, compile_chain([RuleObject("o", (rule,))]), (facts_of(), 1))["o"]
    assert (len(status.refusals), status.left_out) == (limit, 7)
