import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RuleError
from nodeworthy.rules.patterns import compile_pattern


def test_r9_a_pattern_is_searched_for_and_not_anchored() -> None:
    assert compile_pattern("5")("15")
    assert not compile_pattern("^5")("15")


@pytest.mark.parametrize("pattern", ["[", "(?=a)", "(a)\\1", "a**", "\\C", "a\\C", "\\u0041", "a{1001}", "\ud800"])
def test_a_bad_pattern_is_an_error_that_names_the_language(pattern: str) -> None:
    with pytest.raises(RuleError, match="is not a regular expression") as caught:
        compile_pattern(pattern)
    assert "re2" in caught.value.todo


def test_a_byte_escape_is_only_refused_where_it_is_one() -> None:
    assert compile_pattern("\\\\C")("\\C")
    assert compile_pattern("\\Q\\C\\E")("\\C")


def test_the_dialect_is_that_of_re2() -> None:
    assert compile_pattern("^\\pL+$")("é")
    assert compile_pattern("(?m)^b$")("a\nb")
    assert compile_pattern("ab\\z")("ab")
    # Python's $ would also match before a newline at the end.
    assert not compile_pattern("ab$")("ab\n")
    assert not compile_pattern("a[0-9]$")("a1\n")


def test_a_pattern_that_would_make_a_backtracking_engine_slow_is_not_slow() -> None:
    assert not compile_pattern("(a*)*b")("a" * 30_000)  # such an engine would not come to an end


def test_text_that_is_not_unicode_can_be_searched() -> None:
    assert compile_pattern("^x\\pS$")("x\udc80")


@given(st.text(alphabet="ab()[]{}|*+?^$\\.-dwQEpL0,<>:P=!i \x00é", max_size=12), st.text(max_size=8))
def test_any_text_is_a_pattern_or_a_rule_error(pattern: str, text: str) -> None:
    try:
        test = compile_pattern(pattern)
    except RuleError:
        return
    assert test(text) in (True, False)
