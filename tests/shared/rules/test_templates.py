"""Templates of rules: NFD's own results, lines of output, and what a rule and a document make of them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest

from nodeworthy import fleet as fleets
from nodeworthy import rules
from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.rules.templates import Elements, Template, parse_lines

Json: TypeAlias = dict[str, Any]
SnapshotOf: TypeAlias = Callable[[Mapping[str, Any] | None], Snapshot]


def test_a_template_gives_the_output_of_the_oracle(template_case: Json) -> None:
    template = Template(template_text(template_case["input"]))
    assert expanded(template, template_case["input"]["data"]) == template_case["expected"]


def template_text(case: Json) -> str:
    if "pad" not in case:
        return str(case["template"])
    pad = case["pad"]
    filling = pad["with"] * (pad["size"] - len(pad["before"]) - len(pad["after"]))
    return str(pad["before"] + filling + pad["after"])


def expanded(template: Template, data: Json) -> Json:
    if template.problem() is not None:
        return {"error": True, "stage": "parse"}
    try:
        text = template.expand_text(data)
    except RuleError:
        return {"error": True, "stage": "execute"}
    try:
        names = parse_lines(text)
    except RuleError:
        return {"text": text, "mapError": True}
    return {"text": text} | ({"map": names} if names else {})


def test_lines_are_trimmed_and_split_at_the_first_equals_sign_and_the_last_of_a_name_counts() -> None:
    assert parse_lines("\n  a=1 \n\u00a0\n b = 2 = 3\n=x\nc=\na=4") == {"a": "4", "b ": " 2 = 3", "": "x", "c": ""}


def test_a_line_without_equals_sign_is_an_error_that_shows_the_line() -> None:
    with pytest.raises(RuleError, match=r"'present'.*has no =") as caught:
        parse_lines("a=1\npresent\n")
    assert caught.value.todo == "every line must be name=value"


def test_features_are_found_in_any_case_and_listed_as_the_rule_writes_them() -> None:
    data: Elements = {"Kernel": {"Version": [{"Name": "major", "Value": "6"}]}}
    for template in ("{{len .kernel.version}}", "{{len .Kernel.Version}}", '{{len (index . "KERNEL" "version")}}'):
        assert Template(template).expand_text(data) == "1"
    assert Template("{{range $d, $f := .}}{{$d}}{{range $n, $_ := $f}}.{{$n}}{{end}}{{end}}").expand_text(data) == (
        "Kernel.Version"
    )
    with pytest.raises(RuleError, match="there is no 'name' here; known are Name, Value"):
        Template("{{(index .Kernel.Version 0).name}}").expand(data)


def test_what_is_not_unicode_comes_out_as_the_replacement_character() -> None:
    assert Template('a={{trunc 1 "é"}}').expand({}) == {"a": "\ufffd"}


def document(rule: str) -> rules.RuleDocument:
    head = "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureRule\nmetadata: {name: r}\nspec:\n  rules:\n  - name: r\n"
    return rules.read_rule_document(head + rule, "file.yaml")


def test_a_bad_template_is_reported_with_its_line_and_the_rule_still_runs() -> None:
    read = document("    labelsTemplate: |\n      a=1\n      {{ range .pci.device }}\n")
    [problem] = read.problems
    assert (problem.line, problem.path) == (7, "spec.rules[0].labelsTemplate")
    assert problem.message == "template, line 2, column 4: {{end}} is missing for this"
    assert isinstance(read.rules[0], rules.Rule)


def test_a_function_that_is_refused_and_one_that_is_none_are_told_apart() -> None:
    [refused] = document("    varsTemplate: 'a={{ now }}'\n").problems
    [unknown] = document("    varsTemplate: 'a={{ nosuch }}'\n").problems
    assert "function now is refused: it reads the clock" in refused.message
    assert "there is no function 'nosuch'" in unknown.message


def test_labels_of_a_template_stand_beside_the_written_ones_which_win(snapshot_of: SnapshotOf) -> None:
    facts = snapshot_of({"flags": {"cpu.cpuid": {"elements": {"AVX": {}, "AVX2": {}}}}})
    match = rules.Term("cpu.cpuid", name=rules.Expression(rules.Operator.IN_REGEXP, ("^AVX",)))
    template = "{{range .cpu.cpuid}}{{lower .Name}}=true\n{{end}}"
    rule = rules.Rule("r", (match,), labels={"avx2": "written"}, labels_template=template)
    assert rules.evaluate_rule(rules.compile_rule(rule), facts).labels == {"avx": "true", "avx2": "written"}


def test_a_report_hands_on_what_a_template_gives_also_where_only_match_any_fails(snapshot_of: SnapshotOf) -> None:
    facts = snapshot_of({"flags": {"cpu.cpuid": {"elements": {"AVX": {}}}}})
    has = rules.Term("cpu.cpuid", {"AVX": rules.Expression(rules.Operator.EXISTS)})
    probe = rules.Rule("p", (rules.Term("rule.matched", {"n": rules.Expression(rules.Operator.IN, ("1",))}),))

    def outcome(template: str) -> rules.Outcome:
        gives = rules.Rule("g", (has,), ((rules.Term("no.such"),),), vars_template=template)
        return rules.report_sets([rules.CompatibilitySet((gives, probe))], facts)[0].rules[1].outcome

    assert outcome("n={{len .cpu.cpuid}}") is rules.Outcome.TRUE
    assert outcome("m={{len .cpu.cpuid}}") is rules.Outcome.FALSE
    assert outcome("{{.usb.device}}") is rules.Outcome.UNKNOWN


def test_a_fleet_expands_templates_on_what_each_node_has_matched() -> None:
    fleet = fleets.Fleet()
    for node, size in (("n1", "1"), ("n2", "2"), ("n3", "1")):
        fleet.update(node, fleets.DETECTOR, Snapshot({"lab.a": FeatureSet(attributes={"x": size})}))
    has = rules.Term("lab.a", {"x": rules.Expression(rules.Operator.EXISTS)})
    sees = rules.Term("rule.matched", {"size": rules.Expression(rules.Operator.IN, ("2",))})
    chain = rules.compile_rules(
        [
            rules.Rule("gives", (has,), vars_template="{{range .lab.a}}size={{.Value}}{{end}}"),
            rules.Rule("sees", (sees,), labels_template="big={{(index .rule.matched 0).Value}}"),
        ]
    )
    found = fleets.evaluate_rules(fleet, fleets.make_chain(chain))
    groups = found.groups()
    labels = [groups[number].results[1].labels for number in found.group_numbers()]
    assert labels == [{}, {"big": "2"}, {}]
