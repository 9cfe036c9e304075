"""The functions: which there are, which are refused, and that each says what it takes."""

import re
from pathlib import Path

from nodeworthy.rules.templating.functions import FUNCTIONS, refusal
from nodeworthy.rules.templating.moments import Moment
from nodeworthy.rules.templating.signatures import signature_of
from nodeworthy.rules.templating.values import AnyDict

ANSWERS = (Path(__file__).parent / "answers.jsonl").read_text()


def test_no_function_is_both_there_and_refused() -> None:
    assert not [name for name in FUNCTIONS if refusal(name)]


def test_every_parameter_has_a_type_that_arguments_are_checked_against() -> None:
    known = {str, int, bool, float, object, AnyDict, Moment}
    for name, function in FUNCTIONS.items():
        signature = signature_of(function)
        assert {*signature.fixed, *filter(None, [signature.rest])} <= known, name


def test_every_function_has_a_recorded_answer_of_go() -> None:
    assert [name for name in FUNCTIONS if not re.search(rf"\b{name}\b", ANSWERS)] == []
