import logging

from nodeworthy.processes.repeats import ABOUT, MAX_ABOUTS, REPEATED, SILENCE_SECONDS, Repeats


def is_written(repeats: Repeats, time: float, about: str = "", event: str = "bus.bad_request") -> int | None:
    """How many lines a line tells of that were not written; ``None``: it is not written itself."""
    record = logging.LogRecord("nodeworthy.bus", logging.WARNING, "", 0, event, None, None)
    record.created = time
    setattr(record, ABOUT, about)
    return getattr(record, REPEATED, 0) if repeats.filter(record) else None


def test_a_thousand_lines_about_one_thing_are_one_line_and_a_count() -> None:
    repeats = Repeats()
    written = [is_written(repeats, time / 100, "resync.n1") for time in range(1000)]
    assert written == [0] + [None] * 999
    assert is_written(repeats, SILENCE_SECONDS, "resync.n1") == 999
    assert is_written(repeats, 2 * SILENCE_SECONDS, "resync.n1") == 0


def test_lines_about_nothing_are_always_written() -> None:
    repeats = Repeats()
    assert [is_written(repeats, 1) for _ in range(5)] == [0] * 5


def test_another_event_and_another_thing_are_lines_of_their_own() -> None:
    repeats = Repeats()
    assert [is_written(repeats, 1, about) for about in ("n1", "n2", "n1")] == [0, 0, None]
    assert is_written(repeats, 1, "n1", event="bus.bad_snapshot") == 0


def test_a_thousand_things_give_a_bounded_number_of_lines_and_the_last_one_tells_of_all_others() -> None:
    repeats = Repeats()
    written = [is_written(repeats, 1, f"n{number}") for number in range(1000)]
    assert written.count(0) == MAX_ABOUTS + 1
    assert is_written(repeats, 1 + SILENCE_SECONDS / 2, "n999") is None
    for number in range(MAX_ABOUTS):  # still loud, so that there is no room
        is_written(repeats, 1 + SILENCE_SECONDS, f"n{number}")
    assert is_written(repeats, 1 + SILENCE_SECONDS, "n999") == 1000 - MAX_ABOUTS


def test_things_that_went_quiet_make_room_for_others() -> None:
    repeats = Repeats()
    for number in range(MAX_ABOUTS):
        is_written(repeats, 1, f"n{number}")
    assert [is_written(repeats, 1 + SILENCE_SECONDS, f"m{number}") for number in range(3)] == [0, 0, 0]


def test_a_clock_that_was_set_back_silences_nothing() -> None:
    repeats = Repeats()
    assert is_written(repeats, 10_000, "n1") == 0
    assert is_written(repeats, 1, "n1") == 0
