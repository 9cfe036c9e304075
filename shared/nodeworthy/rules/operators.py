"""Expressions, compiled: everything that depends on the rule alone is done once."""

import operator
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import msgspec

from nodeworthy.errors import RuleError
from nodeworthy.rules.integers import parse_integer
from nodeworthy.rules.patterns import compile_pattern, compile_some
from nodeworthy.rules.records import Expression, Operator
from nodeworthy.rules.versions import parse_version

Test: TypeAlias = Callable[[str], bool]
"""Says whether a value that is there satisfies an expression; raises RuleError where it cannot be asked."""

SomeTest: TypeAlias = Callable[[Collection[str]], bool]
"""Says whether some of many names satisfies an expression that cannot raise, which is quicker than one after the other."""

_COMPARISONS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
}
_PRESENCE = frozenset({Operator.ANY, Operator.EXISTS, Operator.DOES_NOT_EXIST})
_INFALLIBLE = frozenset(
    {*_PRESENCE, Operator.IN, Operator.NOT_IN, Operator.IN_REGEXP, Operator.IS_TRUE, Operator.IS_FALSE}
)


class CompiledExpression(msgspec.Struct, frozen=True):
    """One expression, ready to be asked of many facts.

    NFD looks at values only where the element is there; a bad value is an error then and not before. Only ``Exists``,
    ``DoesNotExist`` and the empty operator are checked always.
    """

    source: Expression
    absent: bool
    """The answer where the element is missing."""
    flag: bool
    """The answer where the element is a flag: a flag has no value, so only questions for presence can hold."""
    test: Test
    """The answer for a value."""
    broken: RuleError | None
    """Raised whenever the expression is reached, whether the element is there or not."""
    fallible: bool
    """Whether ``test`` can raise: if not, asking fewer elements gives the same outcome."""
    some: SomeTest | None = None
    """The answer for many names at once, where there is a quick way: whether ``test`` holds for one of them."""


def compile_expression(expression: Expression, *, asks_names: bool = False) -> CompiledExpression:
    """The compiled form; a bad value does not raise here but when it is reached. ``asks_names``: it is a ``matchName``."""
    broken: RuleError | None = None
    try:
        test = _compile_test(expression)
        fallible = expression.operator not in _INFALLIBLE
    except RuleError as error:
        test, fallible = _raiser(error), True
        if expression.operator in _PRESENCE:
            broken = error
    return CompiledExpression(
        source=expression,
        absent=expression.operator in (Operator.ANY, Operator.DOES_NOT_EXIST),
        flag=expression.operator in (Operator.ANY, Operator.EXISTS),
        test=test,
        broken=broken,
        fallible=fallible,
        some=_compile_some(expression) if asks_names and not fallible else None,
    )


def value_error(expression: Expression) -> RuleError | None:
    """What is wrong with the values of an expression, whatever the facts; ``None`` if nothing is."""
    try:
        _compile_test(expression)
    except RuleError as error:
        return error
    return None


def _raiser(error: RuleError) -> Test:
    def test(_: str) -> bool:
        # A fresh one each time: a raised exception keeps its trace, and with it the facts, alive.
        raise RuleError(error.what, why=error.why, todo=error.todo)

    return test


def _compile_test(expression: Expression) -> Test:
    match expression.operator:
        case Operator.ANY | Operator.EXISTS:
            _want_values(expression, 0)
            return lambda _: True
        case Operator.DOES_NOT_EXIST:
            _want_values(expression, 0)
            return lambda _: False
        case Operator.IS_TRUE | Operator.IS_FALSE:
            _want_values(expression, 0)
            wanted = "true" if expression.operator is Operator.IS_TRUE else "false"
            return wanted.__eq__
        case Operator.IN:
            _want_some_values(expression)
            return frozenset(expression.values).__contains__
        case Operator.NOT_IN:
            _want_some_values(expression)
            unwanted = frozenset(expression.values)
            return lambda value: value not in unwanted
        case Operator.IN_REGEXP:
            _want_some_values(expression)
            return _any_of([compile_pattern(pattern) for pattern in expression.values])
        case Operator.GT_LT | Operator.GE_LE:
            return _compile_range(expression)
        case _:
            return _compile_comparison(expression)


def _compile_some(expression: Expression) -> SomeTest | None:
    """For an expression whose values are good."""
    if expression.operator is Operator.IN:
        wanted = frozenset(expression.values)
        return lambda names: not wanted.isdisjoint(names)
    if expression.operator is not Operator.IN_REGEXP:
        return None
    tests = [compile_some(pattern) for pattern in expression.values]
    return tests[0] if len(tests) == 1 else lambda names: any(test(names) for test in tests)


def _any_of(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _compile_comparison(expression: Expression) -> Test:
    _want_values(expression, 1)
    parse = _parser(expression)
    bound = parse(expression.values[0])
    compare = _COMPARISONS[expression.operator]
    return lambda value: compare(parse(value), bound)


def _compile_range(expression: Expression) -> Test:
    _want_values(expression, 2)
    parse = _parser(expression)
    low, high = map(parse, expression.values)
    if not expression.type and not operator.lt(low, high):
        # NFD asks this of numbers only; versions the wrong way round just never match.
        raise RuleError(
            f"{expression.operator} wants its first value to be the smaller one",
            why=f"{expression.values[0]} is not less than {expression.values[1]}",
        )
    within = operator.lt if expression.operator is Operator.GT_LT else operator.le

    def test(value: str) -> bool:
        found = parse(value)
        return bool(within(low, found) and within(found, high))

    return test


def _parser(expression: Expression) -> Callable[[str], Any]:
    if not expression.type:
        return parse_integer
    if expression.type == "version":
        return parse_version
    raise RuleError(
        f"{expression.operator} does not know the type {expression.type[:80]!r}",
        todo="write type: version, or no type to compare whole numbers",
    )


def _want_values(expression: Expression, count: int) -> None:
    if len(expression.values) != count:
        name = expression.operator or "an expression without op"
        wanted = ("no value", "one value", "two values")[count]
        raise RuleError(f"{name} wants {wanted}", why=f"it has {len(expression.values)}")


def _want_some_values(expression: Expression) -> None:
    if not expression.values:
        raise RuleError(f"{expression.operator} wants at least one value", why="it has none")
