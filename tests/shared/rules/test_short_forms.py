import pytest

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules import Expression, Operator
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.short_forms import read_expression, read_expressions, write_expression
from nodeworthy.rules.trees import MappingNode
from nodeworthy.rules.yaml_reader import read_yaml


def read(text: str) -> tuple[Expression, Findings]:
    findings = Findings("file")
    return read_expression(read_yaml(text, findings), "x", findings), findings


def refusal(findings: Findings) -> tuple[Problem, ...]:
    with pytest.raises(DocumentError) as caught:
        findings.refuse(strict=False)
    return caught.value.problems


IN = Operator.IN


@pytest.mark.parametrize(
    ("written", "expression", "long_form"),
    [
        ("~", Expression(Operator.EXISTS), "{op: Exists}"),
        ("10de", Expression(IN, ("10de",)), '{op: In, value: ["10de"]}'),
        ("true", Expression(IN, ("true",)), '{op: In, value: ["true"]}'),
        ("[a, 1.50]", Expression(IN, ("a", "1.5")), '{op: In, value: ["a", "1.5"]}'),
        ('{in: ["true"]}', Expression(IN, ("true",), reads_flags=True), "for a flag it is {op: Exists}"),
        ("{In: no}", Expression(IN, ("false",), reads_flags=True), "for a flag it is {op: DoesNotExist}"),
        ("{notIn: [a]}", Expression(Operator.NOT_IN, ("a",), reads_flags=True), '{op: NotIn, value: ["a"]}'),
        ("{exists: true}", Expression(Operator.EXISTS), "{op: Exists}"),
        ("{exists: false}", Expression(Operator.DOES_NOT_EXIST), "{op: DoesNotExist}"),
        ("{isTrue: }", Expression(Operator.IS_TRUE, reads_flags=True), "{op: IsTrue}"),
        (
            "{ge: '5.15', type: version}",
            Expression(Operator.GE, ("5.15",), "version"),
            '{op: Ge, value: ["5.15"], type: version}',
        ),
    ],
)
def test_a_short_form_is_read_with_one_notice_of_the_long_form(
    written: str, expression: Expression, long_form: str
) -> None:
    read_as, findings = read(written)
    assert read_as == expression
    (notice,) = [notice for notice in findings.notices if "short form" in notice.message]
    assert notice.hint.endswith(long_form)
    assert not findings.problems


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ('{op: In, value: ["a"]}', Expression(IN, ("a",))),
        ("{OP: Exists, value: }", Expression(Operator.EXISTS)),
        ("{op: Ge, value: [1.2], type: version}", Expression(Operator.GE, ("1.2",), "version")),
        ("{op: In, value: [~]}", Expression(IN, ("",))),
    ],
)
def test_the_full_form_is_read_without_a_notice(written: str, expression: Expression) -> None:
    read_as, findings = read(written)
    assert read_as == expression
    assert not findings.notices
    assert not findings.problems


def test_a_value_that_is_no_list_is_a_list_of_one() -> None:
    read_as, findings = read("{op: In, value: 10de}")
    assert read_as == Expression(IN, ("10de",))
    assert [notice.path for notice in findings.notices] == ["x.value"]


@pytest.mark.parametrize("written", ["{}", "{op: ~}", "{op: ''}"])
def test_an_expression_that_says_nothing_is_always_true_as_in_nfd_and_reported(written: str) -> None:
    read_as, findings = read(written)
    assert read_as == Expression(Operator.ANY)
    assert "always true" in findings.notices[0].message


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        ("{values: [a]}", "x.values", "no op"),
        ("{in: [a], gt: 5}", "x.in", "no op"),
        ("{in: [a], value: [b]}", "x.in", "no op"),
        ("{op: Equals, value: [a]}", "x.op", "'Equals' is no operator"),
        ("{op: [a]}", "x.op", "must be text"),
        ("{op: In, value: {a: b}}", "x.value", "must be a list of texts"),
        ("{op: In, value: [[a]]}", "x.value[0]", "must be text, and it is a list"),
        ("{exists: maybe}", "x.exists", "takes true, false or nothing"),
        ("[{a: b}]", "x[0]", "must be text, and it is a map"),
    ],
)
def test_an_expression_that_cannot_be_understood_is_a_problem(written: str, path: str, message: str) -> None:
    _, findings = read(written)
    (problem,) = refusal(findings)
    assert problem.path == path
    assert message in problem.message


def test_an_operator_in_another_case_is_answered_with_the_right_one() -> None:
    _, findings = read("{op: exists}")
    assert findings.problems[0].hint == "write Exists"


def test_a_field_that_nobody_reads_is_reported_beside_an_op() -> None:
    read_as, findings = read("{op: In, value: [a], vals: [b]}")
    assert read_as == Expression(IN, ("a",))
    assert findings.notices[0].hint == "did you mean value?"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{op: Gt, value: ['5.1']}", "'5.1' is not a whole number"),
        ("{op: GtLt, value: ['5', '5']}", "5 is not less than 5"),
        ("{op: Gt, value: ['1', '2']}", "Gt wants one value"),
        ("{op: In}", "at least one value"),
        ("{op: Exists, value: [a]}", "Exists wants no value"),
        ("{value: [a]}", "an expression without op wants no value"),
        ("{op: InRegexp, value: ['[']}", "is not a regular expression"),
        ("{op: Ge, value: ['x'], type: version}", "is not a version"),
        ("{op: Ge, value: ['1'], type: Version}", "does not know the type 'Version'"),
    ],
)
def test_r8_r9_a_bad_value_is_reported_when_it_is_read_and_the_rule_stays_readable(written: str, message: str) -> None:
    _, findings = read(written)
    assert message in findings.problems[0].message
    findings.refuse(strict=False)


@pytest.mark.parametrize(
    ("written", "value"), [("5.10", "5.1"), ("y", "true"), ("010", "8"), ("'5.10'", ""), ("510", ""), ("true", "")]
)
def test_a_value_of_which_yaml_makes_another_is_told(written: str, value: str) -> None:
    for form in (f"{{op: In, value: [{written}]}}", f"{{in: {written}}}"):
        messages = [notice.message for notice in read(form)[1].notices if "without quotes" in notice.message]
        assert messages == ([f"{written} without quotes is read as {value}"] if value else [])


def test_a_list_of_names_stands_for_a_map() -> None:
    findings = Findings("file")
    read_as = read_expressions(read_yaml("[AVX2, 'vendor=10de', 'x=', '=y']", findings), "x", findings)
    assert read_as == {
        "AVX2": Expression(Operator.EXISTS),
        "vendor": Expression(IN, ("10de",)),
        "x": Expression(IN, ("",)),
        "": Expression(IN, ("y",)),
    }
    assert findings.notices[1].hint == 'the long form is vendor: {op: In, value: ["10de"]}'


def test_nothing_null_and_an_empty_list_differ() -> None:
    findings = Findings("file")
    assert read_expressions(None, "x", findings) is None
    assert read_expressions(read_yaml("~", findings), "x", findings) is None
    assert read_expressions(read_yaml("[]", findings), "x", findings) == {}
    assert read_expressions(read_yaml("{}", findings), "x", findings) == {}


def test_too_many_expensive_patterns_are_a_problem() -> None:
    findings = Findings("file")
    patterns = ", ".join(["'[a-b]x{2}'"] * 1001)
    node = read_yaml(f"{{op: InRegexp, value: [{patterns}]}}", findings)
    assert isinstance(node, MappingNode)
    read_expression(node, "x", findings)
    assert "more than 1,000 regular expressions" in refusal(findings)[0].message


def test_a_written_expression_is_read_as_itself() -> None:
    for expression in (
        Expression(IN, ("a", 'q"\\', "é", "010")),
        Expression(Operator.GE, ("1.2",), "version"),
        Expression(Operator.ANY),
    ):
        assert read(write_expression(expression))[0] == expression


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ('{op: Gt, value: ["5.14"]}', "add type: version"),
        ('{op: GeLe, value: ["5.14.0-1.el9.x86_64", "6.1"]}', "add type: version"),
        ('{op: Gt, value: ["five"]}', ""),
        ('{op: Gt, value: ["5", "6.1"]}', ""),
    ],
)
def test_versions_compared_as_numbers_are_told_of_their_type(written: str, hint: str) -> None:
    _, findings = read(written)
    (problem,) = findings.problems
    assert problem.hint == hint


def test_selectors_of_kubernetes_are_told_how_to_write_expressions() -> None:
    findings = Findings("file")
    node = read_yaml("[{key: vendor, operator: In, values: [10de]}, device]", findings)
    assert read_expressions(node, "x", findings) == {"device": Expression(Operator.EXISTS)}
    (problem,) = refusal(findings)
    assert (problem.path, problem.hint) == ("x[0]", 'write a map: vendor: {op: In, value: ["10de"]}')
