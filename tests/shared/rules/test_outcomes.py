from collections.abc import Iterable, Iterator
from itertools import product

import pytest

from nodeworthy.rules.outcomes import FAILS, HOLDS, Answer, Outcome, all_hold, any_holds

UNKNOWN = Answer(Outcome.UNKNOWN, "not known")
ERROR = Answer(Outcome.ERROR, "no number")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], HOLDS),
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, FAILS], FAILS),
        ([UNKNOWN, FAILS], FAILS),
        ([UNKNOWN, HOLDS], UNKNOWN),
        ([ERROR, FAILS], ERROR),
        ([FAILS, ERROR], FAILS),
        ([UNKNOWN, ERROR], UNKNOWN),
    ],
)
def test_and_of_four_values(answers: list[Answer], expected: Answer) -> None:
    assert all_hold(answers) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], FAILS),
        ([FAILS, FAILS], FAILS),
        ([FAILS, HOLDS], HOLDS),
        ([UNKNOWN, HOLDS], HOLDS),
        ([UNKNOWN, FAILS], UNKNOWN),
        ([ERROR, HOLDS], ERROR),
        ([HOLDS, ERROR], HOLDS),
        ([UNKNOWN, ERROR], UNKNOWN),
    ],
)
def test_or_of_four_values(answers: list[Answer], expected: Answer) -> None:
    assert any_holds(answers) == expected


def counted(answers: Iterable[Answer], asked: list[Answer]) -> Iterator[Answer]:
    for answer in answers:
        asked.append(answer)
        yield answer


def test_no_more_is_asked_than_is_needed() -> None:
    asked: list[Answer] = []
    all_hold(counted([HOLDS, FAILS, HOLDS], asked))
    assert asked == [HOLDS, FAILS]
    asked.clear()
    any_holds(counted([UNKNOWN, HOLDS, FAILS], asked))
    assert asked == [UNKNOWN, HOLDS]


def test_what_is_certain_in_spite_of_unknowns_stays_so_when_they_are_known() -> None:
    for answers in product([HOLDS, FAILS, UNKNOWN], repeat=3):
        for combine in (all_hold, any_holds):
            result = combine(answers)
            if result is UNKNOWN:
                continue
            filled = product(*([HOLDS, FAILS] if answer is UNKNOWN else [answer] for answer in answers))
            assert {combine(known) for known in filled} == {result}
