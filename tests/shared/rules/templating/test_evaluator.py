"""What goes wrong while a template runs is said with its place and what was found there."""

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n{{ .usb.device }}", "line 2, column 4: there is no 'usb' here; known are cpu, pci, x-y"),
        ("{{ .pci.device.vendor }}", "'vendor' cannot be taken from []map[string]string, use range or index"),
        ("{{ range .pci.device }}{{ .ghost }}{{ end }}", "known are class, device, numa, vendor"),
        ("{{ index .pci.device 7 }}", "index: there is no entry 7; there are 2, counted from 0"),
        ("{{ upper 3 }}", "line 1, column 10: upper needs a text here, and this is none"),
        ("{{ upper (len .) }}", "upper needs a text here, and this is int"),
        ("{{ until (add 1 2) }}", "until needs an int here, and this is int64"),
        ("{{ upper nil }}", "upper needs a text here, not nil"),
        ("{{ keys (index .pci.device 0) }}", "keys needs a map made by dict here, and this is map[string]string"),
        ("{{ upper }}", "upper needs 1 argument, not 0"),
        ("{{ eq 1 `1` }}", "eq: int and string cannot be compared"),
        ("{{ div 1 0 }}", "div: division by zero"),
        ("{{ fail `not this one` }}", "fail: not this one"),
        ("{{ range `ab` }}{{ end }}", "range needs a list, a map or a number, not string"),
        ("{{ template `nope` }}", "there is no template 'nope'"),
        ("{{ $x = 1 }}", "variable '$x' is not declared: write := instead of ="),
        ("{{ . 1 }}", "this is no function, so it takes no arguments"),
        ("{{ date `2006` `now` }}", "the clock is not read"),
        ("{{ dateInZone `15` 0 `Europe/Berlin` }}", "the zone 'Europe/Berlin' is not known here: only UTC is"),
        ("{{ toDate `2006` `2024` | durationRound }}", "a time has a duration only by the clock, which is not read"),
        ("{{ (semver `1.2`).IncMajor }}", "'IncMajor' cannot be taken from *semver.Version"),
    ],
)
def test_a_failure_is_told_with_its_place(text: str, message: str, failure: Callable[[str], str]) -> None:
    assert message in failure(text)


def test_maps_come_in_the_order_of_their_names_also_where_sprigs_order_is_random(expand: Callable[[str], str]) -> None:
    made = '{{$d := dict "c" 3 "a" 1 "b" 2}}'
    assert expand(made + "{{keys $d}} {{values $d}} {{$d}}") == "[a b c] [1 2 3] map[a:1 b:2 c:3]"


def test_a_program_keeps_nothing_of_one_expansion_for_the_next(expand: Callable[..., str]) -> None:
    text = '{{$d := dict}}{{$_ := set $d "n" (len .a.b)}}{{$d.n}}'
    assert [expand(text, {"a": {"b": [{}] * size}}) for size in (1, 2, 1)] == ["1", "2", "1"]
