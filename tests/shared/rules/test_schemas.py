"""The schemas are what docs/schemas holds, agree with the reader, and refuse what NFD's clusters refuse."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # it ships no types
import pytest
import yaml

from nodeworthy.rules import Operator, read_compatibility_spec, read_rule_document
from nodeworthy.rules.documents import API_VERSION
from nodeworthy.rules.schemas import write_schema

ROOT = Path(__file__).parents[3]
SCHEMAS = {name: json.loads(write_schema(name)) for name in ("rules", "compatibility")}


def problems(name: str, value: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMAS[name]).iter_errors(value)]


def rule_object(rule: Any, **changed: Any) -> Any:
    document = {"apiVersion": API_VERSION, "kind": "NodeFeatureRule", "metadata": {"name": "r"}}
    return document | {"spec": {"rules": [{"name": "r", **rule}]}} | changed


def asking(expression: Any) -> Any:
    return rule_object({"matchFeatures": [{"feature": "cpu.cpuid", "matchExpressions": {"A": expression}}]})


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_one_and_is_kept_in_docs(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    kept = ROOT / "docs" / "schemas" / f"{name}.schema.json"
    assert kept.read_bytes() == write_schema(name), f"write it anew: nodeworthy rules schema {name} > {kept}"


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "rules").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_of_rules_follow_the_schema(path: Path) -> None:
    assert problems("rules", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "specs").glob("*.yaml")), ids=lambda path: path.name)
def test_examples_of_specifications_follow_the_schema(path: Path) -> None:
    assert problems("compatibility", yaml.safe_load(path.read_text())) == []


def test_the_rules_of_the_bench_follow_the_schema(oracle: Path) -> None:
    assert problems("rules", yaml.safe_load((oracle / "bench-rules.yaml").read_text())) == []
    assert problems("compatibility", yaml.safe_load((oracle / "bench-compat.yaml").read_text())) == []


@pytest.mark.parametrize("operator", [operator for operator in Operator if operator])
def test_schema_and_reader_take_the_same_numbers_of_values(operator: Operator) -> None:
    for count in range(4):
        expression = {"op": operator.value} | ({"value": ["1", "2", "3"][:count]} if count else {})
        document = asking(expression)
        is_valid = not read_rule_document(json.dumps(document), "f").problems
        assert (problems("rules", document) == []) == is_valid, expression


@pytest.mark.parametrize(
    "document",
    [
        asking({"op": "exists"}),
        asking({"values": ["x"]}),
        asking({"in": ["true"], "gt": "5"}),
        asking({"op": "In", "value": [5]}),
        rule_object({"label": {}}),
        rule_object({"labels": {"a": True}}),
        rule_object({"taints": [{"key": "a/b", "effect": "Never"}]}),
        rule_object({"matchFeatures": [{"feature": "cpu"}]}),
        rule_object({}, kind="NodeFeatureRules"),
        rule_object({}, apiVersion="nfd.node.kubernetes.io/v1"),
        rule_object({}, spec={"rulez": []}),
        rule_object({}, spec={"rules": [{}]}),
        [{"name": "worker", "annotations": {}}],
    ],
)
def test_what_is_wrong_is_refused(document: Any) -> None:
    assert problems("rules", document)


@pytest.mark.parametrize("expression", [None, "10de", 5, ["10de", 5], {"in": ["true"]}, {"exists": None}])
def test_short_forms_are_taken_and_marked(expression: Any) -> None:
    assert problems("rules", asking(expression)) == []
    assert SCHEMAS["rules"]["$defs"]["short"]["deprecated"]
    assert SCHEMAS["rules"]["$defs"]["keyed"]["deprecated"]


def test_groups_and_worker_rules_have_their_own_fields() -> None:
    group = {"apiVersion": API_VERSION, "kind": "NodeFeatureGroup", "metadata": {"name": "g"}}
    assert problems("rules", group | {"spec": {"featureGroupRules": [{"name": "r", "vars": {"a": "b"}}]}}) == []
    assert problems("rules", group | {"spec": {"featureGroupRules": [{"name": "r", "labels": {}}]}})
    assert problems("rules", group | {"spec": {"rules": []}})
    assert problems("rules", [{"name": "r", "labels": {"a": "b"}}]) == []


@pytest.mark.parametrize(
    "document",
    [
        {"version": "v1alpha1", "compatibilities": []},
        {"version": "v2", "compatibilities": [{"rules": [{"name": "r"}]}]},
        {"version": "v1alpha1", "compatibilities": [{"wieght": 1, "rules": [{"name": "r"}]}]},
        {"version": "v1alpha1", "compatibilities": [{"weight": "1", "rules": [{"name": "r", "matchAny": 1}]}]},
    ],
)
def test_a_wrong_specification_is_refused(document: Any) -> None:
    assert problems("compatibility", document)


def test_a_specification_that_the_reader_takes_without_a_word_follows_the_schema() -> None:
    document = {"version": "v1alpha1", "compatibilities": [{"tag": "t", "weight": 2, "rules": [{"name": "r"}]}]}
    assert not read_compatibility_spec(json.dumps(document), "f", strict=True).notices
    assert problems("compatibility", document) == []
