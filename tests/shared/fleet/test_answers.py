import numpy as np
import pytest

from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.fleet.answers import AnswerMemo, KeyedTerm, TermAnswers, ask_defaults, key_term
from nodeworthy.fleet.contents import DEFAULTS, Contents, Space
from nodeworthy.rules import Answer, Expression, Operator, Outcome, Term, compile_term

TOO_LARGE = {"x": Expression(Operator.GT, ("5",))}


def keyed(name: str = "x", operator: Operator = Operator.EXISTS) -> KeyedTerm:
    return key_term(compile_term(Term("lab.a", {name: Expression(operator)})))


def filled(*values: str) -> tuple[Contents, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    contents = Contents(Space(100_000))
    numbers = [contents.intern(Lookup(SetState.PRESENT, FeatureSet(attributes={"x": value}), "")) for value in values]
    for number in numbers:
        contents.hold(number)
    return contents, np.array(numbers, np.intp)


def memo(*, max_bytes: int = 1_000_000, max_asks: int = 1_000) -> AnswerMemo:
    return AnswerMemo(max_bytes=max_bytes, max_asks=max_asks)


def test_terms_written_alike_share_answers_and_others_do_not() -> None:
    assert keyed().key == keyed().key
    assert len({keyed().key, keyed("y").key, keyed(operator=Operator.DOES_NOT_EXIST).key}) == 3


def test_a_term_is_asked_once_of_each_content() -> None:
    contents, numbers = filled("1", "2", "3")
    one = memo()
    for _ in range(3):
        [answers] = one.ask("lab.a", contents, [keyed()], numbers)
    assert one.asked == 3
    assert answers.codes[numbers].tolist() == [1, 1, 1]


def test_a_number_that_was_given_again_is_asked_again() -> None:
    contents, numbers = filled("1")
    one = memo()
    one.ask("lab.a", contents, [keyed()], numbers)
    contents.release(int(numbers[0]))
    new = contents.intern(Lookup(SetState.PRESENT, FeatureSet(attributes={}), ""))
    assert new == numbers[0]
    [answers] = one.ask("lab.a", contents, [keyed()], numbers)
    assert answers.codes[numbers].tolist() == [0]


def test_a_set_whose_contents_began_anew_is_asked_anew() -> None:
    one = memo()
    contents, numbers = filled("1")
    one.ask("lab.a", contents, [keyed()], numbers)
    fresh, again = filled("y")
    assert again.tolist() == numbers.tolist()
    [answers] = one.ask("lab.a", fresh, [key_term(compile_term(Term("lab.a", TOO_LARGE)))], again)
    assert answers.answers[answers.codes[again[0]]].outcome is Outcome.ERROR
    one.ask("lab.a", fresh, [keyed()], again)
    assert one.asked == 3


def test_the_memo_forgets_what_was_wanted_longest_ago_beyond_its_bytes() -> None:
    contents, numbers = filled("1", "2")
    one = memo(max_bytes=4_000)
    first, second, third = keyed("a"), keyed("b"), keyed("c")
    for term in (first, second, first, third):
        one.ask("lab.a", contents, [term], numbers)
    assert one.asked == 6
    one.ask("lab.a", contents, [first], numbers)
    assert one.asked == 6
    one.ask("lab.a", contents, [second], numbers)
    assert one.asked == 8
    assert one._used <= 4_000


def test_a_question_larger_than_the_memo_is_answered_all_the_same() -> None:
    contents, numbers = filled("1", "2")
    [first, second] = memo(max_bytes=10).ask("lab.a", contents, [keyed(), keyed("y")], numbers)
    assert (first.codes[numbers].tolist(), second.codes[numbers].tolist()) == ([1, 1], [0, 0])


def test_answers_with_other_reasons_have_other_codes_up_to_a_limit() -> None:
    answers = TermAnswers()
    codes = [answers.code(Answer(Outcome.ERROR, f"value {number}")) for number in range(2_000)]
    assert len(set(codes)) < 1_001
    assert codes[0] != codes[1]
    assert answers.answers[codes[0]] == Answer(Outcome.ERROR, "value 0")
    assert answers.answers[codes[-1]].outcome is Outcome.ERROR
    assert "ask this node alone" in answers.answers[codes[-1]].reason
    assert answers.answers[answers.code(Answer(Outcome.UNKNOWN, "new"))].outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("operator", [Operator.EXISTS, Operator.DOES_NOT_EXIST])
def test_a_set_without_a_column_is_answered_by_what_it_is_then(operator: Operator) -> None:
    [answers] = ask_defaults([keyed(operator=operator)])
    outcomes = [answers.answers[code].outcome for code in answers.codes]
    assert outcomes == [Outcome.FALSE, *[Outcome.UNKNOWN] * (len(DEFAULTS) - 1)]


def test_terms_that_were_asked_of_other_contents_are_each_asked_of_what_is_missing() -> None:
    contents, numbers = filled("1", "2", "3", "4")
    one = memo()
    one.ask("lab.a", contents, [keyed("x")], numbers[:1])
    one.ask("lab.a", contents, [keyed("y")], numbers[1:3])
    has_x, has_y = one.ask("lab.a", contents, [keyed("x"), keyed("y")], numbers)
    assert (has_x.fresh, has_y.fresh, one.asked) == (3, 2, 8)
    assert has_x.codes[numbers].tolist() == [1] * 4
    assert has_y.codes[numbers].tolist() == [0] * 4
