"""Rules and their terms, read from a document's tree."""

from nodeworthy.rules.fields import is_null, join, read_fields, read_items, read_text, read_text_map
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.records import Rule, Taint, Term, UnreadableRule
from nodeworthy.rules.short_forms import read_expression, read_expressions
from nodeworthy.rules.timestamps import is_timestamp
from nodeworthy.rules.trees import Node

GROUP_FIELDS = ("name", "vars", "varsTemplate", "matchFeatures", "matchAny")
"""A rule of a NodeFeatureGroup or a compatibility specification."""

WORKER_FIELDS = (*GROUP_FIELDS, "labels", "labelsTemplate")
"""A custom rule of NFD's worker."""

RULE_FIELDS = (*WORKER_FIELDS, "annotations", "taints", "extendedResources")
"""A rule of a NodeFeatureRule."""


def read_rules(
    node: Node | None, path: str, known: tuple[str, ...], findings: Findings
) -> tuple[Rule | UnreadableRule, ...]:
    """A list of rules; one that cannot be read stands as such, and its neighbours are not touched by it."""
    return tuple(read_rule(item, place, known, findings) for item, place in read_items(node, path, findings))


def read_rule(node: Node, path: str, known: tuple[str, ...], findings: Findings) -> Rule | UnreadableRule:
    """One rule with the fields that its document has."""
    outside = findings.take_part()
    rule = _read_rule(node, path, known, findings)
    problems = findings.take_part()
    for problem in outside:
        findings.problem(*problem[1:])
    return UnreadableRule(rule.name, problems) if problems else rule


def _read_rule(node: Node, path: str, known: tuple[str, ...], findings: Findings) -> Rule:
    fields = read_fields(node, path, known, findings)

    def text(name: str) -> str:
        return read_text(fields.get(name), join(path, name), findings)

    def text_map(name: str) -> dict[str, str]:
        return read_text_map(fields.get(name), join(path, name), findings)

    if is_null(fields.get("name")):
        findings.lax(node.line, path, "this rule has no name", "reports and statuses name a rule by it")
    return Rule(
        name=text("name"),
        match_features=_read_terms(fields.get("matchFeatures"), join(path, "matchFeatures"), findings),
        match_any=tuple(
            _read_element(item, place, findings)
            for item, place in read_items(fields.get("matchAny"), join(path, "matchAny"), findings)
        ),
        labels=text_map("labels"),
        labels_template=text("labelsTemplate"),
        vars=text_map("vars"),
        vars_template=text("varsTemplate"),
        annotations=text_map("annotations"),
        extended_resources=text_map("extendedResources"),
        taints=tuple(
            _read_taint(item, place, findings)
            for item, place in read_items(fields.get("taints"), join(path, "taints"), findings)
        ),
    )


def _read_element(node: Node, path: str, findings: Findings) -> tuple[Term, ...]:
    fields = read_fields(node, path, ("matchFeatures",), findings)
    return _read_terms(fields.get("matchFeatures"), join(path, "matchFeatures"), findings)


def _read_terms(node: Node | None, path: str, findings: Findings) -> tuple[Term, ...]:
    return tuple(_read_term(item, place, findings) for item, place in read_items(node, path, findings))


def _read_term(node: Node, path: str, findings: Findings) -> Term:
    fields = read_fields(node, path, ("feature", "matchExpressions", "matchName"), findings)
    feature = read_text(fields.get("feature"), join(path, "feature"), findings)
    if "." not in feature:
        findings.lax(node.line, join(path, "feature"), f"{feature[:80]!r} names no feature", "for example cpu.cpuid")
    name = fields.get("matchName")
    return Term(
        feature=feature,
        expressions=read_expressions(fields.get("matchExpressions"), join(path, "matchExpressions"), findings),
        name=None if name is None or is_null(name) else read_expression(name, join(path, "matchName"), findings),
    )


def _read_taint(node: Node, path: str, findings: Findings) -> Taint:
    fields = read_fields(node, path, ("key", "value", "effect", "timeAdded"), findings)
    texts = {name: read_text(value, join(path, name), findings) for name, value in fields.items()}
    time_added = texts.get("timeAdded", "")
    if time_added and not is_timestamp(time_added):
        findings.problem(fields["timeAdded"].line, join(path, "timeAdded"), f"{time_added[:80]!r} is no time")
    return Taint(texts.get("key", ""), texts.get("effect", ""), texts.get("value", ""), time_added)
