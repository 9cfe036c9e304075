"""Any text is a template or a RuleError, and what expands does so within its limits."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RuleError
from nodeworthy.rules.templates import Elements, Template
from nodeworthy.rules.templating.functions import FUNCTIONS
from nodeworthy.rules.templating.limits import MAX_OUTPUT
from nodeworthy.rules.templating.literals import parse_number, quote, unquote

PIECES = (
    *(
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "{{/* c */}}",
        "if ",
        "else",
        "end",
        "range ",
        "with ",
        'define "t"',
        'template "t" ',
    ),
    *(
        "block ",
        "break",
        "continue",
        ".",
        "$",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        ".a.b",
        '"s"',
        "`r`",
        "'c'",
        "1",
        "-1.5e3",
        "0x1F",
    ),
    *("1i", "nil", "true", "\n", "x", ",", "9223372036854775807", '"%999d"', '"\\xff"', "\ud800", "\x00", "é"),
)
words = st.one_of(st.sampled_from(PIECES), st.sampled_from(sorted(FUNCTIONS)), st.just(" "))
values = st.one_of(
    *(
        st.just(text)
        for text in (
            ".",
            ".a.b",
            ".a",
            "nil",
            "true",
            "1.5",
            "(list 1 nil `x`)",
            "(dict `k` 1)",
            "1i",
            "$",
            "(until 3)",
        )
    ),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)),
)
calls = st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(values, max_size=4)).map(
    lambda one: " ".join((one[0], *one[1]))
)
DATA: Elements = {"a": {"b": [{"Name": "x", "Value": "1"}, {"Name": "y"}]}}


def expand(text: str) -> str | None:
    try:
        return Template(text).expand_text(DATA)
    except RuleError:
        return None


@given(st.text())
def test_any_text_is_a_template_or_a_rule_error(text: str) -> None:
    expand(text)
    expand("{{" + text + "}}")


@given(st.lists(words, max_size=20))
def test_any_pieces_of_templates_are_a_template_or_a_rule_error(pieces: list[str]) -> None:
    expand("".join(pieces))
    expand("{{" + " ".join(pieces) + "}}")


@given(st.lists(calls, min_size=1, max_size=3))
def test_any_call_gives_a_bounded_text_or_a_rule_error(chain: list[str]) -> None:
    expanded = expand("{{" + " | ".join(chain) + "}}")
    assert expanded is None or len(expanded) <= MAX_OUTPUT


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_without_braces_is_its_own_expansion(text: str) -> None:
    plain = text.replace("{{", "{ {")
    assert expand(plain) == plain


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_text_means_itself(text: str) -> None:
    assert unquote(quote(text)) == text
    assert expand("{{" + quote(text) + "}}") == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_is_printed_reads_as_itself(number: float) -> None:
    printed = expand(f"{{{{{number!r}}}}}")
    assert printed is not None
    again = parse_number(printed).real
    assert again is not None
    assert math.isclose(again, number, rel_tol=0, abs_tol=0)
