"""Replies within their size, and what many answers make together."""

import msgspec
import pytest

from nodeworthy.bus.requests import NodeGroup, Require
from nodeworthy.verdicts import Answer, Finding, State, Verdict
from nodeworthy_validator.replies import Budget, fitting, json_size, overall, shorten_group, shorten_verdict

YES, NO, UNKNOWN, DEFECT = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT


@pytest.mark.parametrize(
    ("counts", "undecided", "any_", "all_"),
    [
        ({}, 0, UNKNOWN, UNKNOWN),
        ({}, 1, UNKNOWN, UNKNOWN),
        ({YES: 2}, 0, YES, YES),
        ({YES: 2}, 1, YES, UNKNOWN),
        ({NO: 2}, 0, NO, NO),
        ({NO: 2}, 1, UNKNOWN, NO),
        ({UNKNOWN: 1}, 0, UNKNOWN, UNKNOWN),
        ({YES: 1, NO: 1}, 0, YES, NO),
        ({YES: 1, UNKNOWN: 1}, 0, YES, UNKNOWN),
        ({NO: 1, UNKNOWN: 1}, 0, UNKNOWN, NO),
        ({DEFECT: 1}, 0, DEFECT, DEFECT),
        ({DEFECT: 1, NO: 1}, 0, NO, NO),
        ({DEFECT: 1, YES: 1}, 0, YES, DEFECT),
    ],
)
def test_many_answers_make_one(counts: dict[Answer, int], undecided: int, any_: Answer, all_: Answer) -> None:
    assert overall(counts, Require.ANY, undecided=undecided) is any_
    assert overall(counts, Require.ALL, undecided=undecided) is all_


def test_a_verdict_that_is_too_large_keeps_its_answer_and_says_what_is_left_out() -> None:
    findings = tuple(Finding(f"c{number}", State.MET, "x" * 100) for number in range(100))
    verdict = Verdict("i", "n", YES, "r" * 5000, findings=findings)
    assert shorten_verdict(verdict, 100_000) is verdict
    short = shorten_verdict(verdict, 5000)
    assert json_size(short) < 2000
    assert (short.verdict, short.findings) == (YES, ())
    assert "left out" in short.notices[0]


def test_a_page_ends_where_it_is_full() -> None:
    items = ["x" * 98] * 10
    assert len(list(fitting(items, Budget(350), 10))) == 3
    assert len(list(fitting(items, Budget(10_000), 4))) == 4
    assert len(msgspec.json.encode(items[:3])) <= 350


def test_the_reason_of_a_group_fits_a_line() -> None:
    assert len(shorten_group(NodeGroup(NO, "é" * 10_000, 1)).reason) == 500
