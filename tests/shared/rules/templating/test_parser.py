"""What is wrong with a template is said with its place."""

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb {{ if true }}", "line 2, column 6: {{end}} is missing for this"),
        ("{{ upper", "line 1, column 9: an action is not closed by }}"),
        ("{{ (1 }}", "line 1, column 7: a parenthesis is not closed"),
        ("{{ 1) }}", "line 1, column 5: a ) without ("),
        ("\n\n  {{ frob 1 }}", "line 3, column 6: there is no function 'frob'"),
        ("{{ env `PATH` }}", "function env is refused: it reads the environment"),
        ("{{ uuidv4 }}", "function uuidv4 is refused: it draws random numbers"),
        ("{{ getHostByName `a` }}", "function getHostByName is refused: it asks the network"),
        ("{{ derivePassword 1 `a` `b` `c` `d` }}", "function derivePassword is refused: it is made to be slow"),
        ("{{ $x }}", "variable '$x' is not declared before this"),
        ("{{ .a.b-c }}", "line 1, column 8: '-' may not stand behind a name"),
        ("{{ 'ab' }}", "'ab' is not one character"),
        ('{{ "\\q" }}', "is no escape of Go"),
        ("{{ 12a }}", "'12a' is no number"),
        ("{{ 99999999999999999999 }}", "does not fit into 64 bits"),
        ("{{ break }}", "{{break}} outside of {{range}}"),
        ("{{ end }}", "nothing is open here"),
        ("{{ if true }}{{ else }}{{ else }}{{ end }}", "a second {{else}} for this"),
        ('{{define "a"}}1{{end}}{{define "a"}}2{{end}}', "template 'a' is defined twice"),
        ("{{ 1 | 2 }}", "behind | stands a function, and this is a value"),
        ("{{ }}", "an action needs a value"),
        ("{{/* never closed", "this comment has no end"),
        ("{{ $a, $b := 1 }}", "too many variables for an action"),
        ("{{ print (1).a 2.b }}", "is no number"),
        ("{{ 1.a }}", "is no number"),
        ("{{ nil.a }}", "no field can be taken from a value"),
    ],
)
def test_a_mistake_is_told_with_line_and_column(text: str, message: str, failure: Callable[[str], str]) -> None:
    assert message in failure(text)


def test_a_template_of_more_than_64_kib_is_refused_by_its_bytes(
    expand: Callable[[str], str], failure: Callable[[str], str]
) -> None:
    assert expand("é" * 32768) == "é" * 32768
    assert failure("é" * 32768 + "x") == (
        "the template is too long: it has 65,537 bytes, and the limit is 65,536 bytes"
    )


def test_an_empty_definition_gives_way_to_a_full_one(expand: Callable[[str], str]) -> None:
    assert expand('{{block "a" .}} {{end}}{{define "a"}}x{{end}}{{template "a"}}') == "xx"
    assert expand('{{define "a"}}x{{end}}{{define "a"}} {{end}}{{template "a"}}') == "x"
