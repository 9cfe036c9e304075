"""sprig's functions of lists. None of them changes a list; all make new ones."""

import math
from collections.abc import Mapping
from itertools import count as counting

from nodeworthy.rules.templating.functions.conversions import text_list, whole
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import AnyList, ListList, NilList, TextList, Value, items_of, type_name

_UNEQUAL = counting()
"""Makes keys for values that equal nothing, themselves included."""


def identity(value: Value, budget: Budget, depth: int = 0) -> object:
    """A key that two values share if they are deeply equal: of one type, with equal parts.

    Raises:
        FunctionError: the value is too large or nested too deep.
    """
    budget.spend_node(depth)
    if isinstance(value, list):
        items = tuple([identity(item, budget, depth + 1) for item in value])
        return "list", type_name(value), isinstance(value, NilList), items
    if isinstance(value, dict):
        entries = tuple([(key, identity(value[key], budget, depth + 1)) for key in sorted(value)])
        return "map", type_name(value), entries
    if isinstance(value, float) and math.isnan(value):
        return "nan", next(_UNEQUAL)
    if isinstance(value, str):
        budget.spend_text(len(value))
    return type(value), value


def make_list(*values: object) -> AnyList:
    """``list`` and ``tuple``."""
    return AnyList(values)


def append(budget: Budget, values: object, value: object) -> AnyList:
    """A list with one entry more."""
    items = items_of(values, "this")
    budget.spend_items(len(items) + 1)
    return AnyList((*items, value))


def prepend(budget: Budget, values: object, value: object) -> AnyList:
    """A list with one entry more at its beginning."""
    items = items_of(values, "this")
    budget.spend_items(len(items) + 1)
    return AnyList((value, *items))


def concat(budget: Budget, *lists: object) -> AnyList:
    """Several lists as one."""
    parts = [items_of(one, "this") for one in lists]
    budget.spend_items(sum(map(len, parts)))
    return AnyList(item for part in parts for item in part) if any(parts) else NilList()


def first(values: object) -> Value:
    """The first entry; nil if there is none."""
    items = items_of(values, "this")
    return items[0] if items else None


def last(values: object) -> Value:
    """The last entry; nil if there is none."""
    items = items_of(values, "this")
    return items[-1] if items else None


def rest(values: object) -> AnyList:
    """All but the first entry."""
    items = items_of(values, "this")
    return AnyList(items[1:]) if items else NilList()


def initial(values: object) -> AnyList:
    """All but the last entry."""
    items = items_of(values, "this")
    return AnyList(items[:-1]) if items else NilList()


def reverse(values: object) -> AnyList:
    """The last entry first."""
    return AnyList(items_of(values, "this")[::-1])


def compact(values: object) -> AnyList:
    """Without entries that are empty."""
    return AnyList(item for item in items_of(values, "this") if item)


def uniq(budget: Budget, values: object) -> AnyList:
    """Every entry once, in the order in which they come first."""
    found: dict[object, Value] = {}
    for item in items_of(values, "this"):
        found.setdefault(identity(item, budget), item)
    return AnyList(found.values())


def without(budget: Budget, values: object, *unwanted: object) -> AnyList:
    """Without some entries."""
    omitted = {identity(one, budget) for one in unwanted}
    return AnyList(item for item in items_of(values, "this") if identity(item, budget) not in omitted)


def has(budget: Budget, wanted: object, values: object) -> bool:
    """Whether a list has an entry; nil has none."""
    if values is None:
        return False
    key = identity(wanted, budget)
    return any(identity(item, budget) == key for item in items_of(values, "this"))


def slice_list(values: object, *bounds: object) -> Value:
    """``slice``: the entries from a place to another; of lists only, for sprig's takes the place of Go's own."""
    items = items_of(values, "this")
    if not items:
        return None
    start = whole(bounds[0]) if bounds else 0
    end = whole(bounds[1]) if len(bounds) > 1 else len(items)
    if not 0 <= start <= end <= len(items):
        raise FunctionError(f"there is no part from {start} to {end}; there are {len(items)} entries")
    return type(items)(items[start:end])


def chunk(size: int, values: object) -> ListList:
    """The list in pieces of a size, the last one as long as it comes."""
    items = items_of(values, "this")
    if size <= 0:
        raise FunctionError("the size must be at least 1")
    return ListList(AnyList(items[place : place + size]) for place in range(0, len(items), size))


def sort_alpha(budget: Budget, values: object) -> TextList:
    """The entries as texts in the order of their bytes."""
    texts = text_list(budget, values) if values is not None else TextList(["<nil>"])
    budget.spend_items(len(texts) * max(1, len(texts).bit_length() // 2))
    return TextList(sorted(texts)) if isinstance(values, list) else TextList(texts)


FUNCTIONS: Mapping[str, Function] = {
    "list": make_list,
    "tuple": make_list,
    "append": append,
    "push": append,
    "mustAppend": append,
    "mustPush": append,
    "prepend": prepend,
    "mustPrepend": prepend,
    "concat": concat,
    "first": first,
    "mustFirst": first,
    "last": last,
    "mustLast": last,
    "rest": rest,
    "mustRest": rest,
    "initial": initial,
    "mustInitial": initial,
    "reverse": reverse,
    "mustReverse": reverse,
    "compact": compact,
    "mustCompact": compact,
    "uniq": uniq,
    "mustUniq": uniq,
    "without": without,
    "mustWithout": without,
    "has": has,
    "mustHas": has,
    "slice": slice_list,
    "mustSlice": slice_list,
    "chunk": chunk,
    "mustChunk": chunk,
    "sortAlpha": sort_alpha,
}
