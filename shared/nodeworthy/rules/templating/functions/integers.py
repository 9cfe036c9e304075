"""sprig's arithmetic of whole numbers, in 64 bits, and its sequences. What is no number counts as 0."""

from collections.abc import Mapping

from nodeworthy.rules.templating.functions.conversions import whole
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Int64, IntList, wrap_int64


def add(*values: object) -> Int64:
    """The sum."""
    return wrap_int64(sum(map(whole, values)))


def add1(value: object) -> Int64:
    """One more."""
    return wrap_int64(whole(value) + 1)


def sub(one: object, other: object) -> Int64:
    """The difference."""
    return wrap_int64(whole(one) - whole(other))


def mul(value: object, *others: object) -> Int64:
    """The product."""
    product = whole(value)
    for other in others:
        product = wrap_int64(product * whole(other))
    return product


def div(one: object, other: object) -> Int64:
    """The quotient, cut towards zero."""
    dividend, divisor = whole(one), _divisor(other)
    quotient = abs(dividend) // abs(divisor)
    return wrap_int64(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def mod(one: object, other: object) -> Int64:
    """What a division leaves, with the sign of the dividend."""
    dividend, divisor = whole(one), _divisor(other)
    left = abs(dividend) % abs(divisor)
    return Int64(-left if dividend < 0 else left)


def _divisor(value: object) -> Int64:
    divisor = whole(value)
    if not divisor:
        raise FunctionError("division by zero")
    return divisor


def largest(value: object, *others: object) -> Int64:
    """``max`` and ``biggest``."""
    return max(map(whole, (value, *others)))


def smallest(value: object, *others: object) -> Int64:
    """``min``."""
    return min(map(whole, (value, *others)))


def until(budget: Budget, count: int) -> IntList:
    """The numbers from 0 to a count, without it; downwards if it is negative."""
    return until_step(budget, 0, count, -1 if count < 0 else 1)


def until_step(budget: Budget, start: int, stop: int, step: int) -> IntList:
    """The numbers from one to another, without it, in steps; none if the step goes the other way."""
    if step == 0 or (stop < start) != (step < 0):
        return IntList()
    numbers = range(start, stop, step)
    # len() fails on what does not fit into a machine's word.
    budget.spend_items((stop - start) // step + 1)
    return IntList(numbers)


def seq(budget: Budget, *bounds: int) -> str:
    """``seq 4``, ``seq 1 4``, ``seq 1 2 9``: the numbers up to and with the last one, as text with spaces between."""
    if len(bounds) not in (1, 2, 3):
        return ""
    start, stop = bounds[0] if len(bounds) > 1 else 1, bounds[-1]
    direction = -1 if stop < start else 1
    step = bounds[1] if len(bounds) == 3 else direction  # noqa: PLR2004 # with a step of its own
    if direction < 0 < step:
        return ""
    return " ".join(map(str, until_step(budget, start, stop + direction, step)))


FUNCTIONS: Mapping[str, Function] = {
    "add": add,
    "add1": add1,
    "sub": sub,
    "mul": mul,
    "div": div,
    "mod": mod,
    "max": largest,
    "biggest": largest,
    "min": smallest,
    "until": until,
    "untilStep": until_step,
    "seq": seq,
}
