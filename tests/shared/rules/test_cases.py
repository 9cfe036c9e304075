"""Cases of people who run node discovery in production, and the examples of the documents this project was asked for by.

Each test has the number of its case; what a module's own tests say under the same number is not repeated here.
"""

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.rules import (
    CompatibilitySet,
    CompatibilitySpec,
    Outcome,
    Rule,
    RuleDocument,
    UnreadableRule,
    compile_rules,
    evaluate_chain,
    read_compatibility_spec,
    read_rule_document,
    report_sets,
)

FACTS = Snapshot(
    {
        "cpu.cpuid": FeatureSet(flags=frozenset({"AVX", "AVX2"})),
        "kernel.version": FeatureSet(attributes={"major": "5", "full": "5.15.0-100-generic"}),
        "pci.device": FeatureSet(instances=({"vendor": "8086", "class": "0200"}, {"vendor": "10de", "class": "0302"})),
        "kernel.loadedmodule": FeatureSet(flags=frozenset({"vfio_pci"})),
    },
    catalogue=frozenset(),
)


def outcome(rule: str, facts: Snapshot = FACTS) -> str:
    """The outcome of one worker rule, written in one line."""
    document = read_rule_document(f"[{{name: r, {rule}}}]", "rule")
    return evaluate_chain(compile_rules(document.rules), facts).results[0].outcome.value


YES = "matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {op: Exists}}}]"
NO = "matchFeatures: [{feature: cpu.cpuid, matchExpressions: {SSE: {op: Exists}}}]"


def test_r1_to_r4_alternatives_and_requirements() -> None:
    assert outcome(f"matchAny: [{{{NO}}}, {{{YES}}}], {YES}") == "true"
    assert outcome(f"matchAny: [{{{NO}}}, {{{NO}}}], {YES}") == "false"
    assert outcome(f"matchAny: [{{{YES}}}], {NO}") == "false"
    assert outcome("labels: {a: b}") == "true"


def test_r2_a_requirement_that_is_met_is_shown_as_met_beside_alternatives_that_fail() -> None:
    spec = read_compatibility_spec(f"compatibilities: [{{rules: [{{name: r, matchAny: [{{{NO}}}], {YES}}}]}}]", "spec")
    (rule,) = report_sets(spec.compatibilities, FACTS)[0].rules
    assert [(one.alternative, one.outcome.value) for one in rule.expressions] == [(None, "true"), (0, "false")]
    assert rule.outcome is Outcome.FALSE


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("{op: DoesNotExist}", "true"), ("{op: NotIn, value: [a]}", "false"), ("{op: In, value: [a]}", "false")],
)
def test_r6_a_missing_key(expression: str, expected: str) -> None:
    assert outcome(f"matchFeatures: [{{feature: kernel.version, matchExpressions: {{x: {expression}}}}}]") == expected
    assert outcome(f"matchFeatures: [{{feature: no.such, matchExpressions: {{x: {expression}}}}}]") == "false"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [('{op: In, value: ["true"]}', "false"), ("{op: IsTrue}", "false"), ("{op: Exists}", "true")],
)
def test_r7_operators_on_flags(expression: str, expected: str) -> None:
    assert outcome(f"matchFeatures: [{{feature: cpu.cpuid, matchExpressions: {{AVX: {expression}}}}}]") == expected


def test_r8_one_rule_in_error_does_not_stop_the_others() -> None:
    assert (
        outcome('matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["4"]}}}]')
        == "true"
    )
    text = """
- name: bad value
  matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["5.1"]}}}]
- name: bad fact
  matchFeatures: [{feature: kernel.version, matchExpressions: {full: {op: Gt, value: ["4"]}}}]
- name: bad range
  matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: GtLt, value: ["5", "5"]}}}]
- name: bad range that is not reached
  matchFeatures: [{feature: kernel.version, matchExpressions: {ghost: {op: GtLt, value: ["5", "5"]}}}]
- name: good
"""
    document = read_rule_document(text, "rules.yaml")
    assert [problem.line for problem in document.problems] == [3, 7, 9]
    results = evaluate_chain(compile_rules(document.rules), FACTS).results
    assert [one.outcome.value for one in results] == ["error", "error", "error", "false", "true"]


def test_r11_the_case_of_a_feature_does_not_matter() -> None:
    assert outcome("matchFeatures: [{feature: Kernel.Version, matchExpressions: {major: '5'}}]") == "true"


@pytest.mark.parametrize(
    ("release", "least"),
    [
        ("5.15.0-100-generic", "5.15"),
        ("4.18.0-553.el8_10.x86_64", "4.18"),
        ("5.14.0-427.13.1.el9_4.x86_64", "5.14"),
        ("6.1.119-129.201.amzn2023.x86_64", "6.1"),
        ("3.10.0-1160.el7.x86_64", "3.10"),
        ("5.10.0-rc1", "5.10.0"),
    ],
)
def test_v1_v2_v4_kernel_releases_are_versions(release: str, least: str) -> None:
    facts = Snapshot({"kernel.version": FeatureSet(attributes={"full": release})})
    rule = (
        "matchFeatures: [{{feature: kernel.version, "
        "matchExpressions: {{full: {{op: {op}, value: ['{v}'], type: version}}}}}}]"
    )
    assert outcome(rule.format(op="Ge", v=least), facts) == "true"
    assert outcome(rule.format(op="Lt", v=least), facts) == "false"
    assert outcome(rule.format(op="Gt", v="99"), facts) == "false"


def test_v5_a_range_of_versions_the_wrong_way_round_never_matches() -> None:
    facts = Snapshot({"kernel.version": FeatureSet(attributes={"full": "5.15.0"})})
    rule = (
        "matchFeatures: [{feature: kernel.version, "
        "matchExpressions: {full: {op: GtLt, value: ['6', '5'], type: version}}}]"
    )
    assert outcome(rule, facts) == "false"


def test_k2_the_example_of_nfd_itself_matches() -> None:
    assert (
        outcome("matchFeatures: [{feature: kernel.loadedmodule, matchExpressions: {vfio-pci: {op: Exists}}}]") == "true"
    )


E1 = """
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: gpu-rule
spec:
  rules:
    - name: "nvidia-gpu-present"
      matchFeatures:
        - feature: pci.device
          matchExpressions:
            vendor: {op: In, value: ["10de"]}
      labels:
        "accelerator": "nvidia"
"""


def test_e1_a_node_with_the_card_gets_the_label_and_unknown_facts_give_none() -> None:
    document = read_rule_document(E1, "gpu-rule.yaml", strict=True)
    rules = compile_rules(document.rules)
    dark = Snapshot({}, {"pci.device": SetStatus(SetState.UNKNOWN, "source failed")}, frozenset({"pci.device"}))
    none = Snapshot({"pci.device": FeatureSet(instances=({"vendor": "8086"},))})
    results = [evaluate_chain(rules, facts).results[0] for facts in (FACTS, none, dark)]
    assert [(one.outcome.value, dict(one.labels)) for one in results] == [
        ("true", {"accelerator": "nvidia"}),
        ("false", {}),
        ("unknown", {}),
    ]


E3 = """
apiVersion: nfd.node.kubernetes.io/v1
kind: NodeFeatureRule
metadata:
  name: cpu-avx512-ready
spec:
  rules:
    - name: "cpu-avx512-ready"
      matchFeatures:
        - feature: cpu.cpuid
          matchExpressions:
            AVX512F: { in: ["true"] }
            AVX512BW: { in: ["true"] }
      labels:
        cpu.feature.avx512-ready: "true"
"""


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_e3_only_a_node_with_both_flags_is_labelled(version: str) -> None:
    document = read_rule_document(E3.replace("/v1", f"/{version}"), "avx512.yaml", strict=True)
    rules = compile_rules(document.rules)
    nodes = [FeatureSet(flags=frozenset(flags)) for flags in ({"AVX512F", "AVX512BW"}, {"AVX512F"}, set[str]())]
    outcomes = [evaluate_chain(rules, Snapshot({"cpu.cpuid": node})).results[0].outcome.value for node in nodes]
    assert outcomes == ["true", "false", "false"]
    assert evaluate_chain(rules, Snapshot({})).results[0].outcome is Outcome.UNKNOWN
    notices = [f"{notice.path.rpartition('.')[2]}: {notice.hint}" for notice in document.notices]
    assert notices[0] == "apiVersion: write nfd.k8s-sigs.io/v1alpha1"
    assert [notice.partition(":")[0] for notice in notices[1:]] == ["AVX512F", "AVX512BW"]
    assert all("{op: Exists}" in notice for notice in notices[1:])


E3_RULES = """
- name: cpu-avx512-ready
  matchFeatures:
  - feature: cpu.cpuid
    matchExpressions:
      AVX512F: { in: ["true"] }
      AVX512BW: { in: ["true"] }
"""


def in_document(kind: str) -> tuple[Rule | UnreadableRule, ...]:
    """The rules of example E3 in a document of this kind; each short form is told once, with the form to write."""
    rules = E3_RULES.replace("\n", "\n  ").rstrip()
    document: RuleDocument | CompatibilitySpec
    if kind == "specification":
        text = f"version: v1alpha1\ncompatibilities:\n- rules:{rules}\n"
        document = read_compatibility_spec(text, "file", strict=True)
        (one,) = document.compatibilities
        found = one.rules
    elif kind == "worker rules":
        document = read_rule_document(E3_RULES, "file", strict=True)
        found = document.rules
    else:
        field = {"NodeFeatureRule": "rules", "NodeFeatureGroup": "featureGroupRules"}[kind]
        head = f"apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: {kind}\nmetadata: {{name: n}}\nspec:\n  {field}:"
        document = read_rule_document(head + rules, "file", strict=True)
        found = document.rules
    hint = 'the long form is {op: In, value: ["true"]}; for a flag it is {op: Exists}'
    assert [(notice.path.rpartition(".")[2], notice.hint) for notice in document.notices] == [
        ("AVX512F", hint), ("AVX512BW", hint),
    ]  # fmt: skip
    return found


@pytest.mark.parametrize("kind", ["NodeFeatureRule", "NodeFeatureGroup", "worker rules", "specification"])
def test_e3_only_both_flags_match_in_every_kind_of_document(kind: str) -> None:
    rules = in_document(kind)
    nodes = [{"AVX512F", "AVX512BW"}, {"AVX512F"}, {"AVX512BW"}, set[str]()]
    snapshots = [Snapshot({"cpu.cpuid": FeatureSet(flags=frozenset(flags))}) for flags in nodes]
    assert [evaluate_chain(compile_rules(rules), facts).results[0].outcome.value for facts in snapshots] == [
        "true", "false", "false", "false",
    ]  # fmt: skip
    reports = [report_sets([CompatibilitySet(rules)], facts)[0].outcome.value for facts in snapshots]
    assert reports == ["true", "false", "false", "false"]


def test_r7_the_long_form_with_a_value_keeps_nfds_verdict_on_a_flag_and_is_told() -> None:
    text = E3_RULES.replace('{ in: ["true"] }', '{ op: In, value: ["true"] }')
    document = read_rule_document(text, "file", strict=True)
    both = Snapshot({"cpu.cpuid": FeatureSet(flags=frozenset({"AVX512F", "AVX512BW"}))})
    assert evaluate_chain(compile_rules(document.rules), both).results[0].outcome is Outcome.FALSE
    said = "AVX512F is a flag of cpu.cpuid: it has no value, so this never holds"
    assert (document.notices[0].message, document.notices[0].hint) == (said, "write {op: Exists}")


def test_r10_a_set_that_nobody_publishes_is_told_and_its_rule_does_not_match() -> None:
    text = "- {name: r, matchFeatures: [{feature: kubernetes.label}]}"
    document = read_rule_document(text, "file", strict=True)
    (notice,) = document.notices
    assert notice.message == "no source of nodeworthy or NFD delivers the set kubernetes.label"
    assert evaluate_chain(compile_rules(document.rules), FACTS).results[0].outcome is Outcome.FALSE


def test_r9_a_regular_expression_is_searched_for() -> None:
    facts = Snapshot({"lab.x": FeatureSet(attributes={"k": "15"})})
    rule = "matchFeatures: [{{feature: lab.x, matchExpressions: {{k: {{op: InRegexp, value: ['{pattern}']}}}}}}]"
    outcomes = [outcome(rule.format(pattern=pattern), facts) for pattern in ("5", "^5", "^15$", "[")]
    assert outcomes == ["true", "false", "true", "error"]


def test_e3_the_same_in_an_artifact_is_no_false_compatible() -> None:
    text = """
version: v1alpha1
compatibilities:
- rules:
  - name: avx512
    matchFeatures:
    - feature: cpu.cpuid
      matchExpressions: {AVX512F: {in: ["true"]}}
"""
    spec = read_compatibility_spec(text, "artifact")
    assert report_sets(spec.compatibilities, FACTS)[0].outcome is Outcome.FALSE


E9 = """
version: v1alpha1
compatibilities:
- tag: preferred
  weight: 10
  description: with the card
  rules:
  - name: module
    matchFeatures: [{feature: kernel.loadedmodule, matchExpressions: {vfio-pci: {op: Exists}}}]
  - name: vendor
    matchFeatures: [{feature: cpu.model, matchExpressions: {vendor_id: {op: In, value: [Intel]}}}]
  - name: card
    matchFeatures: [{feature: pci.device, matchExpressions: {vendor: {op: In, value: ["10de"]}}}]
- tag: fallback
  weight: 1
  rules:
  - name: vendor
    matchFeatures: [{feature: cpu.model, matchExpressions: {vendor_id: {op: In, value: [Intel]}}}]
"""


@pytest.mark.parametrize(
    ("vendor", "cards", "expected"),
    [
        ("Intel", ("10de",), ["true", "true"]),
        ("Intel", ("8086",), ["false", "true"]),
        ("AMD", ("10de",), ["false", "false"]),
        ("Intel", None, ["unknown", "true"]),
        ("AMD", None, ["false", "false"]),
    ],
)
def test_e9_i8_all_rules_of_a_set_must_match_and_the_report_says_why_not(
    vendor: str, cards: tuple[str, ...] | None, expected: list[str]
) -> None:
    contents = {
        "kernel.loadedmodule": FeatureSet(flags=frozenset({"vfio_pci"})),
        "cpu.model": FeatureSet(attributes={"vendor_id": vendor}),
    }
    if cards is not None:
        contents["pci.device"] = FeatureSet(instances=tuple({"vendor": card} for card in cards))
    reports = report_sets(read_compatibility_spec(E9, "e9", strict=True).compatibilities, Snapshot(contents))
    assert [(one.outcome.value, one.weight, one.tag) for one in reports] == [
        (expected[0], 10, "preferred"),
        (expected[1], 1, "fallback"),
    ]
    assert all(one.reason for one in reports if one.outcome is not Outcome.TRUE)
