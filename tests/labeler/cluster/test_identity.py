"""Which facts belong to the Node that there is."""

from collections.abc import Mapping

import pytest

from nodeworthy.bus.composing import Identity, compose
from nodeworthy.bus.keys import DETECTOR, Producer, node_feature
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.records import Session
from nodeworthy.bus.watching import Complete
from nodeworthy.features import Snapshot
from nodeworthy_labeler.cluster.identity import FactsGate, NodeIdentity

OTHER = node_feature("ns", "vendor")


class World:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeIdentity] = {}
        self.gate = FactsGate(self.nodes.get)

    def say(self, time: float, *, uid: str = "", producer: Producer = DETECTOR) -> list[str]:
        identity = Identity("n1", producer, Session("boot", 1), uid)
        message = compose(Snapshot({}), identity, sequence=1).message
        return kinds(self.gate.take(PublishedSnapshot("n1", producer, 1, time, message, Snapshot({}), {})))

    def become(self, uid: str, created: float) -> list[str]:
        self.nodes["n1"] = NodeIdentity(uid, created)
        return kinds(self.gate.look_again("n1"))

    def vanish(self) -> list[str]:
        del self.nodes["n1"]
        return kinds(self.gate.look_again("n1"))


NAMES: Mapping[type[NodeChange], str] = {PublishedSnapshot: "put", NodeRemoved: "removed", NodeProblem: "problem"}


def kinds(changes: list[NodeChange]) -> list[str]:
    return [NAMES[type(change)] for change in changes]


@pytest.fixture
def world() -> World:
    return World()


def test_facts_of_no_node_are_held_until_there_is_one_that_they_belong_to(world: World) -> None:
    assert world.say(10.0, uid="u1") == []
    assert (world.gate.held, world.gate.unknown_nodes()) == (1, {"n1"})
    assert world.become("u1", 20.0) == ["put"]
    assert (world.gate.held, world.gate.unknown_nodes()) == (0, set())


@pytest.mark.parametrize(
    ("time", "uid", "counts"), [(10.0, "u1", True), (10.0, "u0", False), (10.0, "", False), (21.0, "u0", True)]
)
def test_the_uid_decides_or_else_the_time(world: World, time: float, uid: str, *, counts: bool) -> None:
    world.become("u1", 20.0)
    assert world.say(time, uid=uid) == (["put"] if counts else [])
    assert world.gate.has_facts("n1", DETECTOR) is counts


def test_facts_of_a_node_that_was_made_again_go_and_come_back_with_newer_ones(world: World) -> None:
    world.become("u1", 5.0)
    world.say(10.0, uid="u1")
    assert world.become("u2", 20.0) == ["removed"]
    assert not world.gate.has_facts("n1", DETECTOR)
    assert world.say(15.0, uid="u1") == []
    assert world.say(30.0, uid="u2") == ["put"]


def test_a_node_that_is_gone_takes_all_of_its_facts_with_it(world: World) -> None:
    world.become("u1", 5.0)
    world.say(10.0)
    world.say(10.0, producer=OTHER)
    assert world.vanish() == ["removed", "removed"]
    assert world.gate.unknown_nodes() == {"n1"}
    removals = [NodeRemoved("n1", producer, is_lost=False, revision=3) for producer in (DETECTOR, OTHER)]
    assert [world.gate.take(removal) for removal in removals] == [[], []]
    assert world.gate.unknown_nodes() == set()


def test_what_is_lost_without_a_word_is_told_only_of_facts_that_count(world: World) -> None:
    lost = NodeRemoved("n1", DETECTOR, is_lost=True)
    assert world.gate.take(lost) == []
    world.become("u1", 5.0)
    world.say(10.0)
    assert world.gate.take(lost) == [lost]
    assert world.gate.has_facts("n1", DETECTOR)


def test_a_snapshot_that_cannot_be_read_puts_its_node_in_doubt_when_there_is_one(world: World) -> None:
    problem = NodeProblem("n1", DETECTOR, 1, "newer")
    assert world.gate.take(problem) == []
    assert world.become("u1", 5.0) == ["problem"]


def test_the_mark_that_all_was_told_goes_through(world: World) -> None:
    assert world.gate.take(Complete(is_first=True)) == [Complete(is_first=True)]
