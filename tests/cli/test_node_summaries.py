import pytest

from nodeworthy.bus.keys import DETECTOR, KUBERNETES
from nodeworthy.bus.records import Session, SetEntry, SnapshotMessage
from nodeworthy.bus.requests import NodeSummary, ProducerSummary
from nodeworthy.bus.store import Stored
from nodeworthy.features import SetState, SourceHealth
from nodeworthy_cli.node_summaries import STALE_SECONDS, is_gone, judge_health, mark, summarize

NOW = 1_800_000_000.0


def detector(**facts: object) -> NodeSummary:
    producer = ProducerSummary(**({"producer": "detector", "revision": 1, "age": 1.0} | facts))  # type: ignore[arg-type] # of a test
    return NodeSummary("node-1", producers=(producer,))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NodeSummary("node-1"), "never"),
        (NodeSummary("node-1", producers=(ProducerSummary("kubernetes", 1, 1.0),)), "never"),
        (detector(), "fresh"),
        (detector(age=STALE_SECONDS), "fresh"),
        (detector(age=STALE_SECONDS + 1), "stale"),
        (detector(expires=int(NOW) - 1), "expired"),
        (detector(expires=int(NOW) + 1), "fresh"),
        (detector(problem="does not decode"), "unreadable"),
    ],
)
def test_the_mark_says_what_the_detectors_facts_are_worth(node: NodeSummary, expected: str) -> None:
    assert mark(node, NOW) == expected


def test_a_snapshot_is_stale_only_after_a_renewal_was_missed() -> None:
    renewal = 600 * 1.1
    assert renewal * 2 < STALE_SECONDS < renewal * 3


def test_sets_that_were_promised_and_not_delivered_are_unknown() -> None:
    message = SnapshotMessage(
        node="node-1",
        producer="detector",
        session=Session("boot-1", 1),
        sequence=1,
        sets={"a.one": SetEntry(SetState.PRESENT), "a.two": SetEntry(SetState.ABSENT)},
        catalogue=("a.one", "a.three", "a.two"),
        sources={"a": SourceHealth(), "b": SourceHealth(error="failed")},
    )
    summary = summarize(DETECTOR, Stored("subject", b"", 7, NOW), message)
    assert (summary.present, summary.absent, summary.unknown, summary.revision) == (1, 1, 1, 7)
    assert set(summary.sources) == {"b"}


def test_a_clock_that_is_behind_the_servers_makes_no_negative_age() -> None:
    assert summarize(DETECTOR, Stored("subject", b"", 7, NOW * 2), "unreadable").age == 0


FAILING, FAULTS = SourceHealth(error="x"), SourceHealth(faults=("a", "b"))


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({}, "ok"),
        ({"cpu": SourceHealth(), "pci": SourceHealth(polled="x")}, "ok"),
        ({"cpu": SourceHealth(), "pci": FAULTS}, "2 faults"),
        ({"cpu": FAULTS, "pci": FAILING}, "1 failing"),
        ({"cpu": FAILING, "pci": FAILING, "usb": SourceHealth(disabled=True)}, "blind"),
        ({"cpu": FAILING, "configuration": FAILING, "bus": FAILING}, "blind"),
        ({"cpu": SourceHealth(), "configuration": FAILING}, "1 failing"),
        ({"usb": SourceHealth(disabled=True)}, "ok"),
    ],
)
def test_the_health_of_a_node_is_that_of_its_sources(sources: dict[str, SourceHealth], expected: str) -> None:
    assert judge_health(sources) == expected


def said(producer: str, revision: int, uid: str, *, gone: bool = False) -> tuple[Stored, SnapshotMessage]:
    message = SnapshotMessage(
        node="node-1",
        producer=producer,
        session=Session("boot-1", 1),
        sequence=1,
        sets={},
        node_uid=uid,
        is_node_gone=gone,
    )
    return Stored("subject", b"", revision, NOW), message


@pytest.mark.parametrize(
    ("detector_said", "expected"),
    [
        (said("detector", 1, "u1"), True),
        (said("detector", 9, "u1"), True),  # it renews its facts without knowing
        (said("detector", 9, ""), True),
        (said("detector", 9, "u2"), False),
        (said("detector", 1, "u2"), True),
    ],
)
def test_a_node_that_the_cluster_has_no_more_is_not_listed_until_another_is_spoken_of(
    detector_said: tuple[Stored, SnapshotMessage], *, expected: bool
) -> None:
    assert is_gone({DETECTOR: detector_said, KUBERNETES: said("kubernetes", 5, "u1", gone=True)}) is expected
    assert not is_gone({DETECTOR: detector_said, KUBERNETES: said("kubernetes", 5, "u1")})
    assert not is_gone({DETECTOR: detector_said})
