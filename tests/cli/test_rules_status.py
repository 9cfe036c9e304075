"""``nodeworthy rules status``: the rules that the labelers' records name."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.test_rules_validate import E1

from nodeworthy import labels
from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.rule_reports import RULES_KEY, ObjectReport, make_rules_record
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState
from nodeworthy.labels.memory import UnresolvedNote
from nodeworthy.rules import Outcome
from nodeworthy_cli.labels import NodeLabels
from nodeworthy_cli.rules.status import RuleStatus, summarize

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Verb

RULE = Giver(GiverKind.RULE, "object", "rule")
LATER = Giver(GiverKind.RULE, "object", "later")
DEFAULT = Giver(GiverKind.DEFAULT, "cpu.cpuid")


def memory(state: LabelState, *givers: Giver, reason: str = "", live: str = "") -> LabelMemory:
    given = tuple(Given(giver, "1") for giver in givers)
    return LabelMemory({"x.org/k": LabelEntry(state, "1", given, reason=reason, live=live)})


def test_a_rule_counts_the_nodes_on_which_it_gives_a_label_also_where_a_later_one_wins() -> None:
    nodes = [
        NodeLabels("a", memory(LabelState.APPLIED, RULE)),
        NodeLabels("b", memory(LabelState.APPLIED, RULE, LATER)),
        NodeLabels("c", memory(LabelState.KEPT, RULE)),
        NodeLabels("d", memory(LabelState.APPLIED, DEFAULT)),
        NodeLabels("e", problem="junk"),
    ]
    found = summarize(nodes)
    assert [(one.rule, one.nodes, one.keys) for one in found.rules] == [
        ("later", 1, ("x.org/k",)),
        ("rule", 2, ("x.org/k",)),
    ]
    assert (found.nodes, found.unreadable) == (5, ("e",))


def test_troubles_are_counted_with_the_most_frequent_reasons() -> None:
    unresolved = LabelMemory(
        unresolved=(UnresolvedNote(RULE, Outcome.UNKNOWN, "no facts"), UnresolvedNote(DEFAULT, Outcome.UNKNOWN, "x"))
    )
    nodes = [
        NodeLabels("a", unresolved),
        NodeLabels("b", unresolved),
        NodeLabels("c", LabelMemory(unresolved=(UnresolvedNote(RULE, Outcome.ERROR, "no number"),))),
        NodeLabels("d", memory(LabelState.CONFLICT, LATER, RULE, live="2")),
        NodeLabels("e", memory(LabelState.REJECTED, RULE, reason="no legal value")),
    ]
    later, rule = summarize(nodes).rules
    assert (rule.unknown, rule.errors, rule.conflicts, rule.rejected) == (2, 1, 1, 1)
    assert rule.reasons[0] == "no facts"
    assert (later.conflicts, later.nodes) == (0, 1)


def test_rules_that_are_known_are_listed_also_where_no_record_names_them() -> None:
    assert summarize([], [RULE]).rules == (RuleStatus("object", "rule", 0),)


async def test_that_no_rule_gives_anything_is_said(facts_bus: "FactsBus", verb: "Verb") -> None:
    record = make_record("node-1", memory(LabelState.APPLIED, DEFAULT))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), payloads.encode(record))
    done = verb("rules", "status", *facts_bus.options)
    assert done.stdout == ""
    assert done.stderr == "no labeler has said yet which rules are in force\n"
    await facts_bus.store.put(Bucket.LABELS, RULES_KEY, payloads.encode(make_rules_record("", [])))
    assert verb("rules", "status", *facts_bus.options).stderr == "there are no rules in force\n"


async def test_what_the_labelers_say_of_rules_is_shown_with_what_is_left_out(
    facts_bus: "FactsBus", verb: "Verb"
) -> None:
    bad = labels.RuleStatus("bad", reason="no such operator", is_left_out=True)
    never, works = labels.RuleStatus("never", unmatched=2), labels.RuleStatus("rule", matched=2)
    reports = [
        ObjectReport("junk.yaml", problems=("junk.yaml:1: it is empty",)),
        ObjectReport("object", nodes_matched=2, rules=(bad, never, works), generation=4),
    ]
    record = make_record("node-1", memory(LabelState.APPLIED, RULE))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), payloads.encode(record))
    await facts_bus.store.put(Bucket.LABELS, RULES_KEY, payloads.encode(make_rules_record("", reports)))
    done = verb("rules", "status", *facts_bus.options)
    rows = [line.split(maxsplit=8) for line in done.stdout.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[8].strip()) for row in rows] == [
        ("object/bad", "0", "0", "left out: no such operator"),
        ("object/never", "0", "0", "no node matches it"),
        ("object/rule", "2", "1", "-"),
    ]
    assert done.stderr == "left out of junk.yaml: junk.yaml:1: it is empty\n"
    found = json.loads(verb("rules", "status", "-o", "json", *facts_bus.options).stdout)
    assert (found["nodes"], [one["name"] for one in found["objects"]]) == (1, ["junk.yaml", "object"])
    assert found["objects"][1]["generation"] == 4
    await facts_bus.store.put(Bucket.LABELS, RULES_KEY, b"junk")
    assert "not read: what the labelers say of the rules" in verb("rules", "status", *facts_bus.options).stderr


async def test_status_is_read_from_the_bus(facts_bus: "FactsBus", verb: "Verb", tmp_path: Path) -> None:
    assert "no node is labelled yet" in verb("rules", "status", *facts_bus.options).stderr
    for node in ("node-1", "node-2"):
        record = make_record(node, memory(LabelState.APPLIED, RULE))
        await facts_bus.store.put(Bucket.LABELS, labels_key(node), payloads.encode(record))
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-3"), b"junk")
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "e1.yaml").write_text(E1)
    (folder / "junk.yaml").write_text("{}")
    done = verb("rules", "status", "--rules", str(folder), *facts_bus.options)
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["RULE", "MATCHES", "NODES", "UNKNOWN", "ERROR", "CONFLICT", "REJECTED", "GIVES", "WHY"]
    assert rows == [
        ["gpu-rule/nvidia-gpu-present", "-", "0", "0", "0", "0", "0", "-", "-"],
        ["object/rule", "-", "2", "0", "0", "0", "0", "x.org/k", "-"],
    ]
    assert "the records of node-3" in done.stderr
    assert "left out: junk.yaml" in done.stderr
    found = json.loads(verb("rules", "status", "-o", "json", *facts_bus.options).stdout)
    assert found == {
        "nodes": 3,
        "rules": [{"object": "object", "rule": "rule", "nodes": 2, "keys": ["x.org/k"]}],
        "unreadable": ["node-3"],
    }
