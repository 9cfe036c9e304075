"""sprig's arithmetic of floats: decimal, as github.com/shopspring/decimal makes it, so that 0.1 and 0.2 are 0.3."""

import decimal
import math
from collections.abc import Callable, Mapping
from decimal import Decimal

from nodeworthy.rules.templating.functions.conversions import real
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function

_DIVISION_DIGITS = 16
"""Digits behind the point of a quotient (decimal.DivisionPrecision)."""

_EXACT = decimal.Context(prec=5_000, rounding=decimal.ROUND_HALF_UP, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
"""More digits than sums and products of a template's floats have within its steps."""


def addf(budget: Budget, *values: object) -> float:
    """The sum."""
    return _combined(budget, 0.0, values, _EXACT.add)


def add1f(budget: Budget, value: object) -> float:
    """One more."""
    return _combined(budget, value, (1,), _EXACT.add)


def subf(budget: Budget, value: object, *others: object) -> float:
    """The difference."""
    return _combined(budget, value, others, _EXACT.subtract)


def mulf(budget: Budget, value: object, *others: object) -> float:
    """The product."""
    return _combined(budget, value, others, _EXACT.multiply)


def divf(budget: Budget, value: object, *others: object) -> float:
    """The quotient, rounded to 16 digits behind the point."""
    return _combined(budget, value, others, _divide)


def _divide(one: Decimal, other: Decimal) -> Decimal:
    if not other:
        raise FunctionError("division by zero")
    return _EXACT.quantize(_EXACT.divide(one, other), Decimal(1).scaleb(-_DIVISION_DIGITS))


def _combined(
    budget: Budget, value: object, others: tuple[object, ...], combine: Callable[[Decimal, Decimal], Decimal]
) -> float:
    result = _decimal(value)
    for other in others:
        budget.spend(10)
        result = combine(result, _decimal(other))
    # Decimals of Go have no negative zero.
    return float(result) + 0.0


def _decimal(value: object) -> Decimal:
    number = real(value)
    if not math.isfinite(number):
        raise FunctionError("infinity and NaN are no decimal numbers")
    return Decimal(repr(number))


def maxf(value: object, *others: object) -> float:
    """The largest; NaN if one is."""
    numbers = [real(one) for one in (value, *others)]
    return math.nan if any(map(math.isnan, numbers)) else max(numbers)


def minf(value: object, *others: object) -> float:
    """The smallest; NaN if one is."""
    numbers = [real(one) for one in (value, *others)]
    return math.nan if any(map(math.isnan, numbers)) else min(numbers)


def floor(value: object) -> float:
    """Rounded down."""
    number = real(value)
    return float(math.floor(number)) if math.isfinite(number) else number


def ceil(value: object) -> float:
    """Rounded up."""
    number = real(value)
    return float(math.ceil(number)) if math.isfinite(number) else number


def round_to(value: object, places: int, *half: float) -> float:
    """``round``: to places behind the point; up where the rest is at least a half, or what is given instead."""
    threshold = half[0] if half else 0.5
    try:
        power = 10.0**places
        scaled = power * real(value)
        fraction = math.modf(scaled)[0]
        if not math.isfinite(scaled):
            return math.nan if math.isinf(power) else scaled
        return (math.ceil(scaled) if fraction >= threshold else math.floor(scaled)) / power
    except (OverflowError, ZeroDivisionError):
        return math.nan


FUNCTIONS: Mapping[str, Function] = {
    "addf": addf,
    "add1f": add1f,
    "subf": subf,
    "mulf": mulf,
    "divf": divf,
    "maxf": maxf,
    "minf": minf,
    "floor": floor,
    "ceil": ceil,
    "round": round_to,
}
