"""What was refused is remembered for a while."""

import pytest

from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster import refusals
from nodeworthy_labeler.cluster.refusals import EVERYWHERE, REFUSAL_SECONDS, Output, Refusals

LABEL = Output(RejectedKind.LABEL, "x.org/a", "1")
TAINT = Output(RejectedKind.TAINT, "x.org/t:NoSchedule", "1")
NONE = NodeLabels({"x.org/b": "1"})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_refusal_is_of_one_node_or_of_all(clock: Clock) -> None:
    noted = Refusals(clock)
    assert noted.mark("u1", NONE) is NONE
    noted.add("u1", TAINT, "theirs")
    noted.add(EVERYWHERE, LABEL, "bad value")
    one, other = noted.mark("u1", NONE), noted.mark("u2", NONE)
    assert one.refusals == other.refusals == {("x.org/a", "1"): "bad value"}
    assert one.others[RejectedKind.TAINT].refusals == {("x.org/t:NoSchedule", "1"): "theirs"}
    assert (one.live, other.others) == (NONE.live, {})


def test_it_is_tried_again_after_a_while_and_on_another_node_of_the_name(clock: Clock) -> None:
    noted = Refusals(clock)
    noted.add("u1", LABEL, "no")
    noted.forget("u1")
    assert (noted.mark("u1", NONE), len(noted)) == (NONE, 0)
    noted.add("u1", LABEL, "no")
    clock.now = REFUSAL_SECONDS
    assert (noted.mark("u1", NONE), len(noted)) == (NONE, 0)


def test_the_oldest_are_forgotten_when_there_are_too_many(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MAX_REFUSALS", 2)
    noted = Refusals(clock)
    for number in range(3):
        noted.add(f"u{number}", LABEL, "no")
    assert len(noted) == 2
    assert noted.mark("u0", NONE) is NONE
