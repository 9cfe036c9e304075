"""sprig's functions that choose between values, and those that end the expansion or compare as a whole."""

from collections.abc import Mapping

from nodeworthy.rules.templating.functions.lists import identity
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Value, is_true


def default(fallback: object, *given: object) -> Value:
    """The given value, or another one if it is empty."""
    return given[0] if given and is_true(given[0]) else fallback


def empty(value: object) -> bool:
    """Whether a value is zero, nil or holds nothing."""
    return not is_true(value)


def coalesce(*values: object) -> Value:
    """The first value that is not empty; nil if all are."""
    return next(filter(is_true, values), None)


def all_given(*values: object) -> bool:
    """``all``: whether no value is empty."""
    return all(map(is_true, values))


def any_given(*values: object) -> bool:
    """``any``: whether some value is not empty."""
    return any(map(is_true, values))


def ternary(yes: object, no: object, condition: bool) -> Value:
    """One of two values."""
    return yes if condition else no


def fail(message: str) -> Value:
    """End the expansion with an error."""
    raise FunctionError(message[:_MAX_MESSAGE])


_MAX_MESSAGE = 200


def deep_equal(budget: Budget, one: object, other: object) -> bool:
    """Whether two values have one type and equal parts."""
    return identity(one, budget) == identity(other, budget)


FUNCTIONS: Mapping[str, Function] = {
    "default": default,
    "empty": empty,
    "coalesce": coalesce,
    "all": all_given,
    "any": any_given,
    "ternary": ternary,
    "fail": fail,
    "deepEqual": deep_equal,
}
