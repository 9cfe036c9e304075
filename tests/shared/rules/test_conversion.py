"""What is converted means the same here, and is what NFD's API server decodes strictly."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy import rules
from nodeworthy.errors import DocumentError
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.rules.conversion import convert_file, write_yaml
from nodeworthy.rules.documents import API_VERSION
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.trees import MappingNode, ScalarNode
from nodeworthy.rules.yaml_reader import read_yaml


class Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """NFD's API server refuses unknown fields (kubectl's strict field validation)."""


class Expression(Strict):
    """NFD, api/nfd/v1alpha1, type MatchExpression."""

    op: rules.Operator
    value: list[str] = []
    type: str = ""


class Term(Strict):
    feature: str
    match_expressions: dict[str, Expression] | None = None
    match_name: Expression | None = None


class Alternative(Strict):
    match_features: list[Term] = []


class Taint(Strict):
    key: str
    effect: str
    value: str = ""
    time_added: str = ""


class Rule(Strict):
    name: str
    labels: dict[str, str] = {}
    labels_template: str = ""
    annotations: dict[str, str] = {}
    vars: dict[str, str] = {}
    vars_template: str = ""
    taints: list[Taint] = []
    extended_resources: dict[str, str] = {}
    match_features: list[Term] = []
    match_any: list[Alternative] = []


class Spec(Strict):
    rules: list[Rule]


class Metadata(Strict):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class NodeFeatureRule(Strict):
    api_version: str
    kind: str
    metadata: Metadata
    spec: Spec


E3 = """
apiVersion: nfd.node.kubernetes.io/v1
kind: NodeFeatureRule
metadata:
  name: cpu-avx512-ready
  annotations: {nodeworthy.io/incident: INC-1, kubectl.kubernetes.io/last-applied-configuration: "{}"}
  resourceVersion: "12"
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


def convert(text: str) -> Any:
    (document,) = convert_file(text.encode(), "f.yaml").documents
    return document


def as_nfd(document: Any) -> NodeFeatureRule:
    """Decode the written YAML as strictly as the API server, and without any of our own reading."""
    found = msgspec.convert(yaml.safe_load(write_yaml([document])), NodeFeatureRule)
    assert (found.api_version, found.kind) == ("nfd.k8s-sigs.io/v1alpha1", "NodeFeatureRule")
    return found


def test_e3_gets_the_real_group_and_asks_for_both_flags_in_long_form() -> None:
    found = as_nfd(convert(E3))
    assert found.metadata == Metadata("cpu-avx512-ready", annotations={"nodeworthy.io/incident": "INC-1"})
    (rule,) = found.spec.rules
    exists = Expression(rules.Operator.EXISTS)
    assert rule.match_features == [Term("cpu.cpuid", {"AVX512F": exists, "AVX512BW": exists})]
    assert rule.labels == {"cpu.feature.avx512-ready": "true"}


def test_short_forms_become_long_and_every_field_is_kept() -> None:
    text = """
kind: NodeFeatureRule
metadata: {name: r}
spec:
  rules:
  - name: all
    labels: {a: "1"}
    labelsTemplate: "{{ .x }}"
    annotations: {b: "2"}
    vars: {c: "3"}
    varsTemplate: "d=4"
    taints: [{key: example.com/t, effect: NoSchedule, value: v}]
    extendedResources: {e: "5"}
    matchAny: [{matchFeatures: [{feature: pci.device, matchExpressions: {vendor: "10de", class: ["0300", 0302]}}]}]
    matchFeatures: [{feature: kernel.version, matchExpressions: [full, major=6], matchName: {op: In, value: full}}]
"""
    (rule,) = as_nfd(convert(text)).spec.rules
    assert rule.match_any[0].match_features[0].match_expressions == {
        "vendor": Expression(rules.Operator.IN, ["10de"]),
        # 0302 without quotes is a number in YAML 1.1, in NFD too.
        "class": Expression(rules.Operator.IN, ["0300", "194"]),
    }
    assert rule.match_features[0].match_expressions == {
        "full": Expression(rules.Operator.EXISTS),
        "major": Expression(rules.Operator.IN, ["6"]),
    }
    assert rule.match_features[0].match_name == Expression(rules.Operator.IN, ["full"])
    assert (rule.labels, rule.annotations, rule.vars) == ({"a": "1"}, {"b": "2"}, {"c": "3"})
    assert (rule.labels_template, rule.vars_template, rule.extended_resources) == ("{{ .x }}", "d=4", {"e": "5"})
    assert rule.taints == [Taint("example.com/t", "NoSchedule", "v")]


@pytest.mark.parametrize(
    ("written", "op"),
    [
        ('{in: ["true"]}', "Exists"),
        ('{in: ["false"]}', "DoesNotExist"),
        ('{notIn: ["true", "x"]}', "DoesNotExist"),
        ("{isTrue: }", "Exists"),
        ("{isTrue: false}", "DoesNotExist"),
        ("{exists: false}", "DoesNotExist"),
    ],
)
def test_a_flag_is_asked_for_its_presence(written: str, op: str) -> None:
    document = convert(f"- {{name: r, matchFeatures: [{{feature: cpu.cpuid, matchExpressions: {{A: {written}}}}}]}}")
    assert document[0]["matchFeatures"][0]["matchExpressions"] == {"A": {"op": op}}


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("values", [["true"], ["false"], ["true", "x"], ["x", "false"]])
@pytest.mark.parametrize("operator", ["in", "notIn"])
def test_a_converted_question_of_a_flag_has_the_same_answer(operator: str, values: list[str], present: bool) -> None:
    text = f"- {{name: r, matchFeatures: [{{feature: cpu.cpuid, matchExpressions: {{A: {{{operator}: {values}}}}}}}]}}"
    facts = Snapshot({"cpu.cpuid": FeatureSet(flags=frozenset({"A"} if present else ()))}, catalogue=frozenset())
    outcomes = [
        rules.evaluate_chain(rules.compile_rules(rules.read_rule_document(one, "f").rules), facts).results[0].outcome
        for one in (text, write_yaml([convert(text)]))
    ]
    assert outcomes[0] is outcomes[1]


def test_what_has_no_long_form_is_not_converted_and_named() -> None:
    for expression in ("{op: }", '{in: ["true", "false"]}', '{in: ["yes"]}'):
        text = f"- {{name: r, matchFeatures: [{{feature: cpu.cpuid, matchExpressions: {{A: {expression}}}}}]}}"
        with pytest.raises(DocumentError, match=r"matchExpressions\.A"):
            convert(text)


def test_a_question_that_is_another_one_of_a_flag_in_nfd_is_told() -> None:
    text = '- {name: r, matchFeatures: [{feature: my.own, matchExpressions: {a: {in: ["true"]}}}]}'
    found = convert_file(text.encode(), "f.yaml")
    assert any("write {op: Exists} if a is a flag" in notice.hint for notice in found.notices)
    instance = text.replace("my.own", "accel.device")
    assert any("is a flag" in notice.hint for notice in convert_file(instance.encode(), "f.yaml").notices)


def test_a_broken_part_stops_all_of_it() -> None:
    with pytest.raises(DocumentError, match="Foo"):
        convert_file(
            (E3 + "---\n- {name: x, matchFeatures: [{feature: a.b, matchName: {op: Foo}}]}").encode(), "f.yaml"
        )
    with pytest.raises(DocumentError, match="no rules"):
        convert_file(b"kind: ConfigMap", "f.yaml")


def test_groups_keep_their_namespace_and_specifications_their_sets() -> None:
    group = convert(
        "kind: NodeFeatureGroup\nmetadata: {name: g, namespace: ns}\nspec: {featureGroupRules: [{name: r, matchAny: [{}]}]}"
    )
    assert group["metadata"] == {"name": "g", "namespace": "ns"}
    assert group["spec"] == {"featureGroupRules": [{"name": "r", "matchAny": [{"matchFeatures": []}]}]}
    spec = convert("compatibilities: [{weight: 3, tag: t, rules: [{name: r, matchFeatures: [{feature: a.b}]}]}]")
    assert spec == {
        "version": "v1alpha1",
        "compatibilities": [{"tag": "t", "weight": 3, "rules": [{"name": "r", "matchFeatures": [{"feature": "a.b"}]}]}],
    }


def test_all_documents_of_a_file_and_items_of_a_list_are_converted() -> None:
    item = "{kind: NodeFeatureRule, metadata: {name: %s, uid: u}, spec: {rules: [{name: r}]}}"
    text = f"kind: List\nitems:\n- {item % 'a'}\n- {item % 'b'}\n---\n{item % 'c'}\n"
    found = convert_file(text.encode(), "f.yaml").documents
    assert [one["metadata"] for one in found if isinstance(one, Mapping)] == [
        {"name": "a"},
        {"name": "b"},
        {"name": "c"},
    ]


def test_what_nfds_worker_does_not_know_is_told() -> None:
    text = '- {name: r, matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: Ge, value: ["5"]}}}]}'
    assert any("does not know Ge" in notice.message for notice in convert_file(text.encode(), "f").notices)


def test_rules_of_the_oracle_mean_the_same_after_conversion(oracle: Path) -> None:
    cases = [json.loads(line) for line in (oracle / "cases.jsonl").read_text().strip().split("\n")]
    converted = 0
    for case in (one for one in cases if one["kind"] == "rule"):
        spec = {"rules": [case["input"]["rule"]]}
        document = {"apiVersion": API_VERSION, "kind": "NodeFeatureRule", "metadata": {"name": "c"}, "spec": spec}
        before = rules.read_rule_object(document, "case")
        try:
            written = write_yaml(convert_file(write_yaml([document]).encode(), "case").documents)
        except DocumentError:
            continue  # invalid, or without a long form
        if all(isinstance(rule, rules.Rule) for rule in before.rules):
            assert rules.read_rule_document(written, "case").rules == before.rules, case["id"]
            converted += 1
    assert converted > 200


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.dictionaries(TEXTS.filter(bool), TEXTS | st.text("ab: \n\t#-|", max_size=9), max_size=4))
def test_every_text_is_read_again_as_it_was(texts: dict[str, str]) -> None:
    tree = read_yaml(write_yaml([texts]), Findings("f"))
    assert isinstance(tree, MappingNode)
    found = {key: value.scalar.text for key, value in tree.entries.items() if isinstance(value, ScalarNode)}
    assert found == texts


@pytest.mark.parametrize(
    "text", ["y", "N", "1e3", "0302", "010", "12:30", "on", "~", "", "2031-05-06", "0x1", ".5", "="]
)
def test_texts_that_yaml_would_read_as_something_else_are_quoted(text: str) -> None:
    tree = read_yaml(write_yaml([[text]]), Findings("f"))
    assert tree.items[0].scalar.text == text  # type: ignore[union-attr]
    assert yaml.safe_load(write_yaml([[text]])) == [text]
