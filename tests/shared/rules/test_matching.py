import pytest

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.rules import Expression, Operator, Outcome, Term, compile_term
from nodeworthy.rules.matching import term_elements

EXISTS = Expression(Operator.EXISTS)
FLAGS = FeatureSet(flags=frozenset({"AVX", "AVX2"}))
IN_TRUE = Expression(Operator.IN, ("true",), reads_flags=True)
IN_FALSE = Expression(Operator.IN, ("false",), reads_flags=True)


def holds(content: FeatureSet, **expressions: Expression) -> bool:
    return compile_term(Term("lab.x", expressions)).holds(content)


def test_a_set_that_is_not_there_fails_and_one_that_nobody_knows_is_unknown() -> None:
    term = compile_term(Term("lab.x", {"a": Expression(Operator.DOES_NOT_EXIST)}))
    assert term.answer(Lookup(SetState.ABSENT, None, "")).outcome is Outcome.FALSE
    answer = term.answer(Lookup(SetState.UNKNOWN, None, "permission denied"))
    assert answer == (Outcome.UNKNOWN, "lab.x is not known: permission denied", "")


def test_a_question_that_cannot_be_asked_is_an_error_with_its_reason() -> None:
    term = compile_term(Term("lab.x", {"a": Expression(Operator.GT, ("4",))}))
    answer = term.answer(Lookup(SetState.PRESENT, FeatureSet(attributes={"a": "abc"}), ""))
    assert answer.outcome is Outcome.ERROR
    assert answer.reason == "lab.x: 'abc' is not a whole number"


def test_e3_the_operator_as_a_key_reads_a_flag_as_true_or_false() -> None:
    assert holds(FLAGS, AVX=IN_TRUE)
    assert not holds(FLAGS, SSE=IN_TRUE)
    assert holds(FLAGS, SSE=IN_FALSE)
    assert not holds(FLAGS, AVX=IN_FALSE)
    assert not holds(FLAGS, AVX=Expression(Operator.NOT_IN, ("true",), reads_flags=True))
    assert holds(FLAGS, AVX=Expression(Operator.IS_TRUE, reads_flags=True))


def test_the_operator_as_a_key_reads_the_value_where_there_is_one() -> None:
    attributes = FeatureSet(attributes={"enabled": "false"})
    assert holds(attributes, enabled=IN_FALSE)
    assert not holds(attributes, other=IN_FALSE)
    both = FeatureSet(flags=frozenset({"AVX"}), attributes={"AVX10_VERSION": "1"})
    assert not holds(both, AVX10_VERSION=IN_FALSE)
    assert holds(FeatureSet(instances=({"vendor": "true"},)), vendor=IN_TRUE)


def test_a_matched_flag_read_as_text_is_an_element() -> None:
    term = compile_term(Term("lab.x", {"AVX": IN_TRUE, "SSE": IN_FALSE}))
    assert term_elements(term, FLAGS) == [{"Name": "AVX"}, {"Name": "SSE"}]


def test_instances_are_asked_one_by_one() -> None:
    devices = FeatureSet(instances=({"a": "1", "b": "2"}, {"a": "3", "b": "4"}))
    one, four = Expression(Operator.IN, ("1",)), Expression(Operator.IN, ("4",))
    assert not holds(devices, a=one, b=four)
    assert holds(devices, a=one, b=EXISTS)


def test_an_instance_with_a_bad_value_is_an_error_also_behind_one_that_matches() -> None:
    devices = FeatureSet(instances=({"rpm": "900"}, {"rpm": "unknown"}))
    with pytest.raises(RuleError, match="'unknown' is not a whole number"):
        holds(devices, rpm=Expression(Operator.GT, ("100",)))


def test_a_bad_value_is_an_error_each_time_and_only_where_it_is_reached() -> None:
    term = compile_term(Term("lab.x", {"k": Expression(Operator.IN_REGEXP, ("(",))}))
    assert not term.holds(FeatureSet(attributes={}))
    assert not term.holds(FLAGS)
    for _ in range(2):
        with pytest.raises(RuleError) as caught:
            term.holds(FeatureSet(attributes={"k": "v"}))
        assert caught.value.todo


BROKEN = Expression(Operator.EXISTS, ("1",))


def test_a_question_with_bad_values_is_an_error_also_for_instances_that_lack_its_attribute() -> None:
    content = FeatureSet(instances=({"b": "1"}, {"a": "1"}))
    with pytest.raises(RuleError, match="wants no value"):
        holds(content, a=BROKEN)


def test_of_instances_those_are_matched_that_satisfy_every_expression() -> None:
    instances = ({"a": "1", "b": "2"}, {"a": "1"}, {"b": "2"}, {"a": "3", "b": "2"})
    term = compile_term(Term("lab.x", {"a": Expression(Operator.IN, ("1", "3")), "b": EXISTS}))
    assert term.matching_instances(FeatureSet(instances=instances)) == [instances[0], instances[3]]


@pytest.mark.parametrize("content", [FLAGS, FeatureSet(attributes={"AVX2": ""}), FeatureSet(instances=({"AVX2": ""},))])
@pytest.mark.parametrize(
    "expression",
    [
        Expression(Operator.IN, ("AVX2",)),
        Expression(Operator.IN_REGEXP, ("^nothing", "X2$")),
        Expression(Operator.IN_REGEXP, ("^AVX[0-9]$",)),
        Expression(Operator.NOT_IN, ("AVX",)),
    ],
)
def test_a_name_is_found_among_flags_attributes_and_attributes_of_instances(
    content: FeatureSet, expression: Expression
) -> None:
    assert compile_term(Term("lab.x", None, expression)).holds(content)
    assert not compile_term(Term("lab.x", None, expression)).holds(FeatureSet(flags=frozenset({"AVX"})))
