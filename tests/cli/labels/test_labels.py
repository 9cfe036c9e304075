"""The verb ``labels``: what the bus says of labels, and what other rules would change."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import (
    Given,
    Giver,
    GiverKind,
    LabelEntry,
    LabelMemory,
    LabelState,
    NodeLabels,
    compile_chain,
    compile_policy,
    reconcile,
    want_labels,
)
from nodeworthy_labeler.rule_files import load_rules

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Verb

PREFIX = "feature.node.kubernetes.io/"
RULE = Giver(GiverKind.RULE, "object", "rule")
MEMORY = LabelMemory(
    {
        "x.org/applied": LabelEntry(LabelState.APPLIED, "1", (Given(RULE, "1"),), ("cpu.cpuid",)),
        "x.org/conflict": LabelEntry(LabelState.CONFLICT, "2", (Given(RULE, "2"),), live="theirs", owners=("kubectl",)),
        "x.org/kept": LabelEntry(LabelState.KEPT, "3", reason="nothing explains it"),
        "x.org/rejected": LabelEntry(LabelState.REJECTED, "a b", (Given(RULE, "a b"),), reason="no legal value"),
    }
)
FACTS = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, catalogue=frozenset({"lab.a", "local.label"}))
FACTS = Snapshot({**FACTS.contents, "local.label": FeatureSet(attributes={"a": "1"})}, {}, FACTS.catalogue)


async def put(bus: "FactsBus", node: str, memory: LabelMemory) -> None:
    await bus.store.put(Bucket.LABELS, labels_key(node), payloads.encode(make_record(node, memory)))


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.splitlines()]


async def test_labels_are_listed_with_their_state_rule_and_reason(facts_bus: "FactsBus", verb: "Verb") -> None:
    await put(facts_bus, "node-1", MEMORY)
    await put(facts_bus, "node-2", LabelMemory())
    head, *found = rows(verb("labels", "node-1", *facts_bus.options).stdout)
    assert head == ["NODE", "LABEL", "VALUE", "STATE", "RULE", "REASON"]
    assert found == [
        ["node-1", "x.org/applied", "1", "applied", "rule object/rule", "-"],
        ["node-1", "x.org/conflict", "2", "conflict", "rule object/rule", "(there: theirs, by kubectl)"],
        ["node-1", "x.org/kept", "3", "kept", "-", "nothing explains it"],
        ["node-1", "x.org/rejected", "a b", "rejected", "rule object/rule", "no legal value"],
    ]


async def test_a_node_that_is_named_as_a_verb_is_reached_by_list(facts_bus: "FactsBus", verb: "Verb") -> None:
    await put(facts_bus, "diff", MEMORY)
    assert "x.org/applied" in verb("labels", "list", "diff", *facts_bus.options).stdout


async def test_json_is_what_the_record_remembers(facts_bus: "FactsBus", verb: "Verb") -> None:
    await put(facts_bus, "node-1", MEMORY)
    (node,) = json.loads(verb("labels", "-o", "json", *facts_bus.options).stdout)
    assert node["node"] == "node-1"
    assert node["memory"]["labels"]["x.org/kept"] == {
        "state": "kept",
        "value": "3",
        "reason": "nothing explains it",
    }


async def test_a_record_that_cannot_be_read_is_told_and_the_others_are_listed(
    facts_bus: "FactsBus", verb: "Verb"
) -> None:
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-0"), b"junk")
    await put(facts_bus, "node-1", MEMORY)
    found = rows(verb("labels", *facts_bus.options).stdout)
    assert found[1][:4] == ["node-0", "-", "-", "unreadable"]
    assert len(found) == 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "rules"
    made.mkdir()
    rule = '- {name: r, labels: {lab: "%s"}, matchFeatures: [{feature: lab.a, matchExpressions: {x: {op: Exists}}}]}\n'
    (made / "rules.yaml").write_text(rule % "1")
    return made


def memory_of(facts: Snapshot, folder: Path) -> LabelMemory:
    """What a labeler with these rules remembers of such a node."""
    wanted = want_labels(facts, compile_policy(), compile_chain(load_rules(folder).objects))
    return reconcile(wanted, NodeLabels({}), None).memory


async def test_diff_tells_what_other_rules_would_change_and_writes_nothing(
    facts_bus: "FactsBus", verb: "Verb", folder: Path
) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    await put(facts_bus, "node-1", memory_of(FACTS, folder))
    done = verb("labels", "diff", "--rules", str(folder), *facts_bus.options, code=0)
    assert (done.stdout, done.stderr) == ("", "nothing would change\n")
    text = (folder / "rules.yaml").read_text()
    (folder / "rules.yaml").write_text(text.replace('"1"', '"2"'))
    done = verb("labels", "diff", "--rules", str(folder), *facts_bus.options, code=1)
    assert rows(done.stdout) == [
        ["NODE", "KIND", "KEY", "NOW", "THEN", "WHY"],
        ["node-1", "label", f"{PREFIX}lab", "1", "2", "rule rules.yaml/r"],
    ]
    (folder / "rules.yaml").unlink()
    done = verb("labels", "diff", "--rules", str(folder), "-o", "json", *facts_bus.options, code=1)
    assert json.loads(done.stdout) == {
        "changes": [
            {"node": "node-1", "label": f"{PREFIX}lab", "before": "1", "why": "rule rules.yaml/r is gone"},
        ]
    }
    stored = await facts_bus.store.get(Bucket.LABELS, labels_key("node-1"))
    assert stored
    assert stored.revision == 1


async def test_diff_keeps_what_hangs_on_unknown_facts_and_on_a_broken_file(
    facts_bus: "FactsBus", verb: "Verb", folder: Path
) -> None:
    unknown = Snapshot(FACTS.contents, {}, FACTS.catalogue)
    await put(facts_bus, "node-1", memory_of(unknown, folder))
    statuses = {"local.label": SetStatus(SetState.UNKNOWN, "no answer")}
    contents = {name: content for name, content in FACTS.contents.items() if name not in statuses}
    await facts_bus.publisher("node-1").publish(Snapshot(contents, statuses, FACTS.catalogue))
    (folder / "rules.yaml").write_text("spec: [unclosed")
    done = verb("labels", "diff", "--rules", str(folder), *facts_bus.options, code=0)
    assert done.stderr.startswith("left out: rules.yaml")


async def test_diff_of_a_node_without_facts_or_without_a_folder_is_told(
    facts_bus: "FactsBus", verb: "Verb", folder: Path, tmp_path: Path
) -> None:
    done = verb("labels", "diff", "node-9", "--rules", str(folder), *facts_bus.options, code=2)
    assert "no node is named 'node-9'" in done.stderr
    done = verb("labels", "diff", "--rules", str(tmp_path / "nowhere"), *facts_bus.options, code=2)
    assert "cannot be read" in done.stderr


async def test_diff_says_3_where_a_record_cannot_be_compared(facts_bus: "FactsBus", verb: "Verb", folder: Path) -> None:
    await facts_bus.publisher("node-1").publish(FACTS)
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), b"junk")
    done = verb("labels", "diff", "--rules", str(folder), *facts_bus.options, code=3)
    assert "not compared: node-1" in done.stderr
