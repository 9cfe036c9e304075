"""Producers that could never be read: nothing of their nodes is known until they can be read, or are gone."""

import numpy as np
import pytest

from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, SetState, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, Limits, Producer, ProducerKind

A = Snapshot({"lab.a": FeatureSet(attributes={"x": "1"})}, catalogue=frozenset({"lab.a", "lab.b"}))
SITE, OTHER = Producer(ProducerKind.PROGRAM, "site"), Producer(ProducerKind.PROGRAM, "other")
NAMES = ("lab.a", "lab.b", "lab.never")


@pytest.fixture
def fleet() -> Fleet:
    made = Fleet(limits=Limits(nodes=3, producers=3))
    for node in ("n1", "n2"):
        made.update(node, DETECTOR, A)
    return made


def states(fleet: Fleet, node: str) -> list[SetState]:
    """Of a set that is there, one that is not delivered, and one outside the catalogue; by both ways to ask."""
    row = fleet.rows([node])
    found = [fleet.facts(node).lookup(name) for name in NAMES]
    for name, lookup in zip(NAMES, found, strict=True):
        column, number = fleet.column(name), int(fleet.numbers(name, row)[0])
        assert column is None or column.contents.lookup(number) == lookup
    return [lookup.state for lookup in found]


KNOWN = [SetState.PRESENT, SetState.UNKNOWN, SetState.ABSENT]
DOUBTED = [SetState.UNKNOWN] * 3


def test_everything_of_a_node_is_unknown_while_one_of_its_producers_could_never_be_read(fleet: Fleet) -> None:
    version = fleet.version
    assert fleet.doubt("n1", SITE)
    assert fleet.version > version
    assert (states(fleet, "n1"), states(fleet, "n2")) == (DOUBTED, KNOWN)
    assert "cannot be read" in fleet.facts("n1").lookup("lab.never").reason
    assert len(np.unique(fleet.numbers("lab.a", fleet.rows()))) == 2
    assert not fleet.doubt("n1", SITE), "nothing new"


@pytest.mark.parametrize("ends", ["it can be read", "it is gone"])
def test_the_doubt_ends_when_the_producer_can_be_read_or_is_gone(fleet: Fleet, ends: str) -> None:
    fleet.doubt("n1", SITE)
    change = fleet.update("n1", SITE, Snapshot({})) if ends == "it can be read" else fleet.remove("n1", SITE)
    assert change
    assert states(fleet, "n1") == KNOWN
    assert not fleet.is_doubted("n1")


def test_what_others_say_meanwhile_counts_when_the_doubt_ends(fleet: Fleet) -> None:
    fleet.doubt("n1", SITE)
    fleet.doubt("n1", OTHER)
    fleet.update("n1", DETECTOR, Snapshot({"lab.b": FeatureSet()}, catalogue=frozenset({"lab.b"})))
    fleet.remove("n1", SITE)
    assert states(fleet, "n1") == DOUBTED, "the other one cannot be read either"
    fleet.remove("n1", OTHER)
    assert states(fleet, "n1") == [SetState.ABSENT, SetState.PRESENT, SetState.ABSENT]


def test_a_producer_that_could_be_read_before_is_believed(fleet: Fleet) -> None:
    assert not fleet.doubt("n1", DETECTOR)
    assert states(fleet, "n1") == KNOWN


def test_a_node_in_doubt_is_no_node_before_somebody_can_be_read_and_is_in_doubt_then(fleet: Fleet) -> None:
    fleet.doubt("n3", SITE)
    assert "n3" not in fleet
    assert fleet.is_doubted("n3")
    fleet.update("n3", DETECTOR, A)
    assert states(fleet, "n3") == DOUBTED


def test_the_row_of_a_node_in_doubt_is_given_on_without_the_doubt(fleet: Fleet) -> None:
    fleet.doubt("n1", SITE)
    fleet.remove("n1", DETECTOR)
    fleet.update("n3", DETECTOR, A)
    assert states(fleet, "n3") == KNOWN
    fleet.remove("n3")
    fleet.update("n1", DETECTOR, A)
    assert states(fleet, "n1") == DOUBTED


def test_doubts_are_bounded(fleet: Fleet) -> None:
    for number in range(3):
        fleet.doubt("n1", Producer(ProducerKind.PROGRAM, f"p{number}"))
    with pytest.raises(UsageError, match="too many producers"):
        fleet.doubt("n1", SITE)
    fleet.doubt("m1", SITE)
    fleet.doubt("m2", SITE)
    with pytest.raises(UsageError, match="one too many"):
        fleet.doubt("m3", SITE)
