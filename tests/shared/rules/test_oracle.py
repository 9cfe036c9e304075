"""The verdicts of NFD's own engine; what differs on purpose is a row of docs/nfd-differences.md."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nodeworthy import rules
from nodeworthy.errors import DocumentError, RuleError
from nodeworthy.features import FeatureSet, Instance, Snapshot
from nodeworthy.rules import labels
from nodeworthy.rules.elements import name_elements, names_hold
from nodeworthy.rules.matching import term_elements
from nodeworthy.rules.nfd_validation import validate_as_nfd
from nodeworthy.rules.prefixes import DEFAULT_PREFIX, Outputs, merge_outputs
from nodeworthy.rules.templates import template_address
from nodeworthy.rules.timestamps import is_timestamp

Json: TypeAlias = dict[str, Any]
SnapshotOf: TypeAlias = Callable[[Mapping[str, Any] | None], Snapshot]


def test_a_rule_gives_the_verdict_of_the_oracle(rule_case: Json, snapshot_of: SnapshotOf) -> None:
    facts = snapshot_of(rule_case["input"]["features"])
    got = rule_result(rule_case["input"]["rule"], facts)
    assert got == without(rule_case["expected"], "stage", "panic")


def test_a_chain_of_rules_gives_the_results_of_the_oracle(rules_case: Json, snapshot_of: SnapshotOf) -> None:
    document = read_object("NodeFeatureRule", "rules", rules_case["input"]["rules"])
    chain = rules.evaluate_chain(rules.compile_rules(document.rules), snapshot_of(rules_case["input"]["features"]))
    expected = rules_case["expected"]
    merged = merge_outputs(
        Outputs(one.labels, one.annotations, one.extended_resources, one.taints) for one in chain.results
    )
    assert [outputs(one) for one in chain.results] == [without(one, "stage") for one in expected["results"]]
    assert chain.matched == expected["ruleMatched"]
    assert written_outputs(merged) == expected["final"]


def test_a_group_rule_gives_the_verdict_of_the_oracle(group_case: Json, snapshot_of: SnapshotOf) -> None:
    facts = snapshot_of(group_case["input"]["features"])
    rule = read_object("NodeFeatureGroup", "featureGroupRules", [group_case["input"]["rule"]]).rules[0]
    expected = without(group_case["expected"], "stage", "panic")
    if "failFast" in expected:
        assert short_result(rule, facts) == without(expected["failFast"], "stage")
    assert full_result(rule, facts) == without(expected, "failFast", "vars")
    if not expected.get("error"):
        assert_hands_on(rule, expected.get("vars", {}), facts)


def test_a_matrix_has_the_letters_of_the_oracle(matrix_case: Json) -> None:
    what, values = matrix_case["input"]["what"], matrix_case["input"]["values"]
    if what in CHECKS:
        rows = ["".join("T" if CHECKS[what](value) else "F" for value in values)]
    else:
        terms = [matrix_term(what, expression) for expression in matrix_case["input"]["exprs"]]
        rows = ["".join(letter(term, SETS[what](value)) for value in values) for term in terms]
    assert rows == matrix_case["expected"]["rows"]


def test_a_compatibility_spec_gives_the_report_of_the_oracle(compat_case: Json, snapshot_of: SnapshotOf) -> None:
    facts = snapshot_of(compat_case["input"]["features"])
    tags = compat_case["input"].get("tags")
    got: Json
    try:
        spec = rules.read_compatibility_spec(compat_case["input"]["spec"], "spec")
        sets = [one for one in spec.compatibilities if not tags or one.tag in tags]
        got = {"report": rules.nfd_report(sets, facts)}
    except (DocumentError, RuleError):
        got = {"error": True}
    assert got == without(compat_case["expected"], "stage")


def test_a_file_has_the_validation_of_the_oracle(nfr_case: Json) -> None:
    got = validate_as_nfd(nfr_case["input"]["yaml"])
    errors = [msgspec.to_builtins(one) for one in got.errors]
    written = [{name: value for name, value in one.items() if value is not None} for one in errors]
    assert {"valid": got.valid, "errors": written, "parsed": got.parsed} == nfr_case["expected"]


def test_worker_rules_give_the_results_of_the_oracle(custom_case: Json, snapshot_of: SnapshotOf) -> None:
    got: Json
    try:
        document = rules.read_rule_document(
            custom_case["input"]["rulesYaml"], "custom", strict=custom_case["input"].get("strict", False)
        )
    except DocumentError:
        got = {"error": True}
    else:
        chain = rules.evaluate_chain(rules.compile_rules(document.rules), snapshot_of(custom_case["input"]["features"]))
        given = {name: value for one in chain.results for name, value in one.labels.items()}
        written = [written_rule(rule) for rule in document.rules]
        got = {"labels": given, "results": [outputs(one) for one in chain.results], "rules": written}
    expected = without(custom_case["expected"], "stage")
    if "results" in expected:
        expected["results"] = [without(one, "stage") for one in expected["results"]]
    assert got == expected


def test_the_bench_compatibility_spec_gives_the_expected_report(oracle: Path) -> None:
    facts = bench_facts(oracle)
    spec = rules.read_compatibility_spec((oracle / "bench-compat.yaml").read_bytes(), "bench-compat.yaml")
    expected = json.loads((oracle / "bench-expected.json").read_text())["compat"]
    assert rules.nfd_report(spec.compatibilities, facts) == expected
    assert not spec.problems
    # The bench asks, on purpose, for a set that no machine has.
    assert [notice.message.rpartition(" ")[2] for notice in spec.notices] == ["no.such"]


def test_the_bench_rules_match_as_expected(oracle: Path) -> None:
    document = rules.read_rule_document((oracle / "bench-rules.yaml").read_bytes(), "bench-rules.yaml")
    expected = json.loads((oracle / "bench-expected.json").read_text())
    results = rules.evaluate_chain(rules.compile_rules(document.rules), bench_facts(oracle)).results
    assert {one.outcome for one in results} == {rules.Outcome.TRUE, rules.Outcome.FALSE}
    assert [one.name for one in results if one.outcome is rules.Outcome.TRUE] == expected["matchedRules"]
    assert {name: value for one in results for name, value in one.labels.items()} == expected["labels"]


def bench_facts(oracle: Path) -> Snapshot:
    from nodeworthy.features import read_document

    contents = read_document((oracle / "bench-features.json").read_text(), "bench-features.json").contents
    return Snapshot(contents, catalogue=frozenset())


def read_object(kind: str, key: str, listed: Sequence[Json]) -> rules.RuleDocument:
    document = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": kind, "spec": {key: listed}}
    return rules.read_rule_object(document, "case")


def without(value: Json, *keys: str) -> Json:
    return {key: item for key, item in value.items() if key not in keys}


def rule_result(value: Json, facts: Snapshot) -> Json:
    rule = read_object("NodeFeatureRule", "rules", [value]).rules[0]
    if isinstance(rule, rules.UnreadableRule):
        return {"error": True}
    compiled = rules.compile_rule(rule)
    result = rules.evaluate_rule(compiled, facts)
    got = outputs(result)
    if got.get("matched") and rule.match_features:
        terms = [term for term in map(written_term, rule.match_features) if len(term) > 1]
        got["matchFeatures"] = {"features": rules.matched_elements(compiled, facts), "terms": terms}
    return got


def outputs(result: rules.RuleResult) -> Json:
    if result.outcome is rules.Outcome.ERROR:
        return {"error": True}
    assert result.outcome in (rules.Outcome.TRUE, rules.Outcome.FALSE)
    got: Json = {"matched": result.outcome is rules.Outcome.TRUE}
    if result.vars:
        got["vars"] = result.vars
    given = Outputs(result.labels, result.annotations, result.extended_resources, result.taints)
    return got | written_outputs(given)


def written_outputs(given: Outputs) -> Json:
    taints = [
        {"key": one.key, "effect": one.effect} | ({"value": one.value} if one.value else {}) for one in given.taints
    ]
    fields = {
        "labels": given.labels,
        "annotations": given.annotations,
        "extendedResources": given.extended_resources,
        "taints": taints,
    }
    return {key: value for key, value in fields.items() if value}


def written_rule(rule: rules.Rule | rules.UnreadableRule) -> Json:
    written: Json = {"name": rule.name}
    if isinstance(rule, rules.UnreadableRule):
        return written | {"unreadable": True}
    empty: Json = {"matchExpressions": {}}
    fields = {
        "labels": rule.labels,
        "labelsTemplate": rule.labels_template,
        "vars": rule.vars,
        "varsTemplate": rule.vars_template,
        "matchFeatures": [
            written_term(term) | (empty if term.expressions == {} else {}) for term in rule.match_features
        ],
    }
    return written | {name: value for name, value in fields.items() if value}


def written_term(term: rules.Term) -> Json:
    written: Json = {"feature": term.feature.lower()}
    if term.expressions:
        written["matchExpressions"] = {name: written_expression(one) for name, one in term.expressions.items()}
    if term.name is not None:
        written["matchName"] = written_expression(term.name)
    return written


def written_expression(expression: rules.Expression) -> Json:
    written: Json = {"op": expression.operator.value}
    if expression.values:
        written["value"] = list(expression.values)
    if expression.type:
        written["type"] = expression.type
    return written


def short_result(rule: rules.Rule | rules.UnreadableRule, facts: Snapshot) -> Json:
    if isinstance(rule, rules.UnreadableRule):
        return {"error": True}
    return outputs(rules.evaluate_rule(rules.compile_rule(rule), facts))


def full_result(rule: rules.Rule | rules.UnreadableRule, facts: Snapshot) -> Json:
    """What NFD gives when it evaluates everything, put together from the report and from what each expression matches."""
    if isinstance(rule, rules.UnreadableRule):
        return {"error": True}
    report = report_rules((rule,), facts)[0]
    outcomes = {report.outcome, *(one.outcome for one in report.expressions)}
    if rules.Outcome.ERROR in outcomes:
        return {"error": True}
    got: Json = {"matched": report.outcome is rules.Outcome.TRUE}
    if rule.match_features:
        got["matchFeatures"] = full_matcher(rule.match_features, report, None, facts)
    if rule.match_any:
        got["matchAny"] = [
            full_matcher(element, report, number, facts) for number, element in enumerate(rule.match_any)
        ]
    return got


def full_matcher(
    terms: Sequence[rules.Term], report: rules.RuleReport, alternative: int | None, facts: Snapshot
) -> Json:
    held = [
        one
        for one in report.expressions
        if one.alternative == alternative and one.outcome is rules.Outcome.TRUE and one.matcher != "feature"
    ]
    features: dict[str, dict[str, list[Instance]]] = {}
    written = []
    for term in terms:
        domain, feature = template_address(term.feature)
        found = features.setdefault(domain, {})
        content = facts.lookup(term.feature.lower()).content
        if content is None:
            continue
        found.setdefault(feature, []).extend(full_elements(term, content))
        kept = held_part(term, held)
        if len(kept) > 1:
            written.append(kept)
    return {"features": features, "terms": written}


def held_part(term: rules.Term, held: Iterable[rules.ExpressionReport]) -> Json:
    own = {(one.name, one.matcher, one.operator, one.values) for one in held if one.feature == term.feature}
    kept: Json = {"feature": term.feature.lower()}
    expressions = {
        name: written_expression(one)
        for name, one in (term.expressions or {}).items()
        if (name, "matchExpressions", one.operator.value, one.values) in own
    }
    if expressions:
        kept["matchExpressions"] = expressions
    if term.name is not None and ("", "matchName", term.name.operator.value, term.name.values) in own:
        kept["matchName"] = written_expression(term.name)
    return kept


def full_elements(term: rules.Term, content: FeatureSet) -> list[Instance]:
    pool = FeatureSet(flags=content.flags, attributes=content.attributes)
    devices = FeatureSet(instances=content.instances)
    elements: list[Instance] = []
    for name, expression in sorted((term.expressions or {}).items()):
        single = rules.compile_term(rules.Term(term.feature, {name: expression}))
        if single.holds(pool):
            elements += term_elements(single, pool)
    whole = rules.compile_term(rules.Term(term.feature, term.expressions))
    if term.expressions is not None and content.instances is not None and whole.holds(devices):
        elements += term_elements(whole, devices)
    compiled = rules.compile_term(term)
    if compiled.name is not None and names_hold(compiled.name, content):
        elements += name_elements(compiled.name, content)
    return elements


def report_rules(listed: Sequence[rules.Rule], facts: Snapshot) -> tuple[rules.RuleReport, ...]:
    return rules.report_sets([rules.CompatibilitySet(tuple(listed))], facts)[0].rules


def assert_hands_on(rule: rules.Rule | rules.UnreadableRule, names: Mapping[str, str], facts: Snapshot) -> None:
    """A rule behind this one sees exactly these variables."""
    assert isinstance(rule, rules.Rule)
    wanted = {name: rules.Expression(rules.Operator.IN, (value,)) for name, value in names.items()}
    others = rules.Expression(rules.Operator.NOT_IN, tuple(names) or ("",))
    probes = (
        rules.Rule("has them", (rules.Term("rule.matched", wanted),)),
        rules.Rule("has others", (rules.Term("rule.matched", name=others),)),
    )
    has_them, has_others = report_rules((rule, *probes), facts)[1:]
    assert has_them.outcome is rules.Outcome.TRUE
    assert has_others.outcome is rules.Outcome.FALSE


def matrix_term(what: str, value: Json) -> rules.CompiledTerm:
    expression = rules.Expression(
        rules.Operator(value.get("op", "")), tuple(value.get("value") or ()), value.get("type", "")
    )
    if what == "name":
        return rules.compile_term(rules.Term("lab.x", name=expression))
    return rules.compile_term(rules.Term("lab.x", {"k": expression}))


def letter(term: rules.CompiledTerm, content: FeatureSet) -> str:
    try:
        return "T" if term.holds(content) else "F"
    except RuleError:
        return "E"


def prefixed(name: str) -> str:
    return name if "/" in name else DEFAULT_PREFIX + name


SETS: dict[str, Callable[[str], FeatureSet]] = {
    "value": lambda value: FeatureSet(attributes={"k": value}),
    "name": lambda value: FeatureSet(attributes={value: "x"}),
    "instance": lambda value: FeatureSet(instances=({"k": value},)),
}
CHECKS: dict[str, Callable[[str], bool]] = {
    "labelKey": lambda value: labels.label_name_problem(prefixed(value)) is None,
    "extendedResourceKey": lambda value: labels.extended_resource_name_problem(prefixed(value)) is None,
    "taintKey": lambda value: labels.taint_name_problem(value) is None,
    "labelValue": lambda value: labels.label_value_problem(value) is None,
    "extendedResourceValue": lambda value: labels.quantity_problem(value) is None,
    "taintEffect": lambda value: labels.taint_effect_problem(value) is None,
    "rfc3339": is_timestamp,
}


def test_every_replaced_expectation_keeps_nfds_and_names_its_row(oracle: Path) -> None:
    rows = (oracle.parents[2] / "docs" / "nfd-differences.md").read_text()
    cases = [json.loads(line) for line in (oracle / "cases.jsonl").read_text().strip().split("\n")]
    replaced = [case for case in cases if "nfd" in case or "difference" in case]
    assert replaced
    for case in replaced:
        assert case["nfd"] != case["expected"]
        assert f"| {case['difference']} |" in rows
