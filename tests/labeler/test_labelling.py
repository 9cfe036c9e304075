"""The work on nodes: one that cannot be labelled harms nobody else, and a write that failed is made again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from nodeworthy.errors import BusUnreachableError, PayloadError
from nodeworthy.features import Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, Provenance
from nodeworthy.labels import (
    FactsMark,
    Given,
    Giver,
    GiverKind,
    LabelEntry,
    LabelMemory,
    LabelSettings,
    LabelState,
    NodeLabels,
    Plan,
    TargetState,
    WantedLabels,
)
from nodeworthy_labeler import labelling
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.labelling import Labelling
from nodeworthy_labeler.members import Members
from nodeworthy_labeler.metrics import Metrics
from nodeworthy_labeler.rule_set import read_rules
from nodeworthy_labeler.settings import Membership, Pace, Settings
from nodeworthy_labeler.wanting import want

if TYPE_CHECKING:
    from tests.labeler.conftest import Eventually, MakeFacts

NONE = TargetState(NodeLabels({}), None)


class MemoryTarget:
    """A target that keeps labels here; what it raises and refuses is the test's matter."""

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, str]] = {}
        self.errors: dict[str, list[Exception]] = {}
        self.refusals: dict[str, int] = {}
        self.calls = 0
        self.facts = FactsMark()
        """From which all records were made."""
        self.state = NONE

    async def read(self, _node: str, _wanted: WantedLabels) -> TargetState:
        return structs.replace(self.state, facts=self.facts)

    async def carry_out(self, node: str, _state: TargetState, plan: Plan, _facts: FactsMark) -> bool:
        self.calls += 1
        if self.errors.get(node):
            raise self.errors[node].pop()
        if self.refusals.get(node):
            self.refusals[node] -= 1
            return False
        self.labels[node] = dict(plan.apply)
        return True

    async def restore(self, _node: str) -> bool:
        return True

    async def forget(self, node: str) -> bool:
        self.labels.pop(node, None)
        return True


class World:
    """One labeler's work without a bus."""

    def __init__(self) -> None:
        settings = Settings(membership=Membership(beat=0.04), pace=Pace(retry_first=0.01, retry_most=0.02))
        self.now = 0.0
        self.table = NodeTable(Fleet(), lambda: 0.0)
        self.target = MemoryTarget()
        self.members = Members("me", lambda: self.now, Membership())
        self.members.is_ready = True
        self.metrics = Metrics()
        self.labelling = Labelling(
            self.table, self.target, self.members, self.metrics, settings, has_read=self._has_read
        )
        self.unread: set[str] = set()
        """Nodes of which the bus has newer facts."""
        self.asked: list[str] = []
        self.labelling.rules = read_rules(None, LabelSettings())
        self.labelling.is_open = True

    def beat(self) -> None:
        self.members.hear(self.members.make_beat())

    def say(self, nodes: Sequence[str], snapshot: Snapshot, revision: int = 1) -> None:
        for node in nodes:
            self.table.fleet.update(node, DETECTOR, snapshot, Provenance(revision=revision, timestamp=revision))
        self.labelling.mark(nodes)

    async def _has_read(self, node: str) -> bool:
        self.asked.append(node)
        return node not in self.unread

    def failures(self) -> float:
        return self.metrics.registry.get_sample_value("nodeworthy_labeler_node_failures_total") or 0

    async def is_done(self) -> bool:
        return not len(self.labelling)


@pytest.fixture
def world() -> World:
    return World()


@asynccontextmanager
async def _working(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.labelling.run())
    yield
    assert not task.done()
    task.cancel()


@pytest.fixture
def working(world: World) -> Callable[[], AbstractAsyncContextManager[None]]:
    return lambda: _working(world)


Working = Callable[[], AbstractAsyncContextManager[None]]
LABELS = {"feature.node.kubernetes.io/a": "1"}


async def test_a_write_that_failed_is_made_again_and_one_that_was_refused_at_once(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    world.beat()
    world.target.errors["n1"] = [BusUnreachableError("no answer"), BusUnreachableError("no answer")]
    world.target.refusals["n2"] = 3
    world.say(["n1", "n2", "n3"], facts({"a": "1"}))

    async def is_all_there() -> bool:
        return world.target.labels == dict.fromkeys(("n1", "n2", "n3"), LABELS)

    async with working():
        await eventually(is_all_there)
    assert world.target.calls == 3 + 2 + 3
    assert world.failures() == 0


async def test_a_node_that_somebody_else_always_writes_is_left_for_later_and_others_are_served(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    world.beat()
    world.target.refusals["n1"] = 23
    world.say(["n1", "n2"], facts({"a": "1"}))

    async def is_there() -> bool:
        return "n1" in world.target.labels

    async with working():
        await eventually(is_there)
    assert world.target.labels["n2"] == LABELS
    assert world.target.refusals["n1"] == 0


@pytest.mark.parametrize("error", [PayloadError("too large", too_large=True), ZeroDivisionError("a mistake")])
async def test_a_node_that_cannot_be_written_is_told_and_not_tried_again(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually", error: Exception
) -> None:
    world.beat()
    world.target.errors["n1"] = [error]
    world.say(["n1", "n2"], facts({"a": "1"}))
    async with working():
        await eventually(world.is_done)

        async def is_told() -> bool:
            return world.failures() == 1

        await eventually(is_told)
    assert world.target.labels == {"n2": LABELS}


async def test_a_node_whose_labels_cannot_be_computed_harms_no_other(
    world: World,
    working: Working,
    facts: "MakeFacts",
    eventually: "Eventually",
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(fleet: Fleet, rules: object, nodes: Sequence[str]) -> object:
        if "n3" in nodes:
            raise ZeroDivisionError("a mistake")
        return want(fleet, rules, nodes)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(labelling, "want", fail)
    world.beat()
    nodes = [f"n{number}" for number in range(10)]
    world.say(nodes, facts({"a": "1"}))

    async def others_are_there() -> bool:
        return len(world.target.labels) == 9

    async with working():
        await eventually(others_are_there)
    assert "n3" not in world.target.labels
    failed = [record for record in caplog.records if record.message == "labeler.node_failed"]
    assert [record.__dict__["fields"]["node"] for record in failed] == ["n3"]


async def test_nothing_is_written_without_a_lease_and_all_of_it_when_it_is_back(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    world.beat()
    world.now = 60.0
    world.say(["n1"], facts({"a": "1"}))
    async with working():
        await asyncio.sleep(0.1)  # ten turns
        assert world.target.calls == 0
        world.beat()

        async def is_there() -> bool:
            return world.target.labels == {"n1": LABELS}

        await eventually(is_there)


async def test_nothing_is_written_before_all_inputs_were_read(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    world.labelling.is_open = False
    world.beat()
    world.say(["n1"], facts({"a": "1"}))
    async with working():
        await asyncio.sleep(0.05)
        assert world.target.calls == 0
        world.labelling.is_open = True
        world.labelling.mark([])

        async def is_there() -> bool:
            return world.target.labels == {"n1": LABELS}

        await eventually(is_there)


async def test_a_new_rule_begins_with_the_few_nodes_that_it_matches(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually", tmp_path: Path
) -> None:
    world.beat()
    world.say([f"n{number}" for number in range(8)], facts({"a": "1"}))
    world.say(["n3", "n6"], facts({"a": "2"}), revision=2)
    async with working():
        await eventually(world.is_done)
        world.target.labels.clear()
        match = "{feature: local.label, matchExpressions: {a: {op: In, value: ['2']}}}"
        (tmp_path / "rules.yaml").write_text(f"- {{name: r, labels: {{few: '1'}}, matchFeatures: [{match}]}}")
        await world.labelling.use(read_rules(tmp_path, LabelSettings()))
        await eventually(world.is_done)
    assert list(world.target.labels) == ["n3", "n6", "n0", "n1", "n2", "n4", "n5", "n7"]


async def test_nodes_of_others_are_passed_over(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    other = Members("other", lambda: 0.0, Membership())
    other.is_ready = True
    world.beat()
    world.members.hear(other.make_beat())
    nodes = [f"n{number}" for number in range(20)]
    mine = [node for node in nodes if world.members.is_mine(node)]
    world.say(nodes, facts({"a": "1"}))

    async def are_there() -> bool:
        return len(world.target.labels) == len(mine) and not len(world.labelling)

    async with working():
        await eventually(are_there)
    assert sorted(world.target.labels) == sorted(mine)
    assert 0 < len(mine) < len(nodes)


@pytest.mark.parametrize("newer", [FactsMark(2, 1.0), FactsMark(1, 2.0)])
async def test_a_record_from_facts_that_were_not_read_yet_is_not_written_over(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually", newer: FactsMark
) -> None:
    world.beat()
    world.target.facts = newer
    world.unread = {"n1"}
    world.say(["n1", "n2"], facts({"a": "0"}))

    async def is_asked_again() -> bool:
        return world.asked.count("n1") > 2

    async with working():
        await eventually(is_asked_again)
        # What others wrote from a store that was lost since is written over: all that is there now was read.
        assert list(world.target.labels) == ["n2"]
        world.unread.clear()
        world.say(["n1"], facts({"a": "1"}), revision=2)

        async def is_there() -> bool:
            return world.target.labels.get("n1") == LABELS

        await eventually(is_there)


async def test_the_bus_is_not_asked_for_newer_facts_where_the_record_knows_of_none(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    world.beat()
    world.target.facts = FactsMark(1, 1.0)
    world.say(["n1"], facts({"a": "1"}))

    async def is_there() -> bool:
        return world.target.labels == {"n1": LABELS}

    async with working():
        await eventually(is_there)
    assert world.asked == []


async def test_facts_that_come_while_the_bus_is_asked_are_looked_at_before_anything_is_written(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually", monkeypatch: pytest.MonkeyPatch
) -> None:
    async def has_read(_node: str) -> bool:
        if not world.asked:
            world.asked.append("n1")
            world.say(["n1"], facts({"a": "1"}), revision=2)
        return True

    monkeypatch.setattr(world.labelling, "_has_read", has_read)
    world.beat()
    world.target.facts = FactsMark(2, 2.0)
    world.say(["n1"], facts({"a": "0"}))

    async def is_there() -> bool:
        return "n1" in world.target.labels

    async with working():
        await eventually(is_there)
    assert world.target.labels["n1"] == LABELS
    assert world.target.calls == 1


@pytest.mark.parametrize("remembered", ["older", None])
async def test_a_value_of_ours_that_no_record_here_tells_of_is_not_changed_before_the_newest_facts_are_read(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually", remembered: str | None
) -> None:
    """What another labeler wrote to a Node may be heard before its record and the facts that it was made from."""
    given = (Given(Giver(GiverKind.DEFAULT, "local.label"), ""),)
    memory = (
        LabelMemory(dict.fromkeys(LABELS, LabelEntry(LabelState.APPLIED, remembered, given))) if remembered else None
    )
    live = dict.fromkeys(LABELS, "newer")
    world.target.state = TargetState(NodeLabels(live, frozenset(live)), memory)
    world.unread = {"n1"}
    world.beat()
    world.say(["n1"], facts({"a": "1"}))

    async def is_asked() -> bool:
        return len(world.asked) > 1

    async def is_there() -> bool:
        return world.target.labels == {"n1": LABELS}

    async with working():
        await eventually(is_asked)
        assert world.target.calls == 0
        world.unread.clear()
        await eventually(is_there)


async def test_a_value_of_ours_that_is_remembered_is_changed_without_asking(
    world: World, working: Working, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    given = (Given(Giver(GiverKind.DEFAULT, "local.label"), "0"),)
    live = dict.fromkeys(LABELS, "0")
    memory = LabelMemory(dict.fromkeys(LABELS, LabelEntry(LabelState.APPLIED, "0", given)))
    world.target.state = TargetState(NodeLabels(live, frozenset(live)), memory)
    world.beat()
    world.say(["n1"], facts({"a": "1"}))

    async def is_there() -> bool:
        return world.target.labels == {"n1": LABELS}

    async with working():
        await eventually(is_there)
    assert world.asked == []
