"""The table of facts: what is lost stays, and what is withdrawn or over goes."""

from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus.composing import Identity, compose
from nodeworthy.bus.keys import DETECTOR, Producer, program
from nodeworthy.bus.nodes import NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.records import Session
from nodeworthy.features import SetState, Snapshot
from nodeworthy.fleet import Fleet, Limits
from nodeworthy.labels import FactsMark
from nodeworthy_labeler.facts import NodeTable

if TYPE_CHECKING:
    from tests.labeler.conftest import MakeFacts

PROGRAM = program("prog")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock) -> NodeTable:
    return NodeTable(Fleet(limits=Limits(nodes=2)), clock)


def said(
    node: str, snapshot: Snapshot, producer: Producer = DETECTOR, *, expires: int | None = None, revision: int = 1
) -> PublishedSnapshot:
    identity = Identity(node, producer, Session("boot", 1), f"uid-{node}")
    message = compose(snapshot, identity, sequence=1, expires=expires).message
    return PublishedSnapshot(node, producer, revision, float(revision), message, snapshot, {})


def test_a_change_names_its_node_and_a_renewal_does_not(table: NodeTable, facts: "MakeFacts") -> None:
    assert table.take(said("n1", facts({"a": "1"}))) == "n1"
    assert table.take(said("n1", facts({"a": "1"}))) is None
    assert table.take(said("n1", facts({"a": "2"}))) == "n1"
    assert table.uid("n1") == "uid-n1"


def test_the_mark_of_a_node_is_its_newest_message_and_a_withdrawal_is_one(table: NodeTable, facts: "MakeFacts") -> None:
    assert table.mark("n1") == FactsMark()
    table.take(said("n1", facts({"a": "1"}), revision=7))
    table.take(said("n1", facts({"p": "1"}), PROGRAM, revision=5))
    assert table.mark("n1") == FactsMark(7, 7.0)
    table.take(NodeRemoved("n1", PROGRAM, is_lost=False, revision=9))
    assert table.mark("n1") == FactsMark(9, 7.0)
    table.take(NodeRemoved("n1", DETECTOR, is_lost=False, revision=10))
    table.forget("n1")
    assert table.mark("n1") == FactsMark()
    assert table.withdrawn == set()


def test_facts_that_are_lost_stay(table: NodeTable, facts: "MakeFacts") -> None:
    table.take(said("n1", facts({"a": "1"})))
    assert table.take(NodeRemoved("n1", DETECTOR, is_lost=True)) is None
    assert "n1" in table.fleet
    assert table.withdrawn == set()


def test_a_node_is_withdrawn_when_its_last_producer_is(table: NodeTable, facts: "MakeFacts") -> None:
    table.take(said("n1", facts({"a": "1"})))
    table.take(said("n1", facts({"p": "1"}), PROGRAM))
    assert table.take(NodeRemoved("n1", DETECTOR, is_lost=False)) == "n1"
    assert table.withdrawn == set()
    assert table.take(NodeRemoved("n1", PROGRAM, is_lost=False)) == "n1"
    assert table.withdrawn == {"n1"}
    assert table.uid("n1") == ""
    assert table.take(said("n1", facts({"a": "1"}))) == "n1"
    assert table.withdrawn == set()


def test_facts_lapse_at_the_time_that_their_producer_stated_last(
    table: NodeTable, clock: Clock, facts: "MakeFacts"
) -> None:
    table.take(said("n1", facts({})))
    table.take(said("n1", facts({"p": "1"}), PROGRAM, expires=1010, revision=1))
    table.take(said("n1", facts({"p": "1"}), PROGRAM, expires=1020, revision=2))
    clock.now = 1015.0
    assert table.lapse() == []
    clock.now = 1020.0
    assert table.lapse() == ["n1"]
    assert table.lapse() == []


def test_facts_whose_time_was_over_before_they_were_read_do_not_come_back(table: NodeTable, facts: "MakeFacts") -> None:
    table.take(said("n1", facts({})))
    assert table.take(said("n1", facts({"p": "1"}), PROGRAM, expires=999)) is None
    assert len(table.fleet.reports("n1")) == 1


def test_a_detectors_facts_never_lapse(table: NodeTable, clock: Clock, facts: "MakeFacts") -> None:
    assert table.take(said("n1", facts({"a": "1"}), expires=1)) == "n1"
    clock.now = 2.0**40
    assert table.lapse() == []


def test_times_that_were_stated_again_and_again_do_not_pile_up(table: NodeTable, facts: "MakeFacts") -> None:
    for number in range(3000):
        table.take(said("n1", facts({"p": "1"}), PROGRAM, expires=2000 + number, revision=number))
    assert len(table._ends) < 1100


def test_a_producer_that_cannot_be_read_puts_its_node_in_doubt_unless_it_could_be_read_before(
    table: NodeTable, facts: "MakeFacts"
) -> None:
    table.take(said("n1", facts({"a": "1"})))
    assert table.take(NodeProblem("n1", DETECTOR, 2, "no message")) is None
    assert table.take(NodeProblem("n1", PROGRAM, 2, "no message")) == "n1"
    assert table.fleet.facts("n1").lookup("local.label").state is SetState.UNKNOWN
    table.take(NodeRemoved("n1", DETECTOR, is_lost=False))
    assert table.withdrawn == set(), "somebody still speaks of the node"
    assert table.take(NodeRemoved("n1", PROGRAM, is_lost=False)) == "n1"
    assert table.withdrawn == {"n1"}


def test_what_the_table_does_not_take_is_counted_and_harms_nobody_else(
    table: NodeTable, facts: "MakeFacts", caplog: pytest.LogCaptureFixture
) -> None:
    for node in ("n1", "n2", "n3"):
        table.take(said(node, facts({"a": "1"})))
    table.take(NodeProblem("n1", DETECTOR, 2, "no message"))
    assert table.refused == 2
    assert sorted(table.fleet.nodes()) == ["n1", "n2"]
    assert "labeler.facts_refused" in caplog.text
