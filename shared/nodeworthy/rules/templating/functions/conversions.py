"""Conversions between kinds of values, as github.com/spf13/cast makes them for sprig: what is no number is 0."""

import math
import re
from collections.abc import Mapping

from nodeworthy.rules.templating.formatting import text_of
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.literals import parse_float, parse_integer
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Int64, TextList, Value, kind_name, type_name, wrap_int64


def whole(value: Value) -> Int64:
    """A value as a whole number; texts may be written in Go's bases (``0x1F``, and ``010`` is 8), ``5.00`` is 5."""
    if isinstance(value, int):
        return wrap_int64(int(value))
    if isinstance(value, float):
        return _truncated(value)
    if isinstance(value, str):
        number = parse_integer(_without_zero_decimals(value))
        return Int64(number) if number is not None and -(2**63) <= number < 2**63 else Int64(0)
    return Int64(0)


def _truncated(value: float) -> Int64:
    if math.isfinite(value) and -(2.0**63) <= value < 2.0**63:
        return Int64(value)
    # What the processor gives (amd64) where a float does not fit.
    return Int64(-(2**63))


def _without_zero_decimals(text: str) -> str:
    stripped = text.rstrip("0")
    return stripped[:-1] if stripped.endswith(".") and stripped != text else text


def real(value: Value) -> float:
    """A value as a float."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        return parse_float(value) or 0.0
    return 0.0


def text_list(budget: Budget, value: Value) -> TextList:
    """A value as texts: the entries of a list without nil, or the one value."""
    if isinstance(value, TextList):
        return value
    if isinstance(value, list):
        budget.spend_items(len(value))
        return TextList(text_of(item, budget) for item in value if item is not None)
    return TextList() if value is None else TextList([text_of(value, budget)])


def to_int(value: object) -> int:
    """``int``."""
    return int(whole(value))


def to_int64(value: object) -> Int64:
    """``int64``."""
    return whole(value)


def to_float64(value: object) -> float:
    """``float64``."""
    return real(value)


def to_strings(budget: Budget, value: object) -> TextList:
    """``toStrings``."""
    return text_list(budget, value)


def atoi(text: str) -> int:
    """A decimal number; 0 if it is none, and the nearest number of 64 bits where it is too large."""
    return parse_decimal(text)


def parse_decimal(text: str) -> int:
    """The whole number that decimal digits with a sign are, as Go's ``strconv`` gives it: 0 if they are none."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return 0
    sign, digits = found.groups()
    number = int(digits) if len(digits) < _LONG_DIGITS else 2**64
    return max(-(2**63), min(-number if sign == "-" else number, 2**63 - 1))


_DECIMAL = re.compile(r"([+-]?)0*([0-9]+)")
_LONG_DIGITS = 25
"""Without zeros before them they are more than 64 bits hold."""


def to_decimal(budget: Budget, value: object) -> Int64:
    """The number that an octal text stands for; 0 if it is none."""
    text = "<nil>" if value is None else text_of(value, budget)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or set(digits) - set("01234567") or len(digits.lstrip("0")) > _OCTAL_DIGITS_OF_64_BITS:
        return Int64(0)
    number = int(text, 8)
    return Int64(number) if -(2**63) <= number < 2**63 else Int64(0)


_OCTAL_DIGITS_OF_64_BITS = 22


def type_of(value: object) -> str:
    """``typeOf``."""
    return type_name(value)


def type_is(name: str, value: object) -> bool:
    """``typeIs``."""
    return type_name(value) == name


def type_is_like(name: str, value: object) -> bool:
    """``typeIsLike``: also for pointers to the type."""
    return type_name(value) in (name, f"*{name}")


def kind_of(value: object) -> str:
    """``kindOf``."""
    return kind_name(value)


def kind_is(name: str, value: object) -> bool:
    """``kindIs``."""
    return kind_name(value) == name


FUNCTIONS: Mapping[str, Function] = {
    "int": to_int,
    "int64": to_int64,
    "float64": to_float64,
    "atoi": atoi,
    "toDecimal": to_decimal,
    "toStrings": to_strings,
    "typeOf": type_of,
    "typeIs": type_is,
    "typeIsLike": type_is_like,
    "kindOf": kind_of,
    "kindIs": kind_is,
}
