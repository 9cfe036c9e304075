"""Explaining rules on one node: each as labelling decides it, and of each the expressions that decide."""

from collections.abc import Iterable, Sequence

from nodeworthy.rules.compiled import CompiledRule
from nodeworthy.rules.evaluation import Facts, RuleResult, hand_on
from nodeworthy.rules.outcomes import Outcome
from nodeworthy.rules.records import Rule, UnreadableRule
from nodeworthy.rules.reporting import ExpressionReport, RuleReport, _Reporter
from nodeworthy.rules.templates import TemplateEngine

INCIDENT = "nodeworthy.io/incident"
"""The annotation by which an object of rules names the incident that it was written for."""


def explain_chain(
    rules: Iterable[Rule | UnreadableRule], facts: Facts, templates: TemplateEngine | None = None
) -> tuple[RuleReport, ...]:
    """The report of each rule of a chain; the outcomes are those of :func:`nodeworthy.rules.evaluate_chain`."""
    explainer = _Explainer(facts, templates)
    return tuple(explainer.report_rule(rule) for rule in rules)


class _Explainer(_Reporter):
    """Hands on what labelling hands on: labels and variables of rules that match."""

    def feed(self, rule: CompiledRule, result: RuleResult) -> None:
        hand_on(self.matched, rule, result)


def deciding_expressions(report: RuleReport) -> tuple[ExpressionReport, ...]:
    """The expressions by which a rule ended as it did.

    Of a rule that matches all that had to hold, with those of its first alternative that does; else those that do not hold
    or are not known, and where only the alternatives are in the way, those of the nearest one.
    """
    required = [one for one in report.expressions if one.alternative is None]
    if report.outcome is Outcome.TRUE:
        return (*required, *_first_that_holds(report))
    wanted = {Outcome.FALSE: (Outcome.FALSE,), Outcome.ERROR: (Outcome.ERROR,)}.get(
        report.outcome, (Outcome.UNKNOWN, Outcome.ERROR)
    )
    deciding = [one for one in required if one.outcome in wanted]
    if not deciding and report.alternatives:
        nearest = min(_by_alternative(report), key=_missing)
        deciding = [one for one in nearest if one.outcome is not Outcome.TRUE]
    # What is left: no single device meets all expressions, though each is met by some.
    return tuple(deciding or required)


def distance(report: RuleReport) -> int:
    """How many expressions would have to become true, at least, for the rule to match; 0 where it does."""
    if report.outcome is Outcome.TRUE:
        return 0
    required = _missing([one for one in report.expressions if one.alternative is None])
    alternatives = min(map(_missing, _by_alternative(report)), default=0)
    return max(required + alternatives, 1)


def _first_that_holds(report: RuleReport) -> Sequence[ExpressionReport]:
    return next((one for one in _by_alternative(report) if not _missing(one)), ())


def _by_alternative(report: RuleReport) -> list[list[ExpressionReport]]:
    return [[one for one in report.expressions if one.alternative == number] for number in range(report.alternatives)]


def _missing(expressions: Iterable[ExpressionReport]) -> int:
    return sum(one.outcome is not Outcome.TRUE for one in expressions)
