import pytest

from nodeworthy.errors import RuleError
from nodeworthy.rules import Expression, Operator
from nodeworthy.rules.operators import compile_expression, value_error


def test_several_patterns_are_alternatives() -> None:
    test = compile_expression(Expression(Operator.IN_REGEXP, ("^a", "b$", "x[0-9]"))).test
    assert [test(text) for text in ("ax", "xb", "x1", "xx")] == [True, True, True, False]


def test_version_ranges_may_be_empty() -> None:
    test = compile_expression(Expression(Operator.GE_LE, ("2", "1"), "version")).test
    assert not test("1.5")


def test_only_questions_of_numbers_and_versions_can_fail_on_a_good_expression() -> None:
    values = {Operator.GT_LT: ("1", "2"), Operator.GE_LE: ("1", "2"), Operator.ANY: (), Operator.EXISTS: ()}
    values |= {Operator.DOES_NOT_EXIST: (), Operator.IS_TRUE: (), Operator.IS_FALSE: ()}
    fallible = {
        operator
        for operator in Operator
        if compile_expression(Expression(operator, values.get(operator, ("1",)))).fallible
    }
    numbers = {Operator.GT, Operator.GE, Operator.LT, Operator.LE, Operator.GT_LT, Operator.GE_LE}
    assert fallible == numbers


def test_a_question_for_presence_with_a_value_is_broken_wherever_it_is_reached() -> None:
    broken = compile_expression(Expression(Operator.EXISTS, ("x",))).broken
    assert isinstance(broken, RuleError)
    assert compile_expression(Expression(Operator.IN)).broken is None


@pytest.mark.parametrize(
    "operator", [one for one in Operator if one not in (Operator.IN, Operator.NOT_IN, Operator.IN_REGEXP)]
)
def test_a_wrong_number_of_values_is_told_with_the_right_one(operator: Operator) -> None:
    assert "wants" in str(value_error(Expression(operator, ("1", "2", "3"))))


@pytest.mark.parametrize("operator", [Operator.IN, Operator.NOT_IN, Operator.IN_REGEXP])
def test_a_list_of_alternatives_must_not_be_empty(operator: Operator) -> None:
    assert "at least one value" in str(value_error(Expression(operator)))
    assert value_error(Expression(operator, ("1", "2", "3"))) is None
