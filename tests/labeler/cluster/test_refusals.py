"""What was refused is remembered for a while."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster import refusals
from nodeworthy_labeler.cluster.refusals import EVERYWHERE, FIRST_SECONDS, MOST_SECONDS, Output, Refusals

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


def test_nodes_with_one_object_of_labels_have_one_with_what_is_refused_for_all(clock: Clock) -> None:
    noted = Refusals(clock)
    noted.add(EVERYWHERE, LABEL, "bad value")
    marked = noted.mark("u1", NONE)
    assert noted.mark("u2", NONE) is marked
    other = NodeLabels(NONE.live)
    assert noted.mark("u2", other) is not marked
    noted.add("u2", TAINT, "theirs")
    assert noted.mark("u2", NONE).others[RejectedKind.TAINT].refusals
    assert noted.mark("u1", NONE) is marked
    clock.now = FIRST_SECONDS
    assert noted.mark("u1", NONE) is NONE


def test_it_is_tried_again_after_a_while_and_on_another_node_of_the_name(clock: Clock) -> None:
    noted = Refusals(clock)
    noted.add("u1", LABEL, "no")
    noted.forget("u1")
    assert (noted.mark("u1", NONE), len(noted)) == (NONE, 0)
    noted.add("u1", LABEL, "no")
    assert noted.lapse() == set()
    clock.now = FIRST_SECONDS
    assert (noted.mark("u1", NONE), len(noted)) == (NONE, 0)
    assert noted.lapse() == {"u1"}
    assert noted.lapse() == set()


def test_what_is_refused_again_and_again_is_tried_more_and_more_seldom(clock: Clock) -> None:
    noted = Refusals(clock)
    waits = []
    for _ in range(6):
        noted.add(EVERYWHERE, LABEL, "no")
        begun = clock.now
        while not noted.lapse():
            clock.now += 1
        waits.append(clock.now - begun)
    assert waits == [10, 60, 360, 2160, 3600, 3600]


def test_what_was_taken_for_a_while_and_is_refused_then_is_refused_for_the_first_time(clock: Clock) -> None:
    noted = Refusals(clock)
    noted.add("u1", LABEL, "no")
    clock.now = 2 * FIRST_SECONDS
    noted.add("u1", LABEL, "no")
    clock.now += FIRST_SECONDS
    assert noted.lapse() == {"u1"}
    clock.now += FIRST_SECONDS
    assert noted.lapse() == set()
    assert noted.mark("u1", NONE) is NONE


def test_several_that_find_the_same_at_a_time_count_as_one(clock: Clock) -> None:
    noted = Refusals(clock)
    for _ in range(5):
        noted.add(EVERYWHERE, LABEL, "no")
    clock.now = FIRST_SECONDS
    assert noted.lapse() == {EVERYWHERE}


@given(st.lists(st.tuples(st.sampled_from(["u1", "u2", EVERYWHERE]), st.integers(0, 100))))
def test_every_refusal_ends_and_is_told_within_an_hour(steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    noted = Refusals(clock)
    for uid, seconds in steps:
        noted.add(uid, LABEL, "no")
        clock.now += seconds
    waiting = {uid for uid in ("u1", "u2") if noted.mark(uid, NONE) is not NONE}
    clock.now += MOST_SECONDS
    lapsed = noted.lapse()
    assert EVERYWHERE in lapsed or waiting <= lapsed
    assert len(noted) == 0


def test_the_oldest_are_forgotten_when_there_are_too_many(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MAX_REFUSALS", 2)
    noted = Refusals(clock)
    for number in range(3):
        noted.add(f"u{number}", LABEL, "no")
    assert len(noted) == 2
    assert noted.mark("u0", NONE) is NONE
