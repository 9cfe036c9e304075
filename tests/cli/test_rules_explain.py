"""``nodeworthy rules explain``: why a node has a label, or has it not."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.test_rules_validate import E1, PREFIX, rules

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, write_document
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState
from nodeworthy_cli.rules.label_explanation import find_key

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Nodeworthy, Verb

KEY = f"{PREFIX}accelerator"
FACTS = Snapshot(
    {
        "pci.device": FeatureSet(instances=({"vendor": "8086", "class": "0300"},)),
        "kernel.version": FeatureSet(attributes={"major": "6"}),
        "cpu.cpuid": FeatureSet(flags=frozenset({"AVX512F"})),
    },
    {"memory.numa": SetStatus(SetState.UNKNOWN, "no answer")},
    frozenset({"custom.rules", "local.label"}),
)
CARD = (
    "matchFeatures: [{feature: pci.device, matchExpressions:"
    " {vendor: {op: In, value: ['10de']}, class: {op: In, value: ['%s']}}}]"
)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "node.json").write_text(json.dumps(write_document(FACTS)))
    return tmp_path


def explain(nodeworthy: "Nodeworthy", label: str, *arguments: str, code: int) -> Any:
    done = nodeworthy("rules", "explain", label, "--on", "node.json", *arguments, "-o", "json", code=code)
    return json.loads(done.stdout)


@pytest.mark.parametrize("label", ["accelerator", KEY])
def test_a_label_that_is_not_there_shows_its_rule_and_what_fails(
    label: str, nodeworthy: "Nodeworthy", node: Path
) -> None:
    (node / "e1.yaml").write_text(
        E1.replace("name: gpu-rule", "name: gpu-rule\n  annotations: {nodeworthy.io/incident: INC-7}")
    )
    found = explain(nodeworthy, label, "--rules", "e1.yaml", code=1)
    assert (found["label"], found["state"]) == (KEY, "not given")
    (rule,) = found["rules"]
    assert (rule["object"], rule["rule"], rule["outcome"], rule["value"]) == (
        "gpu-rule",
        "nvidia-gpu-present",
        "false",
        "nvidia",
    )
    (one,) = rule["decides"]
    assert (one["feature"], one["name"], one["expected"], one["observed"]) == ("pci.device", "vendor", "10de", "8086")
    assert rule["incident"] == "INC-7"
    text = nodeworthy("rules", "explain", label, "--on", "node.json", "--rules", "e1.yaml", code=1).stdout
    assert text.startswith(f"{KEY} on node.json: not given\n")
    assert "written for incident INC-7" in text
    assert f"would give {KEY}=nvidia" in text
    assert "NOT MET   pci.device vendor   10de     8086" in text


def test_of_several_rules_the_nearest_comes_first(nodeworthy: "Nodeworthy", node: Path) -> None:
    written = [
        f"{{name: {name}, labels: {{x.org/k: {name}}}, {CARD % cls}}}"
        for name, cls in (("far", "0200"), ("near", "0300"))
    ]
    (node / "r.yaml").write_text(rules(*written))
    found = explain(nodeworthy, "k", "--rules", "r.yaml", code=1)
    assert [(one["rule"], one["missing"]) for one in found["rules"]] == [("near", 1), ("far", 2)]


def test_a_label_that_is_given_shows_its_winner_first_and_whom_it_wins_over(
    nodeworthy: "Nodeworthy", node: Path
) -> None:
    (node / "r.yaml").write_text(rules("{name: a, labels: {x.org/k: a}}", "{name: b, labels: {x.org/k: b}}"))
    found = explain(nodeworthy, "x.org/k", "--rules", "r.yaml", code=0)
    assert (found["state"], found["value"]) == ("given", "b")
    assert found["reason"] == "by rule r/b; it wins over rule r/a ('a')"
    assert [one["rule"] for one in found["rules"]] == ["b", "a"]


def test_what_is_not_known_is_said_with_its_reason(nodeworthy: "Nodeworthy", node: Path) -> None:
    (node / "r.yaml").write_text(rules("{name: a, labels: {x.org/k: a}, matchFeatures: [{feature: memory.numa}]}"))
    found = explain(nodeworthy, "x.org/k", "--rules", "r.yaml", code=3)
    assert found["state"] == "unknown"
    assert "no answer" in found["reason"]
    assert found["rules"][0]["outcome"] == "unknown"


def test_a_value_that_no_node_may_have_is_said(nodeworthy: "Nodeworthy", node: Path) -> None:
    (node / "r.yaml").write_text(rules("{name: a, labels: {x.org/k: a b}}"))
    found = explain(nodeworthy, "x.org/k", "--rules", "r.yaml", code=1)
    assert found["state"] == "refused"
    assert "the value must be" in found["reason"]


@pytest.mark.usefixtures("node")
def test_a_label_of_the_nodes_own_facts_is_explained_without_rules(nodeworthy: "Nodeworthy") -> None:
    given = explain(nodeworthy, "cpu-cpuid.AVX512F", code=0)
    assert (given["value"], given["reason"]) == ("true", "by default labels of cpu.cpuid")
    lacking = explain(nodeworthy, "cpu-cpuid.AMXTILE", code=1)
    assert "cpu.cpuid is present" in lacking["reason"]
    assert "suggestions" not in lacking


def test_a_key_that_nobody_knows_gets_a_suggestion(nodeworthy: "Nodeworthy", node: Path) -> None:
    (node / "e1.yaml").write_text(E1)
    found = explain(nodeworthy, "accelerxtor", "--rules", "e1.yaml", code=1)
    assert (
        (found["rules"], found["suggestions"][0]) == ([], KEY) if "rules" in found else found["suggestions"][0] == KEY
    )
    text = nodeworthy("rules", "explain", "accelerxtor", "--on", "node.json", "--rules", "e1.yaml", code=1).stdout
    assert f"did you mean: {KEY}" in text
    assert "no rule that was given names it" in text


def test_where_nobody_names_a_label_a_rule_that_cannot_be_read_is_shown(nodeworthy: "Nodeworthy", node: Path) -> None:
    (node / "r.yaml").write_text(rules("{name: bad, labels: 1}"))
    done = nodeworthy("rules", "explain", "x.org/k", "--on", "node.json", "--rules", "r.yaml", code=3)
    assert "may give any label" in done.stdout
    assert "left out: r.yaml:" in done.stderr


def test_a_short_name_means_the_prefixed_key_and_else_the_one_behind_another_namespace() -> None:
    known = [f"{PREFIX}a", "x.org/a", "x.org/b", "bare"]
    assert [find_key(name, known) for name in ("a", "b", "bare", "x.org/a", "new")] == [
        f"{PREFIX}a",
        "x.org/b",
        "bare",
        "x.org/a",
        f"{PREFIX}new",
    ]


RULE = Giver(GiverKind.RULE, "gpu-rule", "nvidia-gpu-present")
STATES = (
    (LabelEntry(LabelState.APPLIED, "nvidia", (Given(RULE, "nvidia"),)), "given", 0),
    (
        LabelEntry(LabelState.CONFLICT, "nvidia", (Given(RULE, "nvidia"),), live="amd", owners=("kubectl",)),
        "not given",
        1,
    ),
    (LabelEntry(LabelState.REJECTED, "a b", (Given(RULE, "a b"),), reason="no legal value"), "refused", 1),
    (LabelEntry(LabelState.UNKNOWN, "nvidia", (Given(RULE, "nvidia"),), reason="not known"), "unknown", 3),
)


@pytest.mark.parametrize(("entry", "state", "code"), STATES, ids=[entry.state.value for entry, _, _ in STATES])
async def test_of_a_node_of_the_bus_the_record_tells_where_no_rules_are_given(
    entry: LabelEntry, state: str, code: int, facts_bus: "FactsBus", verb: "Verb"
) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    record = make_record("node-1", LabelMemory({KEY: entry}))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), payloads.encode(record))
    options = ("--on", "node-1", *facts_bus.options)
    done = verb("rules", "explain", "accelerator", *options, code=code)
    assert f"{KEY} on node-1: {state}" in done.stdout
    assert "the labeler's record: " in done.stdout
    assert "rule gpu-rule/nvidia-gpu-present" in done.stdout
    assert "--rules" in done.stderr


async def test_of_a_node_of_the_bus_rules_and_record_stand_beside_each_other(
    facts_bus: "FactsBus", verb: "Verb", tmp_path: Path
) -> None:
    (tmp_path / "e1.yaml").write_text(E1)
    await facts_bus.publisher("node-1").publish(FACTS)
    record = make_record("node-1", LabelMemory({KEY: STATES[0][0]}))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), payloads.encode(record))
    done = verb(
        "rules", "explain", KEY, "--on", "node-1", "--rules", "e1.yaml", "-o", "json", *facts_bus.options, code=1
    )
    found = json.loads(done.stdout)
    assert (found["state"], found["record"]["state"]) == ("not given", "applied")
    assert found["rules"][0]["decides"][0]["observed"] == "8086"


async def test_a_record_that_cannot_be_read_is_told_and_the_facts_are_explained(
    facts_bus: "FactsBus", verb: "Verb"
) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), b"junk")
    done = verb("rules", "explain", "cpu-cpuid.AVX512F", "--on", "node-1", *facts_bus.options)
    assert "not read: " in done.stderr
