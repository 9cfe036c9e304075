"""Rules and their terms, read from a document's tree."""

from collections.abc import Mapping

from nodeworthy.rules.fields import (
    has_fields,
    has_items,
    is_null,
    join,
    line_of,
    read_fields,
    read_items,
    read_text,
    read_text_map,
)
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.flag_sets import asks_value_of_flag, flag_form
from nodeworthy.rules.known_sets import KNOWN_SETS, is_known_element, is_known_set, nearest
from nodeworthy.rules.records import Expression, Rule, Taint, Term, UnreadableRule
from nodeworthy.rules.short_forms import read_expression, read_expressions
from nodeworthy.rules.slips import slip_in_name, slips_in_values
from nodeworthy.rules.templates import Template
from nodeworthy.rules.timestamps import is_timestamp
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode

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
    rule, problems = findings.read_part(lambda: _read_rule(node, path, known, findings))
    return UnreadableRule(rule.name, problems) if problems else rule


def _read_rule(node: Node, path: str, known: tuple[str, ...], findings: Findings) -> Rule:
    fields = read_fields(node, path, known, findings)

    def text(name: str) -> str:
        return read_text(fields.get(name), join(path, name), findings)

    def template(name: str) -> str:
        return _read_template(fields.get(name), join(path, name), findings)

    def text_map(name: str) -> dict[str, str]:
        return read_text_map(fields.get(name), join(path, name), findings)

    if known == WORKER_FIELDS:
        # NFD refuses such a file. In an object it drops the field; a cluster's API server refuses or drops it before.
        _check_conditions(node, path, fields, ("matchFeatures", "matchAny"), findings)
    for name in ("labelsTemplate", "varsTemplate"):
        if name in fields and not has_items(fields.get("matchFeatures")) and not has_items(fields.get("matchAny")):
            said = "a rule without matchFeatures and matchAny expands no template"
            findings.notice(fields[name].line, join(path, name), said, "add a condition, such as feature: system.name")
    if has_fields(node) and is_null(fields.get("name")):
        findings.lax(node.line, path, "this rule has no name", "reports and statuses name a rule by it")
    return Rule(
        name=text("name"),
        match_features=_read_terms(fields.get("matchFeatures"), join(path, "matchFeatures"), findings),
        match_any=tuple(
            _read_element(item, place, findings)
            for item, place in read_items(fields.get("matchAny"), join(path, "matchAny"), findings)
        ),
        labels=text_map("labels"),
        labels_template=template("labelsTemplate"),
        vars=text_map("vars"),
        vars_template=template("varsTemplate"),
        annotations=text_map("annotations"),
        extended_resources=text_map("extendedResources"),
        taints=tuple(
            _read_taint(item, place, findings)
            for item, place in read_items(fields.get("taints"), join(path, "taints"), findings)
        ),
    )


def _check_conditions(
    node: Node, path: str, fields: Mapping[str, Node], conditions: tuple[str, ...], findings: Findings
) -> None:
    """Refuse what would hold always only because its one condition is misspelt."""
    if not isinstance(node, MappingNode) or any(name in fields for name in conditions):
        return
    written = {name.lower(): name for name in conditions}
    for key in node.entries:
        near = nearest(key, written)
        if near:
            said = "this is no condition, and without one this would always hold"
            findings.problem(
                node.lines.get(key, node.line), join(path, key[:80]), said, f"did you mean {written[near]}?"
            )


def _read_template(node: Node | None, path: str, findings: Findings) -> str:
    text = read_text(node, path, findings)
    problem = Template(text).problem() if text else None
    if node is not None and problem is not None:
        # NFD finds it where the rule matches and the template is expanded; the rule is in error there and not before.
        findings.bad_value(node.line, path, str(problem), problem.todo)
    return text


def _read_element(node: Node, path: str, findings: Findings) -> tuple[Term, ...]:
    fields = read_fields(node, path, ("matchFeatures",), findings)
    return _read_terms(fields.get("matchFeatures"), join(path, "matchFeatures"), findings)


def _read_terms(node: Node | None, path: str, findings: Findings) -> tuple[Term, ...]:
    return tuple(_read_term(item, place, findings) for item, place in read_items(node, path, findings))


def _read_term(node: Node, path: str, findings: Findings) -> Term:
    fields = read_fields(node, path, ("feature", "matchExpressions", "matchName"), findings)
    feature = _read_feature(node, fields.get("feature"), join(path, "feature"), findings)
    expressions = read_expressions(fields.get("matchExpressions"), join(path, "matchExpressions"), findings)
    _check_elements(
        fields.get("matchExpressions"), join(path, "matchExpressions"), feature, expressions or {}, findings
    )
    _check_conditions(node, path, fields, ("matchExpressions", "matchName"), findings)
    name = fields.get("matchName")
    return Term(
        feature=feature,
        expressions=expressions,
        name=None if name is None or is_null(name) else read_expression(name, join(path, "matchName"), findings),
    )


def _read_feature(term: Node, node: Node | None, path: str, findings: Findings) -> str:
    feature = read_text(node, path, findings)
    if "." not in feature:
        if has_fields(term) and (node is None or isinstance(node, ScalarNode)):
            findings.lax(term.line, path, f"{feature[:80]!r} names no feature", "for example cpu.cpuid")
    elif not is_known_set(feature):
        near = nearest(feature, KNOWN_SETS)
        hint = f"did you mean {near}?" if near else "it has to come from a program or NodeFeature object of yours"
        line = (node or term).line
        findings.notice(line, path, f"no source of nodeworthy or NFD delivers the set {feature[:80]}", hint)
    return feature


def _check_elements(
    node: Node | None, path: str, feature: str, expressions: Mapping[str, Expression], findings: Findings
) -> None:
    for name, expression in expressions.items():
        if node is not None and asks_value_of_flag(feature, name, expression):
            said = f"{name[:80]} is a flag of {feature}: it has no value, so this never holds"
            findings.notice(line_of(name, node, {}), join(path, name[:80]), said, f"write {flag_form(expression)}")
        if node is not None:
            line, place = line_of(name, node, {}), join(path, name[:80])
            slip = slip_in_name(feature, name)
            for said, hint in [slip] if slip else slips_in_values(feature, name, expression):
                findings.notice(line, place, said, hint)
        if node is not None and not is_known_element(feature, name):
            known = KNOWN_SETS[feature.lower()]
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(known)}"
            line = line_of(name, node, {})
            findings.notice(
                line, join(path, name[:80]), f"no source of nodeworthy or NFD gives {feature} this element", hint
            )


def _read_taint(node: Node, path: str, findings: Findings) -> Taint:
    fields = read_fields(node, path, ("key", "value", "effect", "timeAdded"), findings)
    texts = {name: read_text(value, join(path, name), findings) for name, value in fields.items()}
    time_added = texts.get("timeAdded", "")
    if time_added and not is_timestamp(time_added):
        findings.problem(fields["timeAdded"].line, join(path, "timeAdded"), f"{time_added[:80]!r} is no time")
    return Taint(texts.get("key", ""), texts.get("effect", ""), texts.get("value", ""), time_added)
