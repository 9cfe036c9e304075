"""YAML 1.1 scalars, and the text that they become where text is wanted.

Kubernetes and NFD read YAML through Go (sigs.k8s.io/yaml): ``value: [true, 010, 2.50, 2031-05-06]`` reaches a rule as the
texts ``true``, ``8``, ``2.5`` and ``2031-05-06``. A rule must mean the same here, so the same kinds are told apart and
written in the same way. Quoted text is never touched. The behaviour was observed (tests/data/oracle, cases ``nfr``).
"""

import math
import re
import struct
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What a scalar is."""

    TEXT = "text"
    INTEGER = "number"
    FLOAT = "fraction"
    BOOLEAN = "bool"
    NULL = "null"


class Scalar(NamedTuple):
    """A scalar's kind, the text that it becomes, and its number where it is one."""

    kind: Kind
    text: str
    number: int | float | None = None


_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_FINITE = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}

_MAX_NUMBER = 128
"""The longest plain text that is tried as a number; no number within 64 bits or a double's range needs more."""

_INTEGER = re.compile(r"([+-]?)(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|(0[oO]?[0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?")

_EXPONENT_BELOW, _EXPONENT_FROM = -4, 6
"""Go's format ``g`` writes an exponent outside of these powers of ten when it looks for the shortest form (strconv)."""


def parse_plain(text: str) -> Scalar:
    """The scalar that a plain (unquoted, untagged) text is."""
    if text in _TRUE:
        return Scalar(Kind.BOOLEAN, "true")
    if text in _FALSE:
        return Scalar(Kind.BOOLEAN, "false")
    if text in _NULL:
        return Scalar(Kind.NULL, "")
    if text in _NOT_FINITE:
        return Scalar(Kind.FLOAT, _NOT_FINITE[text])
    if len(text) <= _MAX_NUMBER and text[0] in "+-.0123456789":
        return _parse_number(text.replace("_", "")) or Scalar(Kind.TEXT, text)
    return Scalar(Kind.TEXT, text)


def _parse_number(text: str) -> Scalar | None:
    if found := _INTEGER.fullmatch(text):
        sign, hexadecimal, binary, octal, decimal = found.groups()
        digits, base = next(
            (digits, base)
            for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10))
            if digits is not None
        )
        number = int(sign + re.sub(r"^0[xXbBoO]", "", digits), base)
        if -(2**63) <= number < 2**64:
            return Scalar(Kind.INTEGER, str(number), number)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return Scalar(Kind.FLOAT, write_float(value), value)
    return None


def write_float(value: float) -> str:
    """A fraction as Go writes it in 32 bits and format ``g``: the fewest digits that give the same 32-bit number.

    >>> write_float(2.50), write_float(1e-7), write_float(16777217.0)
    ('2.5', '1e-07', '1.6777216e+07')
    """
    single = _round_to_32_bits(value)
    if math.isinf(single):
        return "+Inf" if single > 0 else "-Inf"
    if not single:
        return "-0" if math.copysign(1, value) < 0 else "0"
    # Nine digits always tell a 32-bit number apart.
    digits = next(
        text
        for text in (f"{single:.{precision}e}" for precision in range(9))
        if _round_to_32_bits(float(text)) == single
    )
    mantissa, _, exponent = digits.partition("e")
    if _EXPONENT_BELOW <= int(exponent) < _EXPONENT_FROM:
        return _plain(mantissa, int(exponent))
    return f"{mantissa}e{exponent}"


def write_alone(scalar: Scalar) -> str:
    """The text of a scalar that stands alone, as an expression or as its ``value``, where NFD reads worker rules.

    There a number passes through 64 bits and is written without an exponent (NFD, source/custom/api/expression.go).

    >>> write_alone(parse_plain("123456789012345678")), write_alone(parse_plain("1e3")), write_alone(parse_plain("1.50"))
    ('123456789012345680', '1000', '1.5')
    """
    if scalar.number is None:
        return scalar.text
    return f"{Decimal(repr(float(scalar.number))):f}".removesuffix(".0")


def _plain(mantissa: str, exponent: int) -> str:
    precision = max(len(mantissa.lstrip("-").replace(".", "")) - 1 - exponent, 0)
    return f"{float(f'{mantissa}e{exponent}'):.{precision}f}"


def _round_to_32_bits(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
