import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from nodeworthy.bus.records import MAX_RESCANS
from nodeworthy_detector.agenda import MAX_WAITING, Agenda, Allowance, Round
from nodeworthy_detector.settings import Pace

PACE = Pace(jitter=0.1, quiet=0.1, longest=0.5, burst=3, burst_seconds=6, share=0.001, busy_share=0.05)
INTERVALS = {"cpu": 600.0, "local": 60.0, "pci": 600.0, "storage": 10.0}
ALL = frozenset(INTERVALS)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agenda(clock: Clock) -> Agenda:
    """An agenda whose first round is done."""
    made = Agenda(PACE, clock, INTERVALS, jitter=lambda low, high: (low + high) / 2)
    assert made.gather() == Round(ALL)
    return made


def advance(agenda: Agenda, clock: Clock) -> Round:
    """The next round, at its time."""
    clock.now = max(clock.now, agenda.due)
    return agenda.gather()


def test_the_first_round_is_due_at_once_and_over_everything(clock: Clock) -> None:
    agenda = Agenda(PACE, clock, INTERVALS)
    assert agenda.due == clock.now
    assert agenda.gather() == Round(ALL)


def test_each_source_has_its_own_interval(agenda: Agenda, clock: Clock) -> None:
    start, looks = clock.now, dict.fromkeys(INTERVALS, 0)
    while agenda.due < start + 1201:
        for name in advance(agenda, clock).sources:
            looks[name] += 1
    # What is due within a tenth of its interval is looked at with the others.
    assert looks == {"cpu": 2, "local": pytest.approx(20, abs=3), "pci": 2, "storage": pytest.approx(120, abs=15)}


def test_sources_that_are_due_at_nearly_the_same_time_are_looked_at_together(clock: Clock) -> None:
    agenda = Agenda(PACE, clock, {"cpu": 600.0, "pci": 600.0}, jitter=lambda low, high: (low + high) / 2)
    agenda.gather()
    clock.now += 30
    agenda.note_change("cpu")
    assert advance(agenda, clock).sources == {"cpu"}
    assert advance(agenda, clock).sources == {"cpu", "pci"}


@pytest.mark.parametrize("chance", [min, max])
def test_the_timer_varies_by_its_jitter(clock: Clock, chance: Callable[[float, float], float]) -> None:
    agenda = Agenda(PACE, clock, {"local": 60.0}, jitter=chance)
    agenda.gather()
    assert agenda.due - clock.now == pytest.approx(54 if chance is min else 66)


def test_a_changed_source_is_read_after_a_moment_of_quiet(agenda: Agenda, clock: Clock) -> None:
    agenda.note_change("local")
    assert agenda.due == pytest.approx(clock.now + 0.1)
    clock.now += 0.05
    agenda.note_change("local")
    assert agenda.due == pytest.approx(clock.now + 0.1)
    assert advance(agenda, clock) == Round(frozenset({"local"}))


def test_a_long_burst_is_read_while_it_lasts(agenda: Agenda, clock: Clock) -> None:
    start = clock.now
    for _ in range(20):
        agenda.note_change("local")
        clock.now += 0.05
    assert agenda.due == pytest.approx(start + 0.5)


def test_a_thousand_changes_in_a_second_are_a_few_looks_and_the_last_is_after_the_last_change(
    agenda: Agenda, clock: Clock
) -> None:
    looks = []
    for _ in range(1000):
        agenda.note_change("pci")
        clock.now += 0.001
        if clock.now >= agenda.due:
            looks += [clock.now] * ("pci" in agenda.gather().sources)
    last_change = clock.now - 0.001
    looks.append(agenda.due)
    assert "pci" in advance(agenda, clock).sources
    assert len(looks) <= 4
    assert looks[-1] > last_change


def test_somebody_who_writes_without_end_is_read_less_and_less_often(agenda: Agenda, clock: Clock) -> None:
    looks = 0
    while clock.now < 1060:
        agenda.note_change("cpu")
        if clock.now >= agenda.due:
            looks += "cpu" in agenda.gather().sources
        clock.now += 0.05
    assert 3 + 60 / 6 - 2 <= looks <= 3 + 60 / 6 + 1


def test_a_source_that_changes_without_end_holds_up_no_other(agenda: Agenda, clock: Clock) -> None:
    for _ in range(400):
        agenda.note_change("pci")
        clock.now += 0.05
        if clock.now >= agenda.due:
            agenda.gather()
    agenda.note_change("local")
    changed = clock.now
    while "local" not in advance(agenda, clock).sources:
        pass
    assert clock.now == pytest.approx(changed + 0.1)


def test_changes_of_a_source_that_is_not_looked_at_are_nothing(agenda: Agenda) -> None:
    due = agenda.due
    agenda.note_change("usb")
    assert agenda.due == due


def test_a_request_is_answered_at_once_and_leaves_others_their_quiet(agenda: Agenda, clock: Clock) -> None:
    agenda.note_change("local")
    assert agenda.ask_rescan("a", ["pci", "usb"])
    assert agenda.due == clock.now
    assert agenda.gather() == Round(frozenset({"pci"}), ("a",))
    assert agenda.due == pytest.approx(clock.now + 0.1)


def test_a_request_without_sources_is_for_all_and_puts_the_timers_off(agenda: Agenda, clock: Clock) -> None:
    clock.now += 5
    agenda.ask_rescan("a", [])
    agenda.ask_rescan("a", [])
    assert agenda.gather() == Round(ALL, ("a",))
    assert agenda.due == clock.now + 10


def test_who_asks_without_end_gets_an_answer_less_and_less_often(clock: Clock) -> None:
    agenda = Agenda(PACE, clock, {"cpu": 600.0})
    agenda.gather()
    waits = []
    for number in range(5):
        agenda.ask_rescan(str(number), [])
        waits.append(agenda.due - clock.now)
        assert advance(agenda, clock).rescans == (str(number),)
    assert waits == [0, 0, 0, pytest.approx(6), pytest.approx(6)]


def test_more_requests_than_one_snapshot_may_answer_are_answered_by_the_next(agenda: Agenda, clock: Clock) -> None:
    names = [str(number) for number in range(MAX_RESCANS + 1)]
    for name in names:
        agenda.ask_rescan(name, ["pci"])
    assert agenda.gather().rescans == tuple(names[:-1])
    assert advance(agenda, clock) == Round(frozenset({"pci"}), (names[-1],))


def test_too_many_waiting_requests_are_refused(agenda: Agenda) -> None:
    taken = [agenda.ask_rescan(str(number), []) for number in range(MAX_WAITING + 3)]
    assert taken.count(False) == 3
    assert not taken[-1]


def test_a_look_that_costs_much_puts_the_next_one_at_that_source_off(clock: Clock) -> None:
    agenda = Agenda(PACE, clock, {"pci": 60.0, "usb": 60.0}, jitter=lambda low, high: (low + high) / 2)
    agenda.gather()
    agenda.note_look("pci", 0.005)
    assert agenda.due == clock.now + 60
    agenda.note_look("pci", 0.2)
    assert advance(agenda, clock).sources == {"usb"}
    clock.now = 1000 + 200
    assert agenda.gather().sources == {"pci", "usb"}


def test_a_look_that_costs_much_is_not_made_at_every_change(agenda: Agenda, clock: Clock) -> None:
    agenda.note_look("pci", 1.0)
    agenda.note_change("pci")
    looked = clock.now
    while "pci" not in advance(agenda, clock).sources:
        pass
    assert clock.now == pytest.approx(looked + 1.0 / PACE.busy_share)


@pytest.mark.parametrize(("expires_in", "due"), [(5.0, 5.1), (-3.0, 0.1), (700.0, 600.0)])
def test_what_expires_is_looked_at_again_right_after(clock: Clock, expires_in: float, due: float) -> None:
    agenda = Agenda(PACE, clock, {"local": 600.0}, jitter=lambda low, high: (low + high) / 2)
    agenda.gather()
    agenda.note_look("local", 0.0, expires_in)
    assert agenda.due == pytest.approx(clock.now + due)


def test_a_shorter_interval_holds_at_once_and_a_longer_one_from_the_next_look(agenda: Agenda, clock: Clock) -> None:
    agenda.set_intervals({"cpu": 600.0, "pci": 10.0})
    assert agenda.due == pytest.approx(clock.now + 10)
    agenda.set_intervals({"cpu": 600.0, "pci": 600.0})
    assert agenda.due == pytest.approx(clock.now + 10)
    assert advance(agenda, clock).sources == {"pci"}
    assert agenda.due == pytest.approx(1000 + 600)


def test_a_source_that_is_new_is_due_at_once_and_one_that_is_gone_no_more(agenda: Agenda, clock: Clock) -> None:
    agenda.ask_rescan("a", ["storage"])
    agenda.set_intervals({"cpu": 600.0, "usb": 600.0})
    assert agenda.due == clock.now
    assert agenda.gather() == Round(frozenset({"usb"}), ("a",))
    assert agenda.intervals == {"cpu": 600.0, "usb": 600.0}


def test_without_sources_nothing_is_ever_due(clock: Clock) -> None:
    assert Agenda(PACE, clock, {}).due == float("inf")


async def test_waiting_ends_when_a_request_comes() -> None:
    loop = asyncio.get_running_loop()
    agenda = Agenda(PACE, loop.time, {"cpu": 600.0})
    await agenda.take()
    loop.call_soon(agenda.ask_rescan, "a", ())
    async with asyncio.timeout(5):
        assert await agenda.take() == Round(frozenset({"cpu"}), ("a",))


async def test_waiting_ends_when_changes_have_settled() -> None:
    loop = asyncio.get_running_loop()
    agenda = Agenda(PACE, loop.time, {"local": 600.0})
    await agenda.take()
    start = loop.time()
    loop.call_soon(agenda.note_change, "local")
    async with asyncio.timeout(5):
        assert await agenda.take() == Round(frozenset({"local"}))
    assert loop.time() - start >= 0.1


async def test_waiting_without_sources_ends_when_there_are_some() -> None:
    loop = asyncio.get_running_loop()
    agenda = Agenda(PACE, loop.time, {})
    loop.call_soon(agenda.set_intervals, {"cpu": 600.0})
    async with asyncio.timeout(5):
        assert await agenda.take() == Round(frozenset({"cpu"}))


def test_an_allowance_refills_up_to_its_burst() -> None:
    allowance = Allowance(2, 10)
    assert [allowance.take(0) for _ in range(4)] == [0, 0, 10, 20]
    assert [allowance.take(1000) for _ in range(3)] == [1000, 1000, 1010]
