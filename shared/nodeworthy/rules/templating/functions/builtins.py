"""Go's own functions: comparing, indexing, printing. Their rules are those of text/template/funcs.go."""

from collections.abc import Mapping

from nodeworthy.rules.templating.formatting import printed, printed_line
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.printf import printf
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import (
    NilList,
    Uint8,
    Uint64,
    Value,
    byte_length,
    is_true,
    kind_name,
    look_up,
    text_bytes,
    type_name,
    zero_of,
)


def both(first: object, *others: object) -> Value:
    """``and``: the first false value, or the last one. The evaluator asks no more arguments than needed."""
    return next((value for value in (first, *others[:-1]) if not is_true(value)), (first, *others)[-1])


def either(first: object, *others: object) -> Value:
    """``or``: the first true value, or the last one. The evaluator asks no more arguments than needed."""
    return next((value for value in (first, *others[:-1]) if is_true(value)), (first, *others)[-1])


def is_not(value: object) -> bool:
    """``not``."""
    return not is_true(value)


def length(value: object) -> int:
    """``len``, of texts in bytes."""
    if isinstance(value, str):
        return byte_length(value)
    if isinstance(value, (list, dict)):
        return len(value)
    raise FunctionError(f"{type_name(value)} has no length")


def index(container: object, *keys: object) -> Value:
    """``index``: entries of lists and maps, bytes of texts; a name that a map has not gives a zero value."""
    value: Value = container
    if value is None:
        raise FunctionError("nil has no entries")
    for key in keys:
        value = _entry(value, key)
    return value


def _entry(container: Value, key: Value) -> Value:
    if isinstance(container, dict):
        if not isinstance(key, str):
            raise FunctionError(f"a map is indexed with a text, not with {type_name(key)}")
        found, value = look_up(container, key)
        return value if found else zero_of(container)
    if isinstance(container, (list, str)):
        place = _place(key, byte_length(container) if isinstance(container, str) else len(container))
        return container[place] if isinstance(container, list) else Uint8(text_bytes(container)[place])
    raise FunctionError(f"{type_name(container)} has no entries")


def _place(key: Value, size: int) -> int:
    if not isinstance(key, int) or isinstance(key, bool):
        raise FunctionError(f"a list is indexed with a number, not with {type_name(key)}")
    if not 0 <= key < size:
        raise FunctionError(f"there is no entry {key}; there are {size}, counted from 0")
    return key


def equal(first: object, *others: object) -> bool:
    """``eq``: whether the first equals one of the others. Different kinds are an error, and so are lists and maps."""
    if not others:
        raise FunctionError("needs something to compare with")
    return any(_equal(first, other) for other in others)


def _equal(first: Value, second: Value) -> bool:
    kinds = _comparison_kind(first), _comparison_kind(second)
    if set(kinds) == {"int", "uint"}:
        return first == second
    if first is None or second is None:
        return _is_nil(first) and _is_nil(second)
    if kinds[0] != kinds[1]:
        raise FunctionError(f"{type_name(first)} and {type_name(second)} cannot be compared")
    if kinds[0]:
        return first == second
    if kind_name(first) != kind_name(second):
        raise FunctionError(f"{type_name(first)} and {type_name(second)} cannot be compared")
    if _is_nil(first) or _is_nil(second):
        return _is_nil(first) == _is_nil(second)
    if isinstance(first, (list, dict)):
        raise FunctionError(f"{type_name(first)} cannot be compared; deepEqual compares lists and maps")
    return first == second if kind_name(first) == "struct" else first is second


def _is_nil(value: Value) -> bool:
    return value is None or isinstance(value, NilList)


def _comparison_kind(value: Value) -> str:
    if isinstance(value, (Uint8, Uint64)):
        return "uint"
    if isinstance(value, bool):
        return "bool"
    return next(
        (
            kind
            for of, kind in ((int, "int"), (float, "float"), (str, "string"), (complex, "complex"))
            if isinstance(value, of)
        ),
        "",
    )


def not_equal(first: object, second: object) -> bool:
    """``ne``."""
    return not _equal(first, second)


def less(first: object, second: object) -> bool:
    """``lt``: numbers by value, texts by their bytes."""
    kinds = _comparison_kind(first), _comparison_kind(second)
    for kind, value in zip(kinds, (first, second), strict=True):
        if not kind:
            raise FunctionError(f"{type_name(value)} has no order")
    if kinds[0] != kinds[1] and set(kinds) != {"int", "uint"}:
        raise FunctionError(f"{type_name(first)} and {type_name(second)} cannot be compared")
    if isinstance(first, str) and isinstance(second, str):
        return text_bytes(first) < text_bytes(second)
    if isinstance(first, (bool, complex)) or not isinstance(first, (int, float)):
        raise FunctionError(f"{type_name(first)} has no order")
    assert isinstance(second, (int, float))
    return first < second


def less_or_equal(first: object, second: object) -> bool:
    """``le``."""
    return less(first, second) or _equal(first, second)


def greater(first: object, second: object) -> bool:
    """``gt``."""
    return not less_or_equal(first, second)


def greater_or_equal(first: object, second: object) -> bool:
    """``ge``."""
    return not less(first, second)


def call(function: object, *_arguments: object) -> Value:
    """``call``: nothing that a template of a rule can get hold of is a function."""
    raise FunctionError(f"{type_name(function)} is no function")


def print_values(budget: Budget, *values: object) -> str:
    """``print``."""
    return printed(values, budget)


def print_line(budget: Budget, *values: object) -> str:
    """``println``."""
    return printed_line(values, budget)


def print_format(budget: Budget, form: str, *values: object) -> str:
    """``printf``."""
    return printf(form, values, budget)


FUNCTIONS: Mapping[str, Function] = {
    "and": both,
    "or": either,
    "not": is_not,
    "len": length,
    "index": index,
    "eq": equal,
    "ne": not_equal,
    "lt": less,
    "le": less_or_equal,
    "gt": greater,
    "ge": greater_or_equal,
    "call": call,
    "print": print_values,
    "println": print_line,
    "printf": print_format,
}
