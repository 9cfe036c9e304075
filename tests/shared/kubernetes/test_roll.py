"""Who is there, with a clock of the test's own for each replica."""

from collections.abc import Iterable

import pytest

from nodeworthy.kubernetes.metadata import ObjectMeta
from nodeworthy.kubernetes.roll import Lease, LeaseSettings, LeaseSpec, Roll

SETTINGS = LeaseSettings()


class Clock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def lease(name: str, version: int, *, uid: str = "u", seconds: int | None = 10, ready: str = "yes") -> Lease:
    metadata = ObjectMeta(name, uid=uid, resource_version=str(version), annotations={"ready": ready})
    return Lease(metadata, LeaseSpec(name, seconds))


def make(clock: Clock) -> Roll:
    return Roll("me", clock, SETTINGS)


def beat(roll: Roll, clock: Clock, leases: Iterable[Lease]) -> bool:
    """One renewal of ours that succeeded, and what was read behind it."""
    roll.note_renewed(clock.now)
    return roll.observe(leases)


def test_our_lease_begins_when_the_renewal_was_sent() -> None:
    clock = Clock(100)
    roll = make(clock)
    assert not roll.has_lease(0)
    clock.now = 104
    roll.note_renewed(100)
    assert roll.has_lease(6)
    assert not roll.has_lease(6.1)


def test_a_lease_that_is_lost_has_ended() -> None:
    roll = make(Clock())
    roll.note_renewed(0)
    roll.note_lost()
    assert not roll.has_lease(0)


def test_who_renews_is_there_and_who_does_not_is_gone_after_its_time() -> None:
    clock = Clock()
    roll = make(clock)
    for second in range(0, 13, 3):
        clock.now = second
        beat(roll, clock, [lease("me", second), lease("other", 1), lease("third", second)])
        assert set(roll.present) == ({"me", "other", "third"} if second < 10 else {"me", "third"})


def test_a_time_that_is_over_between_two_looks_is_noticed() -> None:
    clock = Clock()
    roll = make(clock)
    for second in (0, 3, 6, 9.9):
        clock.now = second
        beat(roll, clock, [lease("me", int(second)), lease("other", 1)])
    assert not roll.expire()
    clock.now = 10.1
    assert roll.expire()
    assert set(roll.present) == {"me"}


@pytest.mark.parametrize("skew", [-1e6, 0.0, 1e6])
def test_clocks_that_differ_change_nothing(skew: float) -> None:
    """Each replica is on a clock of its own; at every moment whoever has a lease is known to the other as there."""
    mine, other = Clock(), Clock(skew)
    me, them = Roll("me", mine, SETTINGS), Roll("other", other, SETTINGS)
    versions = {"me": 0, "other": 0}
    for second in range(60):
        mine.now, other.now = float(second), skew + second
        if second % 3 == 0 and second < 30:  # then we are frozen
            versions["me"] += 1
            me.note_renewed(mine.now)
            me.observe([lease(name, version) for name, version in versions.items()])
        if second % 3 == 1:
            versions["other"] += 1
            them.note_renewed(other.now)
            them.observe([lease(name, version) for name, version in versions.items()])
        them.expire()
        if second:
            assert ("me" in them.present) or not me.has_lease(0)
    assert set(them.present) == {"other"}


def test_who_removed_its_lease_is_gone_at_once() -> None:
    clock = Clock()
    roll = make(clock)
    beat(roll, clock, [lease("me", 1), lease("other", 1)])
    clock.now = 1
    assert beat(roll, clock, [lease("me", 2)])
    assert set(roll.present) == {"me"}


def test_after_a_time_without_the_server_the_others_get_time_to_renew() -> None:
    clock = Clock()
    roll = make(clock)
    beat(roll, clock, [lease("me", 1), lease("other", 1)])
    clock.now = 60
    assert not roll.expire()
    assert set(roll.present) == {"me", "other"}
    beat(roll, clock, [lease("me", 2), lease("other", 1)])
    assert set(roll.present) == {"me", "other"}
    for second in (63, 66.1):
        clock.now = second
        beat(roll, clock, [lease("me", int(second)), lease("other", 1)])
    assert set(roll.present) == {"me"}


def test_another_lease_of_the_same_name_is_a_sign_of_life() -> None:
    clock = Clock()
    roll = make(clock)
    beat(roll, clock, [lease("me", 1), lease("other", 1, uid="a")])
    clock.now = 5
    beat(roll, clock, [lease("me", 2), lease("other", 1, uid="b")])
    clock.now = 11
    beat(roll, clock, [lease("me", 3), lease("other", 1, uid="b")])
    assert "other" in roll.present


@pytest.mark.parametrize(("seconds", "expected"), [(None, 10), (1, 1), (0, 10), (86400, 60), (-5, 1)])
def test_a_lease_lasts_as_long_as_it_says_within_bounds(seconds: int | None, expected: float) -> None:
    clock = Clock()
    roll = make(clock)
    for second in (0.0, expected - 0.1, expected + 0.1):
        while clock.now + 5 < second:  # we go on looking
            clock.now += 5
            beat(roll, clock, [lease("me", int(clock.now)), lease("other", 1, seconds=seconds)])
        clock.now = second
        beat(roll, clock, [lease("me", int(second * 10)), lease("other", 1, seconds=seconds)])
        assert ("other" in roll.present) == (second < expected)


def test_what_others_say_of_themselves_is_told_when_it_changes_and_only_then() -> None:
    clock = Clock()
    roll = make(clock)
    assert beat(roll, clock, [lease("me", 1), lease("other", 1, ready="no")])
    assert not beat(roll, clock, [lease("me", 2), lease("other", 2, ready="no")])
    assert beat(roll, clock, [lease("me", 3), lease("other", 3, ready="yes")])


def test_leases_of_crashed_replicas_are_to_be_removed_in_the_end() -> None:
    clock = Clock()
    roll = make(clock)
    beat(roll, clock, [lease("me", 1), lease("other", 1)])
    clock.now = SETTINGS.forget
    beat(roll, clock, [lease("me", 1), lease("other", 1)])
    assert not roll.forgotten()
    clock.now += 1
    beat(roll, clock, [lease("me", 1), lease("other", 1)])
    assert [one.metadata.name for one in roll.forgotten()] == ["other"]
