import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from nodeworthy.bus.records import MAX_RESCANS
from nodeworthy_detector.agenda import MAX_WAITING, Agenda, Allowance, Round
from nodeworthy_detector.settings import Pace

PACE = Pace(seconds=60, jitter=0.1, quiet=0.1, longest=0.5, burst=3, burst_seconds=6, share=0.001)


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
    made = Agenda(PACE, clock, jitter=lambda low, high: (low + high) / 2)
    assert made.gather() == Round(None)
    return made


def test_the_first_round_is_due_at_once_and_over_everything(clock: Clock) -> None:
    agenda = Agenda(PACE, clock)
    assert agenda.due == clock.now
    assert agenda.gather() == Round(None)


@pytest.mark.parametrize("chance", [min, max])
def test_the_timer_varies_by_its_jitter(clock: Clock, chance: Callable[[float, float], float]) -> None:
    agenda = Agenda(PACE, clock, jitter=chance)
    agenda.gather()
    assert agenda.due - clock.now == pytest.approx(54 if chance is min else 66)


def test_a_changed_file_is_read_after_a_moment_of_quiet(agenda: Agenda, clock: Clock) -> None:
    agenda.note_change("local")
    assert agenda.due == pytest.approx(clock.now + 0.1)
    clock.now += 0.05
    agenda.note_change("local")
    assert agenda.due == pytest.approx(clock.now + 0.1)
    assert agenda.gather() == Round(frozenset({"local"}))


def test_a_long_burst_is_read_while_it_lasts(agenda: Agenda, clock: Clock) -> None:
    start = clock.now
    for _ in range(20):
        agenda.note_change("local")
        clock.now += 0.05
    assert agenda.due == pytest.approx(start + 0.5)


def test_somebody_who_writes_without_end_is_read_less_and_less_often(agenda: Agenda, clock: Clock) -> None:
    rounds = []
    while clock.now < 1060:
        agenda.note_change("local")
        if clock.now >= agenda.due:
            rounds.append(agenda.gather())
        clock.now += 0.05
    assert 3 + 60 / 6 - 2 <= len(rounds) <= 3 + 60 / 6 + 1


def test_a_request_is_answered_at_once_and_takes_waiting_changes_along(agenda: Agenda, clock: Clock) -> None:
    agenda.note_change("local")
    assert agenda.ask_rescan("a", ["pci"])
    assert agenda.due == clock.now
    assert agenda.gather() == Round(frozenset({"local", "pci"}), ("a",))
    assert agenda.due > clock.now + 50


def test_a_request_without_sources_is_for_all_and_puts_the_timer_off(agenda: Agenda, clock: Clock) -> None:
    clock.now += 30
    agenda.ask_rescan("a", [])
    agenda.ask_rescan("a", [])
    assert agenda.gather() == Round(None, ("a",))
    assert agenda.due == clock.now + 60


def test_who_asks_without_end_gets_an_answer_less_and_less_often(agenda: Agenda, clock: Clock) -> None:
    waits = []
    for number in range(5):
        agenda.ask_rescan(str(number), [])
        waits.append(agenda.due - clock.now)
        clock.now = agenda.due
        agenda.gather()
    assert waits == [0, 0, 0, pytest.approx(6), pytest.approx(6)]


def test_more_requests_than_one_snapshot_may_answer_are_answered_by_the_next(agenda: Agenda) -> None:
    names = [str(number) for number in range(MAX_RESCANS + 1)]
    for name in names:
        agenda.ask_rescan(name, ["pci"])
    assert agenda.gather().rescans == tuple(names[:-1])
    assert agenda.gather().rescans == (names[-1],)


def test_too_many_waiting_requests_are_refused(agenda: Agenda) -> None:
    taken = [agenda.ask_rescan(str(number), []) for number in range(MAX_WAITING + 3)]
    assert taken.count(False) == 3
    assert not taken[-1]


def test_a_look_that_costs_much_puts_the_next_one_off(agenda: Agenda, clock: Clock) -> None:
    agenda.postpone(0.005)
    assert agenda.due == clock.now + 60
    agenda.postpone(0.2)
    assert agenda.due == pytest.approx(clock.now + 200)


async def test_waiting_ends_when_a_request_comes() -> None:
    loop = asyncio.get_running_loop()
    agenda = Agenda(PACE, loop.time)
    await agenda.take()
    loop.call_soon(agenda.ask_rescan, "a", ())
    async with asyncio.timeout(5):
        assert await agenda.take() == Round(None, ("a",))


async def test_waiting_ends_when_files_have_settled() -> None:
    loop = asyncio.get_running_loop()
    agenda = Agenda(PACE, loop.time)
    await agenda.take()
    start = loop.time()
    loop.call_soon(agenda.note_change, "local")
    async with asyncio.timeout(5):
        assert await agenda.take() == Round(frozenset({"local"}))
    assert loop.time() - start >= 0.1


def test_an_allowance_refills_up_to_its_burst() -> None:
    allowance = Allowance(2, 10)
    assert [allowance.take(0) for _ in range(4)] == [0, 0, 10, 20]
    assert [allowance.take(1000) for _ in range(3)] == [1000, 1000, 1010]
