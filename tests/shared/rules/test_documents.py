import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules import (
    Expression,
    Operator,
    Rule,
    Taint,
    Term,
    UnreadableRule,
    read_compatibility_spec,
    read_rule_document,
    read_rule_object,
)

SPEC = """\
version: v1alpha1
compatibilities:
- tag: preferred
  weight: 10
  description: with the card
  rules:
  - name: card
    matchFeatures:
    - feature: pci.device
      matchExpressions:
        vendor: {op: In, value: ["10de"]}
"""

RULE = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: gpu-rule, labels: {a: b}}
spec:
  rules:
  - name: gpu
    labels: {accelerator: nvidia}
    annotations: {x.org/a: "1"}
    extendedResources: {x.org/units: 4}
    taints: [{key: x.org/t, effect: NoSchedule}]
    vars: {v: yes}
    varsTemplate: "a=1"
    matchFeatures:
    - feature: pci.device
      matchName: {op: In, value: [vendor]}
    matchAny:
    - matchFeatures: [{feature: cpu.cpuid}]
"""


def refused(text: str | bytes, *, strict: bool = False) -> list[Problem]:
    with pytest.raises(DocumentError) as caught:
        read_compatibility_spec(text, "spec.yaml", strict=strict)
    assert caught.value.source == "spec.yaml"
    return list(caught.value.problems)


def test_a_compatibility_spec_is_read() -> None:
    spec = read_compatibility_spec(SPEC, "spec.yaml", strict=True)
    (one,) = spec.compatibilities
    assert (spec.version, one.tag, one.weight, one.description) == ("v1alpha1", "preferred", 10, "with the card")
    term = Term("pci.device", {"vendor": Expression(Operator.IN, ("10de",))})
    assert one.rules == (Rule("card", (term,)),)
    assert not spec.problems
    assert not spec.notices


def test_json_is_read_as_yaml_is() -> None:
    document = {"version": "v1alpha1", "compatibilities": [{"rules": [{"name": "r"}], "weight": 2.0}]}
    (one,) = read_compatibility_spec(json.dumps(document).encode(), "spec.json").compatibilities
    assert one.rules == (Rule("r"),)
    assert one.weight == 2


def test_a_node_feature_rule_is_read_with_all_its_fields() -> None:
    document = read_rule_document(RULE, "rule.yaml", strict=True)
    assert (document.kind, document.name) == ("NodeFeatureRule", "gpu-rule")
    assert document.rules == (
        Rule(
            "gpu",
            match_features=(Term("pci.device", name=Expression(Operator.IN, ("vendor",))),),
            match_any=((Term("cpu.cpuid"),),),
            labels={"accelerator": "nvidia"},
            vars={"v": "true"},
            vars_template="a=1",
            annotations={"x.org/a": "1"},
            extended_resources={"x.org/units": "4"},
            taints=(Taint("x.org/t", "NoSchedule"),),
        ),
    )


def test_a_group_has_no_labels() -> None:
    text = "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeatureGroup\nmetadata: {name: g}\n"
    text += "spec:\n  featureGroupRules:\n  - name: r\n    vars: {a: b}\n    labels: {c: d}\n"
    document = read_rule_document(text, "group.yaml")
    assert document.rules == (Rule("r", vars={"a": "b"}),)
    assert [(notice.line, notice.path) for notice in document.notices] == [(8, "spec.featureGroupRules[0].labels")]


def test_worker_rules_are_a_list() -> None:
    text = (
        "- name: r\n  labels: {a: b}\n  matchFeatures:\n  - {feature: pci.device, matchExpressions: {vendor: 10de}}\n"
    )
    document = read_rule_document(text, "custom.d/r.yaml", strict=True)
    term = Term("pci.device", {"vendor": Expression(Operator.IN, ("10de",))})
    assert document.rules == (Rule("r", (term,), labels={"a": "b"}),)
    assert read_rule_document("", "empty.yaml").rules == ()


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("version: v9\ncompatibilities: [{rules: [{name: r}]}]", 1, "version", "unsupported version 'v9'"),
        ("compatibilities:\n- weight: 5.5\n  rules: [{name: r}]", 2, "compatibilities[0].weight", "a whole number"),
        ("compatibilities:\n- weight: '5'\n  rules: [{name: r}]", 2, "compatibilities[0].weight", "a whole number"),
        ("compatibilities:\n- weight: .nan\n  rules: [{name: r}]", 2, "compatibilities[0].weight", "a whole number"),
        ("compatibilities:\n- weight: 1e30\n  rules: [{name: r}]", 2, "compatibilities[0].weight", "a whole number"),
        ("compatibilities:\n- tag: [a]\n  rules: [{name: r}]", 2, "compatibilities[0].tag", "must be text"),
        ("compatibilities:\n- rules: {name: r}", 2, "compatibilities[0].rules", "must be a list"),
        ("compatibilities:\n- hello", 2, "compatibilities[0]", "must be a map, and it is text"),
        ("- a\n- b", 1, "", "a compatibility specification is a map with version and compatibilities; this is a list"),
        ("\nhello", 2, "", "a compatibility specification is a map with version and compatibilities; this is text"),
    ],
)
def test_i7_a_spec_that_is_none_is_refused_with_its_place(text: str, line: int, path: str, message: str) -> None:
    problem = refused(text)[0]
    assert (problem.line, problem.path) == (line, path)
    assert message in problem.message


@pytest.mark.parametrize("text", ["version: v1alpha1", "version: v1alpha1\ncompatibilities: []"])
def test_a_spec_without_any_set_is_read_and_refused_by_a_validation(text: str) -> None:
    assert read_compatibility_spec(text, "spec.yaml").compatibilities == ()
    assert refused(text, strict=True)[0].message == "there is no compatibility set"


def test_a_spec_without_a_version_is_read_with_a_notice() -> None:
    spec = read_compatibility_spec("compatibilities: [{rules: [{name: r}]}]", "spec.yaml", strict=True)
    assert spec.version == ""
    assert spec.notices[0].hint == "write version: v1alpha1"


def test_a_rule_that_cannot_be_read_is_left_out_and_its_neighbours_stay() -> None:
    text = SPEC + "  - name: bad\n    matchFeatures: {feature: a.b}\n    vars: [x]\n  - name: good\n"
    spec = read_compatibility_spec(text, "spec.yaml")
    _, bad, good = spec.compatibilities[0].rules
    assert isinstance(bad, UnreadableRule)
    assert bad.name == "bad"
    assert [problem.path.rpartition(".")[2] for problem in bad.problems] == ["matchFeatures", "vars"]
    assert good == Rule("good")
    assert spec.problems == bad.problems


def test_a_validation_refuses_everything_that_is_wrong_or_passed_over_at_once() -> None:
    text = SPEC.replace("tag:", "prio: 1\n  tag:") + "    vars: {a: 1, a: 2}\n  - name: r\n    labels: {a: b}\n"
    text += (
        "    matchFeatures:\n    - feature: a.b\n      matchExpressions: {k: {op: Gt, value: [x]}, l: {op: Is}}\n---\n"
    )
    assert len(read_compatibility_spec(text, "spec.yaml").problems) == 2
    messages = [(problem.line, problem.message) for problem in refused(text, strict=True)]
    assert messages == [
        (3, "nobody reads this field"),
        (13, "'a' stands here twice; the last one counts"),
        (15, "nobody reads this field"),
        (18, "'x' is not a whole number"),
        (18, "'Is' is no operator"),
        (19, "only the first document of a file is read"),
    ]


BAD_RULES = "- name: r\n    vars: [x]\n  " * 3


def test_what_is_wrong_around_bad_rules_is_told_once() -> None:
    text = f"version: v9\ncompatibilities:\n- weight: heavy\n  rules:\n  {BAD_RULES}\n- rules: []\n  prio: 1\n"
    around = [(1, "version"), (3, "compatibilities[0].weight")]
    rules = [(6, "compatibilities[0].rules[0].vars"), (8, "compatibilities[0].rules[1].vars")]
    rules.append((10, "compatibilities[0].rules[2].vars"))
    lax = [(12, "compatibilities[1]"), (13, "compatibilities[1].prio")]
    assert [(problem.line, problem.path) for problem in refused(text)] == around + rules
    assert sorted((problem.line, problem.path) for problem in refused(text, strict=True)) == around + rules + lax


@pytest.mark.parametrize(
    "text",
    [
        "[a]",
        "compatibilities: {a: b}",
        "compatibilities: [hello]",
        "compatibilities: [{rules: hello}]",
        "compatibilities: [{rules: [hello]}]",
        "compatibilities: [{rules: [{name: r, matchFeatures: [hello]}]}]",
        "compatibilities: [{rules: [{name: r, matchFeatures: [{feature: [cpu.cpuid]}]}]}]",
        "compatibilities: [{rules: [{name: r, matchFeatures: [{feature: ''}]}]}]",
        "compatibilities: [{}]",
        "compatibilities: [~]",
        "compatibilities: [{rules: [~]}]",
    ],
)
def test_a_validation_tells_a_mistake_and_not_its_consequences(text: str) -> None:
    assert len(refused(text, strict=True)) == 1


def notices(feature: str, expressions: str = "{}") -> list[tuple[str, str, str]]:
    text = f"- name: r\n  matchFeatures:\n  - feature: {feature}\n    matchExpressions: {expressions}\n"
    document = read_rule_document(text, "rules.yaml", strict=True)
    return [(notice.path.rpartition("].")[2], notice.message, notice.hint) for notice in document.notices]


def test_a_set_that_nobody_delivers_gives_a_notice_with_what_was_probably_meant() -> None:
    said = "no source of nodeworthy or NFD delivers the set kernel.versio"
    assert notices("kernel.versio") == [("feature", said, "did you mean kernel.version?")]
    ((_, _, hint),) = notices("acme.warp-drive")
    assert hint == "it has to come from a program or NodeFeature object of yours"


def test_an_element_that_its_set_never_has_gives_a_notice_too() -> None:
    said = "no source of nodeworthy or NFD gives kernel.version this element"
    ((path, message, hint),) = notices("kernel.version", "{mayor: {op: Exists}, major: {op: Exists}}")
    assert (path, message, hint) == ("matchExpressions.mayor", said, "did you mean major?")
    ((_, _, hint),) = notices("memory.swap", "{used: {op: Exists}}")
    assert hint == "known are enabled"


@pytest.mark.parametrize("feature", ["CPU.CPUID", "kernel.config", "rule.matched", "local.label"])
def test_any_element_may_be_asked_of_a_set_that_is_open(feature: str) -> None:
    assert notices(feature, "{ANY: {op: Exists}}") == []


def test_a_set_without_rules_is_read_and_refused_by_a_validation() -> None:
    text = "version: v1alpha1\ncompatibilities: [{tag: a}]"
    assert read_compatibility_spec(text, "spec.yaml").compatibilities[0].rules == ()
    assert "says nothing" in refused(text, strict=True)[0].message


@pytest.mark.parametrize(
    "version",
    [
        "nfd.node.kubernetes.io/v1",
        "nfd.node.kubernetes.io/v1alpha1",
        "nfd.openshift.io/v1",
        "nfd.openshift.io/v1alpha1",
        "nfd.openshift.io/v2",
    ],
)
@pytest.mark.parametrize("kind", ["NodeFeatureRule", "NodeFeatureGroup"])
def test_other_groups_are_read_with_a_notice_of_the_real_one(version: str, kind: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: n}}\nspec: {{}}\n"
    document = read_rule_document(text, "rule.yaml", strict=True)
    (notice,) = document.notices
    assert (notice.line, notice.path, notice.hint) == (1, "apiVersion", "write nfd.k8s-sigs.io/v1alpha1")
    assert notice.message == f"NFD's clusters know nfd.k8s-sigs.io/v1alpha1, not {version}"


@pytest.mark.parametrize("version", ["nfd.k8s-sigs.io/v9", "v1", "nfd.node.kubernetes.io/v2", "''"])
def test_an_unknown_group_or_version_is_refused_in_plain_words(version: str) -> None:
    text = RULE.replace("nfd.k8s-sigs.io/v1alpha1", version)
    with pytest.raises(DocumentError, match="is no group and version of rules") as caught:
        read_rule_document(text, "rule.yaml")
    assert [(one.line, one.path, one.hint) for one in caught.value.problems] == [
        (1, "apiVersion", "write nfd.k8s-sigs.io/v1alpha1")
    ]


def test_an_object_without_apiversion_is_read_and_refused_by_a_validation() -> None:
    text = RULE.replace("apiVersion: nfd.k8s-sigs.io/v1alpha1\n", "")
    assert len(read_rule_document(text, "rule.yaml").rules) == 1
    with pytest.raises(DocumentError, match="no apiVersion"):
        read_rule_document(text, "rule.yaml", strict=True)


def test_the_annotations_of_an_object_are_kept_and_one_of_them_switches_the_prefix_off() -> None:
    annotated = 'metadata: {name: gpu-rule, annotations: {nodeworthy.io/auto-prefix: "%s", x.org/n: [1], w: z}}'
    off = read_rule_document(RULE.replace("metadata: {name: gpu-rule, labels: {a: b}}", annotated % "false"), "f")
    assert (off.auto_prefix, off.annotations) == (False, {"nodeworthy.io/auto-prefix": "false", "w": "z"})
    text = RULE.replace("metadata: {name: gpu-rule, labels: {a: b}}", annotated % "no")
    wrong = read_rule_document(text, "f")
    assert wrong.auto_prefix
    assert [(one.line, one.message) for one in wrong.problems] == [
        (3, '\'no\' is neither "true" nor "false"; the prefix is added')
    ]
    assert read_rule_document(RULE, "f").auto_prefix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: v1\nkind: ConfigMap\n", "'ConfigMap' holds no rules"),
        ("kind: NodeFeatureRule\nmetadata: abc\n", "must be a map"),
        ("hello", "rules stand in a map with apiVersion, kind and spec, or are a list of worker rules; this is text"),
        ("kind: NodeFeatureRule\nspec: [a]\n", "must be a map"),
        ("version: v1alpha1\ncompatibilities: []\n", "it has neither kind nor spec"),
    ],
)
def test_a_document_that_holds_no_rules_is_refused(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read_rule_document(text, "rule.yaml")


def test_field_names_may_have_another_case() -> None:
    document = read_rule_document("- Name: r\n  LABELS: {a: b}\n  matchfeatures: [{Feature: a.b}]\n", "file")
    assert document.rules == (Rule("r", (Term("a.b"),), labels={"a": "b"}),)


def test_names_that_are_missing_are_refused_by_a_validation_only() -> None:
    document = read_rule_document("- matchFeatures: [{}]\n-\n", "file")
    assert document.rules == (Rule("", (Term(""),)), Rule(""))
    assert [notice.message for notice in document.notices] == [
        "this rule has no name", "'' names no feature", "this rule has no name",
    ]  # fmt: skip


def test_in_an_object_of_the_cluster_only_text_is_text() -> None:
    good = {"kind": "NodeFeatureRule", "spec": {"rules": [{"name": "r", "labels": {"a": "true", "b": None}}]}}
    assert read_rule_object(good, "gpu-rule").rules == (Rule("r", labels={"a": "true", "b": ""}),)
    bad = {"kind": "NodeFeatureRule", "spec": {"rules": [{"name": "r", "labels": {"a": True}}]}}
    (rule,) = read_rule_object(bad, "gpu-rule").rules
    assert isinstance(rule, UnreadableRule)
    assert "must be text, and it is a bool" in rule.problems[0].message


def test_a_taint_with_a_time_that_is_none_makes_its_rule_unreadable() -> None:
    good = RULE.replace("NoSchedule}", "NoSchedule, timeAdded: 2031-05-06T07:08:09Z}")
    (rule,) = read_rule_document(good, "rule.yaml").rules
    assert isinstance(rule, Rule)
    assert rule.taints[0].time_added == "2031-05-06T07:08:09Z"
    (rule,) = read_rule_document(good.replace("2031-05-06T07:08:09Z", "soon"), "rule.yaml").rules
    assert isinstance(rule, UnreadableRule)
    assert rule.problems[0].message == "'soon' is no time"


def test_what_a_stranger_writes_does_not_reach_the_terminal() -> None:
    text = 'compatibilities: [{"\\e[31m": 1, rules: [{name: r}]}]'
    (notice, *_) = [n for n in read_compatibility_spec(text, "spec").notices if "nobody" in n.message]
    assert "\x1b" not in str(notice)


def test_a_thousand_findings_are_enough() -> None:
    terms = ", ".join(["5"] * 3000)
    text = f"compatibilities: [{{rules: [{{name: r, matchFeatures: [{terms}]}}]}}]"
    spec = read_compatibility_spec(text, "spec.yaml")
    assert len(spec.problems) == 1001
    assert "the rest is left out" in spec.problems[-1].message


LINES = """version: v1alpha1
compatibilities:
- rules:
  - name: r
    matchFeatures:
    - feature: a.b
      matchExpressions:
        k: {op: In, value: [a]}
        k: [x]
      matchName: {in: 1}
    matchAny: [{matchFeatures: [{feature: x}]}]
  weight: 1
x: &a [*a]
~
"""
SNIPPETS = st.sampled_from([*LINES.splitlines(keepends=True), "- ", "  ", "{", "}"])


@given(st.lists(SNIPPETS | st.text(max_size=5), max_size=14).map("".join), st.booleans())
def test_any_text_is_a_spec_or_a_document_error(text: str, strict: bool) -> None:
    try:
        spec = read_compatibility_spec(text, "spec.yaml", strict=strict)
    except DocumentError as error:
        assert_has_places(error)
        return
    listed = [rule for one in spec.compatibilities for rule in one.rules]
    assert all(rule.problems for rule in listed if isinstance(rule, UnreadableRule))


@given(st.lists(SNIPPETS | st.text(max_size=5), max_size=14).map("".join), st.booleans())
def test_any_text_is_a_rule_document_or_a_document_error(text: str, strict: bool) -> None:
    try:
        document = read_rule_document(text, "rule.yaml", strict=strict)
    except DocumentError as error:
        assert_has_places(error)
        return
    assert all(rule.problems for rule in document.rules if isinstance(rule, UnreadableRule))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["kind", "spec", "rules", "name", "labels", "matchFeatures", "x"]), inner)
        ),
        max_leaves=15,
    )
)
def test_any_value_is_a_rule_object_or_a_document_error(value: object) -> None:
    try:
        document = read_rule_object(value, "object")
    except DocumentError as error:
        assert_has_places(error)
        return
    assert document.kind in ("NodeFeatureRule", "NodeFeatureGroup")


def assert_has_places(error: DocumentError) -> None:
    assert error.problems
    assert all(problem.source == error.source and problem.message for problem in error.problems)
