"""Who serves which node, with a clock of the test's own."""

import pytest

from nodeworthy_labeler.members import ENGINE, MAX_MEMBERS, Beat, Members, owner_of
from nodeworthy_labeler.settings import Membership

NAMES = [f"node-{number}" for number in range(2000)]


class World:
    """Labelers that hear every beat, and a clock."""

    def __init__(self, *names: str) -> None:
        self.now = 0.0
        self.members = {name: Members(name, lambda: self.now, Membership()) for name in names}
        for one in self.members.values():
            one.is_ready = True

    def beat(self, sender: str, *hearers: str, leaves: bool = False) -> None:
        beat = self.members[sender].make_beat(leaves=leaves)
        for name in hearers or self.members:
            self.members[name].hear(beat)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for one in self.members.values():
            one.expire()


def owners(world: World, name: str) -> tuple[str, ...]:
    """Who shares the nodes, as this labeler knows it."""
    return world.members[name].owners


def beat_of(sender: str, *, engine: int = ENGINE, is_ready: bool = True) -> Beat:
    return Beat(sender=sender, number=1, engine=engine, is_ready=is_ready)


def test_every_name_has_one_owner_and_all_have_about_the_same_share() -> None:
    members = ("a", "b", "c", "d")
    shares = [sum(owner_of(name, members) == member for name in NAMES) for member in members]
    assert sum(shares) == len(NAMES)
    assert min(shares) > 400


def test_when_a_member_goes_only_its_names_move() -> None:
    for name in NAMES:
        if owner_of(name, ("a", "b", "c")) != "b":
            assert owner_of(name, ("a", "c")) == owner_of(name, ("a", "b", "c"))


def test_nobody_owns_anything_where_there_is_nobody() -> None:
    assert owner_of("node-1", ()) == ""
    assert not Members("a", lambda: 0.0, Membership()).is_mine("node-1")


def test_a_labeler_counts_itself_only_when_it_has_heard_itself() -> None:
    world = World("a", "b")
    world.beat("a", "b")
    assert (owners(world, "a"), owners(world, "b")) == ((), ("a",))
    assert not world.members["a"].has_lease(0)
    world.beat("a")
    assert owners(world, "a") == ("a",)
    assert world.members["a"].has_lease(10)


def test_a_lease_begins_when_the_beat_was_sent_and_not_when_it_came_back() -> None:
    world = World("a")
    beat = world.members["a"].make_beat()
    world.now = 4
    world.members["a"].hear(beat)
    assert world.members["a"].has_lease(6)
    assert not world.members["a"].has_lease(6.1)


def test_a_lease_ends_before_others_take_the_nodes() -> None:
    world = World("a", "b")
    world.beat("a")
    world.beat("b")
    for _ in range(3):
        world.wait(3)
        world.beat("b")
    assert owners(world, "b") == ("a", "b")
    world.wait(1.1)
    assert not world.members["a"].has_lease(0)
    assert owners(world, "b") == ("b",)


def test_who_does_not_hear_itself_does_not_take_others_for_gone() -> None:
    world = World("a", "b")
    world.beat("a")
    world.beat("b")
    world.wait(60)
    assert owners(world, "a") == ("a", "b")
    world.beat("a", "a")
    world.wait(1)
    assert owners(world, "a") == ("a", "b")
    world.wait(6)
    assert owners(world, "a") == ("a",)


def test_an_own_beat_of_an_earlier_run_or_twice_gives_no_lease() -> None:
    world = World("a")
    world.members["a"].hear(beat_of("a"))
    assert not world.members["a"].has_lease(0)
    beat = world.members["a"].make_beat()
    world.members["a"].hear(beat)
    world.now = 20
    world.members["a"].hear(beat)
    assert not world.members["a"].has_lease(0)


def test_who_leaves_is_gone_at_once() -> None:
    world = World("a", "b")
    world.beat("a")
    world.beat("b")
    world.beat("a", leaves=True)
    assert owners(world, "b") == ("b",)


def test_nodes_belong_to_ready_members_of_the_newest_engine() -> None:
    world = World("a")
    world.beat("a")
    world.members["a"].hear(beat_of("newer", engine=ENGINE + 1, is_ready=False))
    assert owners(world, "a") == ("a",)
    world.members["a"].hear(beat_of("newer", engine=ENGINE + 1))
    assert owners(world, "a") == ("newer",)
    world.members["a"].hear(beat_of("older", engine=ENGINE - 1))
    assert owners(world, "a") == ("newer",)


def test_gained_are_the_names_that_belonged_to_somebody_else() -> None:
    world = World("a")
    world.beat("a")
    everything = world.members["a"].gained(NAMES, ())
    assert everything == NAMES
    assert world.members["a"].gained(NAMES, ("a",)) == []
    gained = world.members["a"].gained(NAMES, ("a", "b"))
    assert gained == [name for name in NAMES if owner_of(name, ("a", "b")) == "b"]


def test_only_a_new_labeler_asks_for_an_answer() -> None:
    world = World("a")
    assert world.members["a"].make_beat().joins
    world.beat("a")
    assert not world.members["a"].make_beat().joins


def test_more_members_than_a_cluster_has_are_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    world = World("a")
    for number in range(MAX_MEMBERS + 1):
        world.members["a"].hear(beat_of(f"m{number}"))
    assert len(world.members["a"]) == MAX_MEMBERS
    assert "labeler.too_many_members" in caplog.text
