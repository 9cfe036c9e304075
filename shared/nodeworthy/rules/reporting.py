"""Reports: how one node fares with a compatibility specification, every expression judged on its own.

The outcome of a rule in a report is its outcome in labelling mode on the same facts.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.rules.back_references import BackReferences
from nodeworthy.rules.compiled import MATCHED_SET, CompiledRule, compile_rule
from nodeworthy.rules.evaluation import (
    Facts,
    RuleResult,
    evaluate_in_chain,
    look_up,
    required_variables,
    unreadable_reason,
)
from nodeworthy.rules.judging import Judgement, judge_term
from nodeworthy.rules.matching import CompiledTerm
from nodeworthy.rules.observations import describe
from nodeworthy.rules.outcomes import Answer, Outcome, all_hold
from nodeworthy.rules.records import CompatibilitySet, Rule, UnreadableRule
from nodeworthy.rules.templates import TemplateEngine


class ExpressionReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One requirement: what is asked, what was seen, how it ended."""

    feature: str
    name: str
    """Of the element; empty for ``matchName`` and ``feature``."""
    matcher: str
    """``matchExpressions``, ``matchName``, or ``feature`` where the term only wants the set to be there."""
    operator: str
    values: tuple[str, ...]
    type: str
    outcome: Outcome
    observed: str | None
    """``None`` where nothing is known."""
    expected: str
    reason: str = ""
    alternative: int | None = None
    """The place in ``matchAny``; ``None`` for ``matchFeatures``."""


class RuleReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule: its outcome, and every expression of it."""

    name: str
    outcome: Outcome
    reason: str
    """Why it is not TRUE."""
    expressions: tuple[ExpressionReport, ...] = ()
    alternatives: int = 0
    """How many elements ``matchAny`` has; some may ask nothing and so have no expression here."""


class SetReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One compatibility set: TRUE when all its rules are, FALSE when one is FALSE, UNKNOWN otherwise.

    A set without rules asks for nothing, which is no evidence that the image runs: UNKNOWN.
    """

    tag: str
    weight: int
    description: str
    outcome: Outcome
    reason: str
    rules: tuple[RuleReport, ...] = ()


def report_sets(
    sets: Sequence[CompatibilitySet], facts: Facts, templates: TemplateEngine | None = None
) -> tuple[SetReport, ...]:
    """The report of each set, in order; variables of a rule are seen by all rules after it, in later sets too."""
    reporter = _Reporter(facts, templates)
    return tuple(reporter.report_set(one) for one in sets)


class _Reporter:
    """One walk over a specification; ``rule.matched`` grows with it."""

    def __init__(self, facts: Facts, templates: TemplateEngine | None) -> None:
        self.facts = facts
        self.templates = templates
        self.matched = BackReferences(facts.lookup(MATCHED_SET))

    def report_set(self, one: CompatibilitySet) -> SetReport:
        rules = tuple(self.report_rule(rule) for rule in one.rules)
        outcome, reason = _combine(rules)
        return SetReport(one.tag, one.weight, one.description, outcome, reason, rules)

    def report_rule(self, rule: Rule | UnreadableRule) -> RuleReport:
        if isinstance(rule, UnreadableRule):
            self.matched.doubt_all(rule.name)
            return RuleReport(rule.name, Outcome.ERROR, unreadable_reason(rule))
        compiled = compile_rule(rule)
        result = evaluate_in_chain(compiled, self.facts, self.matched, self.templates)
        judged = list(self.judge_rule(compiled))
        reason = result.reason
        if result.outcome is Outcome.FALSE:
            reason = _why_not(judged)
        self.feed(compiled, result)
        expressions = tuple(_report(one, term.alternative) for term in judged for one in term.judgements)
        return RuleReport(rule.name, result.outcome, reason, expressions, len(rule.match_any))

    def judge_rule(self, rule: CompiledRule) -> Iterator["_JudgedTerm"]:
        for term in rule.match_features:
            yield self.judge(term, None)
        for alternative, element in enumerate(rule.match_any):
            for term in element:
                yield self.judge(term, alternative)

    def judge(self, term: CompiledTerm, alternative: int | None) -> "_JudgedTerm":
        found = look_up(term, self.facts, self.matched)
        return _JudgedTerm(alternative, term.answer(found), judge_term(term, found))

    def ask(self, term: CompiledTerm) -> Answer:
        return term.answer(look_up(term, self.facts, self.matched))

    def feed(self, rule: CompiledRule, result: RuleResult) -> None:
        """Hand on the rule's variables as NFD's image report does: also where only ``matchAny`` fails.

        That is NFD's behaviour and no choice of ours (oracle case c-compat-030); labelling hands on nothing then.
        """
        source = rule.source
        if result.outcome is Outcome.TRUE:
            self.matched.feed(result.vars)
            return
        required = all_hold(map(self.ask, rule.match_features)).outcome
        if result.outcome is Outcome.ERROR:
            self.matched.doubt_all(source.name)
        elif required is Outcome.FALSE:
            self.matched.feed()
        elif source.vars_template and Outcome.UNKNOWN in (result.outcome, required):
            self.matched.doubt_all(source.name)
        elif required is Outcome.TRUE:
            self.feed_required(rule)
        else:
            self.matched.doubt(source.name, source.vars)

    def feed_required(self, rule: CompiledRule) -> None:
        try:
            self.matched.feed(required_variables(rule, self.facts, self.matched, self.templates))
        except RuleError:
            self.matched.doubt_all(rule.source.name)


class _JudgedTerm(NamedTuple):
    alternative: int | None
    answer: Answer
    judgements: tuple[Judgement, ...]


def _combine(rules: Sequence[RuleReport]) -> tuple[Outcome, str]:
    if not rules:
        return Outcome.UNKNOWN, "the set has no rules, so it says nothing"
    for outcome in (Outcome.FALSE, Outcome.UNKNOWN, Outcome.ERROR):
        for rule in rules:
            if rule.outcome is outcome:
                return Outcome.FALSE if outcome is Outcome.FALSE else Outcome.UNKNOWN, f"{rule.name}: {rule.reason}"
    return Outcome.TRUE, ""


def _why_not(judged: Sequence[_JudgedTerm]) -> str:
    """Why a rule does not match: its first required term that fails, or else its alternatives."""
    for term in judged:
        if term.alternative is None and term.answer.outcome is Outcome.FALSE:
            return _why_term_fails(term)
    alternatives = {term.alternative for term in judged if term.alternative is not None}
    if len(alternatives) == 1:
        return next(_why_term_fails(term) for term in judged if term.answer.outcome is Outcome.FALSE)
    return f"none of {len(alternatives)} alternatives holds"


def _why_term_fails(term: _JudgedTerm) -> str:
    for one in term.judgements:
        if one.outcome is Outcome.FALSE:
            asked = f"{one.feature} {one.name}".strip()
            return one.reason or f"{asked}: wanted {describe(one.expression)}, found {one.observed}"
    # Each expression is met by some device: what is missing is one that meets all of them.
    return f"{term.judgements[0].feature}: no single device meets all expressions"


def _report(judgement: Judgement, alternative: int | None) -> ExpressionReport:
    expression = judgement.expression
    return ExpressionReport(
        feature=judgement.feature,
        name=judgement.name,
        matcher=judgement.matcher,
        operator=expression.operator.value if expression else "",
        values=expression.values if expression else (),
        type=expression.type if expression else "",
        outcome=judgement.outcome,
        observed=judgement.observed,
        expected=describe(expression),
        reason=judgement.reason,
        alternative=alternative,
    )
