"""What is known of nodes, and for how long."""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from nodeworthy.bus.keys import DETECTOR, KUBERNETES, Producer, program
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.records import Session, SnapshotMessage
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth
from nodeworthy.fleet import Limits
from nodeworthy_validator import inventory as inventories
from nodeworthy_validator import lapses
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.node_labels import NodeLabels
from nodeworthy_validator.selection import Selection, select_nodes
from nodeworthy_validator.selectors import parse_selector
from nodeworthy_validator.settings import Lifetimes

NOW = 1_000_000.0


class Clock:
    """A clock that a test moves."""

    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def inventory(clock: Clock) -> Inventory:
    return Inventory(lifetimes=Lifetimes(lost=100, forgotten=1000), clock=clock)


def published(
    node: str,
    contents: Mapping[str, FeatureSet],
    *,
    producer: Producer = DETECTOR,
    revision: int = 1,
    expires: int | None = None,
    catalogue: frozenset[str] | None = frozenset({"a.set", "b.set"}),
) -> PublishedSnapshot:
    snapshot = Snapshot(
        contents,
        {"c.set": SetStatus(SetState.ABSENT), "d.set": SetStatus(SetState.UNKNOWN, "denied")},
        catalogue,
        {"pci": SourceHealth("failed")},
    )
    message = SnapshotMessage(
        node=node, producer=str(producer), session=Session("boot", 1), sequence=1, sets={}, expires=expires
    )
    return PublishedSnapshot(node, producer, revision, NOW - 60, message, snapshot, {})


A = {"a.set": FeatureSet(attributes={"x": "1"})}


def state(inventory: Inventory, node: str, name: str) -> SetState:
    inventory.lapse()
    return inventory.fleet.facts(node).lookup(name).state


def test_a_node_is_summed_up_with_age_states_and_health(inventory: Inventory) -> None:
    inventory.take(published("n1", A))
    [producer] = inventory.producers("n1")
    assert (producer.producer, producer.revision, producer.age) == ("detector", 1, 60)
    assert (producer.present, producer.absent, producer.unknown) == (1, 1, 2)  # b.set is listed and was not delivered
    assert producer.sources == {"pci": SourceHealth("failed")}
    assert {name: status.state for name, status in inventory.sets("n1")} == {
        "a.set": SetState.PRESENT,
        "b.set": SetState.UNKNOWN,
        "c.set": SetState.ABSENT,
        "d.set": SetState.UNKNOWN,
    }


def test_a_producer_that_withdraws_is_gone_and_the_node_with_the_last_one(inventory: Inventory) -> None:
    inventory.take(published("n1", A))
    inventory.take(published("n1", A, producer=program("lab")))
    inventory.take(NodeRemoved("n1", DETECTOR, is_lost=False))
    assert inventory.names() == ["n1"]
    inventory.take(NodeRemoved("n1", program("lab"), is_lost=False))
    inventory.take(NodeRemoved("n1", program("lab"), is_lost=False))
    assert (inventory.names(), len(inventory.fleet)) == ([], 0)


def test_lost_facts_count_for_a_while_then_are_unknown_then_the_node_is_none(
    inventory: Inventory, clock: Clock
) -> None:
    inventory.take(published("n1", A))
    inventory.take(NodeRemoved("n1", DETECTOR, is_lost=True))
    clock.now += 99
    assert state(inventory, "n1", "a.set") is SetState.PRESENT
    assert "gone from the bus" in inventory.producers("n1")[0].problem
    clock.now += 2
    assert {name: state(inventory, "n1", name) for name in ("a.set", "c.set")} == {
        "a.set": SetState.UNKNOWN,
        "c.set": SetState.UNKNOWN,
    }
    [producer] = inventory.producers("n1")
    assert (producer.present, producer.absent, producer.unknown) == (0, 0, 4)
    clock.now += 1000
    inventory.lapse()
    assert "n1" not in inventory


def test_facts_that_come_back_count_as_if_they_had_never_been_lost(inventory: Inventory, clock: Clock) -> None:
    inventory.take(published("n1", A))
    inventory.take(NodeRemoved("n1", DETECTOR, is_lost=True))
    inventory.take(published("n1", A, revision=9))
    clock.now += 5000
    assert state(inventory, "n1", "a.set") is SetState.PRESENT
    assert inventory.producers("n1")[0].problem == ""


def test_facts_are_unknown_and_not_absent_after_the_time_that_their_producer_stated(
    inventory: Inventory, clock: Clock
) -> None:
    inventory.take(published("n1", A))
    lab = {"lab.set": FeatureSet(flags=frozenset({"x"}))}
    inventory.take(published("n1", lab, producer=program("lab"), expires=int(NOW) + 10, catalogue=None))
    assert state(inventory, "n1", "lab.set") is SetState.PRESENT
    clock.now += 11
    assert state(inventory, "n1", "lab.set") is SetState.UNKNOWN
    assert state(inventory, "n1", "a.set") is SetState.PRESENT
    inventory.take(published("n1", lab, producer=program("lab"), expires=int(NOW) + 100, catalogue=None))
    assert state(inventory, "n1", "lab.set") is SetState.PRESENT


@pytest.mark.parametrize(("catalogue", "expected"), [(None, SetState.UNKNOWN), (frozenset({"a.set"}), SetState.ABSENT)])
def test_facts_that_are_over_say_no_more_of_other_sets_than_they_did(
    catalogue: frozenset[str] | None, expected: SetState, inventory: Inventory, clock: Clock
) -> None:
    inventory.take(published("n1", A, expires=int(NOW) + 10, catalogue=catalogue))
    assert state(inventory, "n1", "other.set") is expected
    clock.now += 11
    assert state(inventory, "n1", "a.set") is SetState.UNKNOWN
    assert state(inventory, "n1", "other.set") is expected


def test_facts_that_were_over_when_they_came_are_never_believed(inventory: Inventory) -> None:
    inventory.take(published("n1", A, expires=int(NOW) - 1))
    assert inventory.fleet.facts("n1").lookup("a.set").state is SetState.UNKNOWN


def test_a_message_that_cannot_be_read_does_not_lengthen_what_was_said_before(
    inventory: Inventory, clock: Clock
) -> None:
    inventory.take(published("n1", A, expires=int(NOW) + 10))
    inventory.take(NodeProblem("n1", DETECTOR, 2, "a body is no SnapshotMessage"))
    assert state(inventory, "n1", "a.set") is SetState.PRESENT
    assert inventory.producers("n1")[0].problem == "a body is no SnapshotMessage"
    clock.now += 11
    assert state(inventory, "n1", "a.set") is SetState.UNKNOWN


def test_a_node_of_which_nothing_can_be_read_is_known_by_name(inventory: Inventory) -> None:
    inventory.take(NodeProblem("n1", DETECTOR, 2, "a body is no SnapshotMessage"))
    assert inventory.names() == ["n1"]
    assert not inventory.is_usable("n1")
    assert "no SnapshotMessage" in inventory.why_unusable("n1")
    assert inventory.facts("n1") is None
    assert not list(inventory.sets("n1"))
    assert "nobody has published" in inventory.why_unusable("n2")


def test_facts_are_unknown_while_one_of_the_producers_could_never_be_read(inventory: Inventory) -> None:
    inventory.take(published("n1", A))
    inventory.take(NodeProblem("n1", program("site"), 2, "a message of format version 2 was not read"))
    assert state(inventory, "n1", "a.set") is SetState.UNKNOWN
    assert inventory.producers("n1")[1].problem == "a message of format version 2 was not read"
    said = published("n1", {"b.set": FeatureSet()}, producer=program("site"), catalogue=frozenset({"b.set"}))
    inventory.take(said)
    assert state(inventory, "n1", "a.set") is SetState.PRESENT


def test_more_doubts_than_the_table_takes_are_told_and_harm_nothing(clock: Clock) -> None:
    inventory = Inventory(limits=Limits(producers=1), clock=clock)
    for name in ("site", "other"):
        inventory.take(NodeProblem("n1", program(name), 2, "no message"))
    assert inventory.refused == 2
    assert "too many producers" in inventory.producers("n1")[0].problem


def test_nodes_that_the_table_does_not_take_are_told_and_harm_no_other(clock: Clock) -> None:
    inventory = Inventory(limits=Limits(nodes=1), clock=clock)
    for name in ("n1", "n2"):
        inventory.take(published(name, A))
    assert (inventory.names(), inventory.refused) == (["n1", "n2"], 1)
    assert (inventory.is_usable("n1"), inventory.is_usable("n2")) == (True, False)
    assert "n2" in inventory.why_unusable("n2")


def test_names_are_bounded_too(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventories, "MAX_RECORDS", 1)
    inventory.take(published("n1", A))
    inventory.take(published("n2", A))
    inventory.take(NodeProblem("n3", DETECTOR, 2, "x"))
    assert (inventory.names(), inventory.refused) == (["n1"], 2)


def test_times_that_mean_nothing_any_more_are_swept(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapses, "MAX_STALE", 10)
    for number in range(100):
        inventory.take(published("n1", A, revision=number, expires=int(NOW) + 1000 + number))
    assert len(inventory._lapses) <= 13


def test_platforms_are_those_of_all_nodes_or_of_some(inventory: Inventory) -> None:
    for name, architecture in (("n1", "amd64"), ("n2", "arm64"), ("n3", "")):
        contents = {"system.architecture": FeatureSet(attributes={"architecture": architecture})} if architecture else A
        inventory.take(published(name, contents))
    arm = frozenset({"linux/arm64", "linux/arm64/v99"})
    assert inventory.platforms(["n2"]) == arm
    assert inventory.platforms(["n1", "n2"]) == arm | {"linux/amd64", "linux/amd64/v99"}
    assert inventory.platforms(None) is None  # of n3 nothing is known: it may take anything


async def test_a_replica_that_is_behind_waits_for_what_the_other_one_has_read(inventory: Inventory) -> None:
    inventory.take(published("n1", A, revision=5))
    assert await inventory.catch_up(5, 0)
    assert not await inventory.catch_up(6, 0.01)
    waiting = asyncio.create_task(inventory.catch_up(7, 20))
    await asyncio.sleep(0)
    inventory.take(published("n1", A, revision=7))
    assert await waiting


def gone(node: str, *, uid: str = "u1", revision: int = 5) -> PublishedSnapshot:
    return published_by_kubernetes(node, revision, node_uid=uid, is_node_gone=True)


def published_by_kubernetes(node: str, revision: int, **said: Any) -> PublishedSnapshot:
    message = SnapshotMessage(
        node=node, producer="kubernetes", session=Session("labeler", 0), sequence=0, sets={}, **said
    )
    return PublishedSnapshot(node, KUBERNETES, revision, NOW, message, Snapshot({}), {})


def published_of(uid: str, revision: int) -> PublishedSnapshot:
    one = published("n1", A, revision=revision)
    return dataclasses.replace(one, message=msgspec.structs.replace(one.message, node_uid=uid))


def test_a_node_that_is_gone_is_no_answer_and_its_neighbours_are(inventory: Inventory) -> None:
    for node in ("n1", "n2"):
        inventory.take(published(node, A))
    inventory.take(gone("n1"))
    assert (inventory.names(), len(inventory), "n1" in inventory, "n2" in inventory) == (["n2"], 1, False, True)
    assert (inventory.is_usable("n1"), inventory.facts("n1"), inventory.producers("n1")) == (False, None, ())
    assert list(inventory.sets("n1")) == []
    assert inventory.why_unusable("n1") == "the cluster has no Node n1 any more"
    assert select_nodes(inventory, NodeLabels(), (), parse_selector("")) == Selection(["n2"], {}, is_everything=False)


def test_it_is_there_again_with_its_facts_when_that_is_taken_back(inventory: Inventory) -> None:
    inventory.take(published("n1", A))
    inventory.take(gone("n1"))
    inventory.take(published("n1", {"a.set": FeatureSet(attributes={"x": "2"})}, revision=6))
    assert inventory.names() == []
    inventory.take(NodeRemoved("n1", KUBERNETES, is_lost=False, revision=7))
    assert inventory.names() == ["n1"]
    assert inventory.fleet.facts("n1").lookup("a.set").content == FeatureSet(attributes={"x": "2"})
    assert [one.producer for one in inventory.producers("n1")] == ["detector"]


@pytest.mark.parametrize(
    ("change", "is_back"),
    [
        pytest.param(published_by_kubernetes("n1", 6), True, id="the kubelet of a Node of this name"),
        pytest.param(NodeRemoved("n1", KUBERNETES, is_lost=True), True, id="lost, and so without evidence"),
        pytest.param(published_of("u2", 6), True, id="of another Node, later"),
        pytest.param(published_of("u2", 4), False, id="of another Node, before"),
        pytest.param(published_of("u1", 6), False, id="of the Node that is gone"),
        pytest.param(published_of("", 6), False, id="of nobody knows which Node"),
        pytest.param(NodeProblem("n1", KUBERNETES, 6, "newer"), False, id="what cannot be read"),
        pytest.param(NodeRemoved("n2", KUBERNETES, is_lost=False), False, id="of another name"),
    ],
)
def test_only_who_can_know_brings_it_back(inventory: Inventory, change: NodeChange, *, is_back: bool) -> None:
    inventory.take(published("n1", A))
    inventory.take(gone("n1"))
    inventory.take(change)
    assert ("n1" in inventory) is is_back


def test_of_the_producers_only_kubernetes_can_say_that_a_node_is_gone(inventory: Inventory) -> None:
    one = published("n1", A, producer=program("lab"))
    inventory.take(dataclasses.replace(one, message=msgspec.structs.replace(one.message, is_node_gone=True)))
    assert inventory.names() == ["n1"]


def test_a_node_that_is_gone_leaves_nothing_behind_with_the_last_of_its_keys(inventory: Inventory) -> None:
    inventory.take(gone("n1"))
    assert (inventory.names(), len(inventory)) == ([], 0)
    inventory.take(published("n1", A, revision=6))
    inventory.take(NodeRemoved("n1", DETECTOR, is_lost=False, revision=7))
    inventory.take(NodeRemoved("n1", KUBERNETES, is_lost=False, revision=8))
    assert (inventory.names(), len(inventory), inventory.has_gone, len(inventory.fleet)) == ([], 0, False, 0)


def test_nodes_without_facts_are_found_also_among_nodes_that_are_gone(inventory: Inventory) -> None:
    """As many nodes that are gone have facts as others have none, so that counting alone would not tell."""
    inventory.take(published("n1", A))
    inventory.take(gone("n1"))
    inventory.take(published("n2", A))
    assert inventory.are_all_usable
    inventory.take(NodeProblem("n3", DETECTOR, 9, "newer"))
    assert not inventory.are_all_usable
    assert list(select_nodes(inventory, NodeLabels(), (), parse_selector("")).unusable) == ["n3"]
