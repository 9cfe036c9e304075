import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.rules.scalars import Kind, parse_plain, write_alone, write_float


@pytest.mark.parametrize(
    ("plain", "kind", "text"),
    [
        ("abc", "text", "abc"),
        ("yes", "bool", "true"),
        ("y", "bool", "true"),
        ("OFF", "bool", "false"),
        ("yEs", "text", "yEs"),
        ("~", "null", ""),
        ("", "null", ""),
        ("12", "number", "12"),
        ("+12", "number", "12"),
        ("010", "number", "8"),
        ("08", "fraction", "8"),
        ("0x1F", "number", "31"),
        ("0b11", "number", "3"),
        ("0o17", "number", "15"),
        ("1_000", "number", "1000"),
        ("18446744073709551616", "fraction", "1.8446744e+19"),
        ("1e3", "fraction", "1000"),
        ("2.50", "fraction", "2.5"),
        (".5", "fraction", "0.5"),
        (".nan", "fraction", "NaN"),
        ("-.Inf", "fraction", "-Inf"),
        ("1e400", "text", "1e400"),
        ("1e39", "fraction", "+Inf"),
        ("12:30:45", "text", "12:30:45"),
        ("2031-05-06", "text", "2031-05-06"),
        ("1.2.3", "text", "1.2.3"),
        ("-", "text", "-"),
        ("_1", "text", "_1"),
    ],
)
def test_a_plain_scalar_becomes_the_text_that_go_makes_of_it(plain: str, kind: str, text: str) -> None:
    scalar = parse_plain(plain)
    assert (scalar.kind, scalar.text) == (kind, text)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_written_fraction_gives_the_same_32_bits(value: float) -> None:
    written = float(write_float(value))
    assert struct.pack("f", written) == struct.pack("f", value)


@given(st.text())
def test_any_plain_text_is_some_scalar(text: str) -> None:
    scalar = parse_plain(text)
    if scalar.kind is Kind.TEXT:
        assert scalar.text == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("250", "250"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("1e21", "1000000000000000000000"),
        ("1e-7", "0.0000001"),
        ("-0.0", "-0"),
        ("16777217.0", "16777217"),
        ("3.14159265358979", "3.14159265358979"),
        ("123456789012345678", "123456789012345680"),
        (".nan", "NaN"),
        ("010", "8"),
        ("yes", "true"),
        ("10de", "10de"),
    ],
)
def test_a_number_that_stands_alone_is_written_in_64_bits_without_an_exponent(written: str, text: str) -> None:
    assert write_alone(parse_plain(written)) == text
