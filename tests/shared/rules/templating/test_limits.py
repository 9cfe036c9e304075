"""Templates that would take forever, or make something huge, end with a plain error."""

from collections.abc import Callable

import pytest

DOUBLED = '{{$t := "0123456789abcdef"}}' + "{{$t = print $t $t}}" * 20
NESTED = "{{$l := list 1}}" + "{{$l = list $l $l}}" * 60
DEEP = "{{$l := list}}{{range until 1000}}{{$l = list $l}}{{end}}"
ITSELF = '{{$d := dict}}{{$_ := set $d "a" $d}}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{range until 90000}}{{range until 90000}}{{end}}{{end}}", "too long"),
        ("{{range 9223372036854775807}}{{end}}", "more than 200,000 steps"),
        ("{{until 100001}}", "more than 100,000 entries"),
        ("{{untilStep 0 9223372036854775807 1}}", "more than 100,000 entries"),
        ("{{seq 0 9223372036854775807}}", "more than 100,000 entries"),
        ('{{repeat 9223372036854775807 "a"}}', "more than 1,048,576 characters"),
        ('{{indent 999999999 "a"}}', "more than 1,048,576 characters"),
        ('{{wrapWith 1 (repeat 500000 "x") (repeat 100 "y")}}', "more than 1,048,576 characters"),
        ('{{replace "a" (repeat 9000 "b") (repeat 9000 "a")}}', "more than 1,048,576 characters"),
        ('{{regexReplaceAll "a" (repeat 9000 "a") (repeat 9000 "b")}}', "too long"),
        ('{{printf "%99999999d" 1}}', "width or precision of the format is more than 1,000,000"),
        ('{{printf "%1000000d%1000000d" 1 1}}', "more than 1,048,576 characters"),
        ("{{range until 40}}{{repeat 50000 `a`}}{{end}}", "the output gets longer than 1,048,576 characters"),
        (DOUBLED, "too long"),
        (NESTED + "{{$l}}", "more than 200,000 steps"),
        (NESTED + "{{toJson $l}}", "more than 200,000 steps"),
        (NESTED + "{{deepEqual $l $l}}", "more than 200,000 steps"),
        (NESTED + "{{deepCopy $l}}", "more than 200,000 steps"),
        (DEEP + "{{$l}}", "nested deeper than 100 levels"),
        (DEEP + "{{toPrettyJson $l}}", "nested deeper than 100 levels"),
        (DEEP + "{{uniq $l}}", "nested deeper than 100 levels"),
        (ITSELF + "{{$d}}", "nested deeper than 100 levels"),
        (ITSELF + "{{merge $d $d}}{{deepCopy $d}}", "nested deeper than 100 levels"),
        ("{{fromJson (repeat 2000 `[`)}}", "nested deeper than 100 levels"),
        ('{{define "t"}}{{template "t"}}{{end}}{{template "t"}}', "include each other deeper than 100 levels"),
        ("{{range until 100}}{{regexFindAll `a.*b|a` (repeat 9000 `a`) -1}}{{end}}", "more than 200,000 steps"),
        ("{{regexMatch (repeat 2000 `((a{9}){9}){9}`) `a`}}{{mustRegexMatch `((a{99}){99}){99}` `a`}}", "is not a reg"),
        ("{{if true}}" * 101 + "{{end}}" * 101, "nested deeper than 100 levels"),
        ("{{" + "(" * 101 + "1" + ")" * 101 + "}}", "nested deeper than 100 levels"),
        ("{{" + "(" * 30000, "nested deeper than 100 levels"),
        ("{{if true}}" * 5000, "nested deeper than 100 levels"),
    ],
)
def test_what_would_never_end_or_fill_memory_is_refused(text: str, why: str, failure: Callable[[str], str]) -> None:
    assert why in failure(text)


def test_the_deepest_template_that_is_allowed_runs(expand: Callable[[str], str]) -> None:
    nested = "{{if true}}" * 50 + "{{" + "(" * 50 + "1" + ")" * 50 + "}}" + "{{end}}" * 50
    assert expand(nested) == "1"
    included = '{{define "t"}}' + "{{with .}}" * 45 + '{{template "u" .}}' + "{{end}}" * 45 + "{{end}}"
    inner = '{{define "u"}}' + "{{with .}}" * 45 + "{{.}}" + "{{end}}" * 45 + "{{end}}"
    assert expand(included + inner + '{{template "t" 7}}') == "7"


def test_a_long_chain_of_else_if_is_no_nesting(expand: Callable[[str], str]) -> None:
    branches = "".join(f"{{{{else if eq . {number}}}}}{number}" for number in range(500))
    assert expand(f"{{{{with 499}}}}{{{{if false}}}}{branches}{{{{end}}}}{{{{end}}}}") == "499"


def test_labels_of_thousands_of_devices_are_within_the_limits(expand: Callable[..., str]) -> None:
    devices = [{"vendor": f"{number:04x}", "device": "1"} for number in range(5000)]
    text = expand(
        '{{range .pci.device}}{{if eq .device "1"}}{{.vendor | upper}}=1\n{{end}}{{end}}', {"pci": {"device": devices}}
    )
    assert text.count("=1\n") == 5000
