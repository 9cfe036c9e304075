"""What a labeler says of the rules in force: of those of a folder, and over all nodes."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.labeler.conftest import labeler_settings

from nodeworthy.bus.names import Bucket
from nodeworthy.bus.rule_reports import RULES_KEY, ObjectReport, RulesRecord, decode_rules
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet
from nodeworthy.labels import compile_policy
from nodeworthy_labeler.rule_fates import RuleFates
from nodeworthy_labeler.rule_files import LoadedRules, parse_rule_file
from nodeworthy_labeler.rule_reports import make_reports
from nodeworthy_labeler.rule_set import RuleSet, compile_rules

if TYPE_CHECKING:
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start, WriteRule

BATCH = 1000
LAB = {"lab.a": FeatureSet(attributes={"x": "1"})}
TWO = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: good}
spec:
  rules:
  - name: r
    labels: {x.org/r: "1", kubernetes.io/no: "1"}
    matchFeatures: [{feature: lab.a, matchExpressions: {x: {op: Exists}}}]
---
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: half}
spec:
  rules:
  - {name: bad, labels: {x.org/b: "1"}, matchFeatures: [{feature: lab.a, matchExpressions: {x: {op: Never}}}]}
  - {name: never, labels: {x.org/n: "1"}, matchFeatures: [{feature: lab.a, matchExpressions: {z: {op: Exists}}}]}
"""


def compiled(*files: tuple[str, str]) -> RuleSet:
    loaded = [parse_rule_file(text.encode(), name) for name, text in files]
    return compile_rules(
        LoadedRules(
            tuple(item for one in loaded for item in one.objects),
            tuple(problem for one in loaded for problem in one.problems),
            tuple(notice for one in loaded for notice in one.notices),
        ),
        compile_policy(),
    )


async def reports(rules: RuleSet, generations: dict[str, int] | None = None) -> dict[str, ObjectReport]:
    fleet = Fleet()
    for node, content in (("n1", {"x": "1"}), ("n2", {"y": "1"})):
        facts = Snapshot({"lab.a": FeatureSet(attributes=content)}, catalogue=frozenset({"lab.a"}))
        fleet.update(node, DETECTOR, facts)
    made = make_reports(rules, await RuleFates(BATCH).find(fleet, rules), generations or {})
    return {one.name: one for one in made}


async def test_each_object_of_a_file_has_its_own_problems_and_numbers() -> None:
    found = await reports(compiled(("two.yaml", TWO)), {"good": 4})
    good, half = found["good"], found["half"]
    assert (good.is_accepted, good.nodes_matched, good.rejected, good.generation) == (True, 1, 1, 4)
    assert (half.is_accepted, half.nodes_matched, half.generation) == (False, 0, 0)
    assert "Never" in half.problems[0]
    assert [(one.name, one.matched, one.is_left_out) for one in half.rules] == [("bad", 0, True), ("never", 0, False)]


async def test_a_file_that_cannot_be_read_stands_under_its_own_name() -> None:
    (junk,) = (await reports(compiled(("junk.yaml", "{")))).values()
    assert (junk.name, junk.sources, junk.is_accepted) == ("junk.yaml", ("junk.yaml",), False)


async def test_an_old_version_of_the_api_is_told_where_it_stands() -> None:
    old = TWO.partition("---")[0].replace("nfd.k8s-sigs.io/v1alpha1", "nfd.openshift.io/v1")
    (found,) = (await reports(compiled(("old.yaml", old)))).values()
    assert any("apiVersion" in text for text in (*found.notices, *found.problems))


async def test_files_with_objects_of_one_name_are_one() -> None:
    one = TWO.partition("---")[0]
    (found,) = (await reports(compiled(("a.yaml", one), ("b.yaml", one)))).values()
    assert found.sources == ("a.yaml", "b.yaml")
    assert len(found.rules) == 2


async def test_what_was_found_once_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fates, fleet, rules = RuleFates(BATCH), Fleet(), compiled(("two.yaml", TWO))
    fleet.update("n1", DETECTOR, Snapshot(LAB, catalogue=frozenset()))
    first = await fates.find(fleet, rules)
    monkeypatch.setattr("nodeworthy_labeler.rule_fates.find_rule_fates", lambda *_, **__: pytest.fail("again"))
    assert await fates.find(fleet, rules) is first
    monkeypatch.undo()
    fleet.update("n2", DETECTOR, Snapshot(LAB, catalogue=frozenset()))
    assert (await fates.find(fleet, rules))["good"].nodes_matched == 2


class Reports:
    """What is on the bus."""

    def __init__(self, bus: "Bus", eventually: "Eventually") -> None:
        self._bus = bus
        self._eventually = eventually

    async def that(self, is_wanted: Callable[[RulesRecord], bool]) -> RulesRecord:
        """Wait until the record is as wanted."""

        async def read() -> RulesRecord | None:
            stored = await self._bus.store.get(Bucket.LABELS, RULES_KEY)
            if stored is None or stored.is_removal:
                return None
            record = decode_rules(stored.data)
            return record if is_wanted(record) else None

        found: RulesRecord = await self._eventually(read)
        return found

    async def revision(self) -> int:
        stored = await self._bus.store.get(Bucket.LABELS, RULES_KEY)
        assert stored is not None
        return stored.revision


@pytest.fixture
def on_bus(bus: "Bus", eventually: "Eventually") -> Reports:
    return Reports(bus, eventually)


async def test_rules_that_match_no_node_are_said_also_before_there_is_any_and_changes_follow(
    bus: "Bus", start: "Start", facts: "MakeFacts", rules: Path, write_rule: "WriteRule", on_bus: Reports
) -> None:
    write_rule("never", "x.org/n", key="z")
    path = write_rule("r", "x.org/r")
    pace = dataclasses.replace(labeler_settings("").pace, report=0.05)
    first = await start(rules=rules, pace=pace)
    record = await on_bus.that(lambda record: len(record.objects) == 2)
    assert [(one.name, one.nodes_matched, one.is_accepted) for one in record.objects] == [
        ("never", 0, True),
        ("r", 0, True),
    ]
    await bus.publish("n1", facts({}, LAB))
    record = await on_bus.that(lambda record: record.objects[1].nodes_matched == 1)
    assert record.objects[0].nodes_matched == 0
    path.write_text("{")
    record = await on_bus.that(lambda record: record.objects[-1].name == "r.yaml")
    assert not record.objects[-1].is_accepted
    # A restart, or another labeler, finds it as it is.
    await first.end()
    revision = await on_bus.revision()
    await start(rules=rules, pace=pace)
    await bus.settled_writes()
    assert await on_bus.revision() == revision
    # It is put again when it is lost.
    await bus.purge(Bucket.LABELS)
    assert await on_bus.that(bool) == record


async def test_the_record_of_rules_is_no_nodes(
    start: "Start", rules: Path, write_rule: "WriteRule", on_bus: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    write_rule("r", "x.org/r")
    first = await start(rules=rules, pace=dataclasses.replace(labeler_settings("").pace, report=0.05))
    await on_bus.that(bool)
    await first.end()
    await start(rules=rules)
    assert "labeler.strange_key" not in caplog.text
