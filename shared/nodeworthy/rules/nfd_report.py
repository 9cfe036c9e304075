"""The report in the shape of ``nfd compat validate-node --output-json``, for programs that read NFD's."""

from collections.abc import Iterable, Sequence
from typing import Any

from nodeworthy.errors import RuleError
from nodeworthy.rules.evaluation import Facts
from nodeworthy.rules.outcomes import Outcome
from nodeworthy.rules.records import CompatibilitySet
from nodeworthy.rules.reporting import ExpressionReport, RuleReport, SetReport, report_sets
from nodeworthy.rules.templates import TemplateEngine


def nfd_report(
    sets: Sequence[CompatibilitySet], facts: Facts, templates: TemplateEngine | None = None
) -> list[dict[str, Any]]:
    """The JSON value that NFD prints for these sets. What is unknown is no match, for want of a third value.

    Raises:
        RuleError: a rule, or one expression of it, is in error; NFD then prints nothing either.
    """
    return [_write_set(report) for report in report_sets(sets, facts, templates)]


def _write_set(report: SetReport) -> dict[str, Any]:
    written: dict[str, Any] = {"rules": [_write_rule(rule) for rule in report.rules] or None}
    optional = {"description": report.description, "weight": report.weight, "tag": report.tag}
    return written | {key: value for key, value in optional.items() if value}


def _write_rule(rule: RuleReport) -> dict[str, Any]:
    if rule.outcome is Outcome.ERROR:
        raise RuleError(f"rule {rule.name!r} cannot be evaluated", why=rule.reason)
    written: dict[str, Any] = {"name": rule.name, "isMatch": rule.outcome is Outcome.TRUE}
    if required := _write_expressions(rule.name, (one for one in rule.expressions if one.alternative is None)):
        written["matchedExpressions"] = required
    if rule.alternatives:
        written["matchedAny"] = [
            {"matchedExpressions": _write_expressions(rule.name, _of_alternative(rule, number)) or None}
            for number in range(rule.alternatives)
        ]
    return written


def _of_alternative(rule: RuleReport, number: int) -> Iterable[ExpressionReport]:
    return (one for one in rule.expressions if one.alternative == number)


def _write_expressions(rule: str, expressions: Iterable[ExpressionReport]) -> list[dict[str, Any]]:
    written = [(_order(one), _write_expression(rule, one)) for one in expressions if one.matcher != "feature"]
    return [expression for _, expression in sorted(written, key=lambda pair: pair[0])]


def _order(one: ExpressionReport) -> tuple[str, str, str, tuple[str, ...]]:
    return (one.feature, one.name, one.operator, one.values)


def _write_expression(rule: str, one: ExpressionReport) -> dict[str, Any]:
    if one.outcome is Outcome.ERROR:
        raise RuleError(f"rule {rule!r} cannot be evaluated", why=f"{one.feature} {one.name}: {one.reason}")
    expression: dict[str, Any] = {"op": one.operator}
    if one.values:
        expression["value"] = list(one.values)
    if one.type:
        expression["type"] = one.type
    return {
        "feature": one.feature,
        "name": one.name,
        "expression": expression,
        "matcherType": "matchName" if one.matcher == "matchName" else "matchExpression",
        "isMatch": one.outcome is Outcome.TRUE,
    }
