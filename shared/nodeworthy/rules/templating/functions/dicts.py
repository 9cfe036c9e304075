"""sprig's functions of maps. They take maps that ``dict`` made, not what rules have matched.

``set``, ``unset`` and ``merge`` change the map itself.
"""

from collections.abc import Mapping

from nodeworthy.rules.templating.functions.strings import to_string
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import AnyDict, AnyList, TextList, Value, type_name


def make_dict(budget: Budget, *values: object) -> AnyDict:
    """``dict``: names and values in turns; a name without a value has the empty text."""
    found = AnyDict()
    for place in range(0, len(values), 2):
        found[to_string(budget, values[place])] = values[place + 1] if place + 1 < len(values) else ""
    return found


def _present(values: AnyDict | None) -> AnyDict:
    return AnyDict() if values is None else values


def get(values: AnyDict, name: str) -> Value:
    """The value of a name, or the empty text."""
    return _present(values).get(name, "")


def set_value(values: AnyDict, name: str, value: object) -> AnyDict:
    """``set``: give a name a value in the map itself."""
    if values is None:
        raise FunctionError("nil is no map that could be changed")
    values[name] = value
    return values


def unset(values: AnyDict, name: str) -> AnyDict:
    """Take a name out of the map itself."""
    target = _present(values)
    target.pop(name, None)
    return target


def has_key(values: AnyDict, name: str) -> bool:
    """Whether the map has a name."""
    return name in _present(values)


def pluck(name: str, *maps: AnyDict) -> AnyList:
    """The values of a name in several maps."""
    return AnyList(one[name] for one in maps if one is not None and name in one)


def keys(*maps: AnyDict) -> TextList:
    """The names of several maps. Go gives them in random order; here they are sorted."""
    return TextList(key for one in maps for key in sorted(_present(one)))


def values_of(values: AnyDict) -> AnyList:
    """``values``, in the order of their names. Go's order is random."""
    return AnyList(value for _, value in sorted(_present(values).items(), key=lambda entry: entry[0]))


def pick(values: AnyDict, *names: str) -> AnyDict:
    """The map with these names alone."""
    return AnyDict((name, values[name]) for name in names if name in _present(values))


def omit(values: AnyDict, *names: str) -> AnyDict:
    """The map without these names."""
    omitted = set(names)
    return AnyDict((name, value) for name, value in _present(values).items() if name not in omitted)


def dig(*path: object) -> Value:
    """The value at the end of a path of names through maps; before the map stands what is given where a name is missing."""
    if len(path) < 3:  # noqa: PLR2004 # a name, a default and a map
        raise FunctionError("needs a name, a default and a map at least")
    *names, default, current = path
    for name in names:
        if not isinstance(current, AnyDict):
            raise FunctionError(f"this is {type_name(current)}, not a map made by dict")
        if not isinstance(name, str):
            raise FunctionError(f"a name is a text, not {type_name(name)}")
        if name not in current:
            return default
        current = current[name]
    return current


def merge(budget: Budget, target: AnyDict, *others: AnyDict) -> AnyDict:
    """Fill what the first map does not have, or has empty, from the others, in the map itself."""
    merged = _present(target)
    for other in others:
        _merge(budget, merged, _present(other), 0, overwrites=False)
    return merged


def merge_overwrite(budget: Budget, target: AnyDict, *others: AnyDict) -> AnyDict:
    """Overwrite the first map with what the others have that is not empty, in the map itself."""
    merged = _present(target)
    for other in others:
        _merge(budget, merged, _present(other), 0, overwrites=True)
    return merged


def _merge(budget: Budget, target: AnyDict, source: AnyDict, depth: int, *, overwrites: bool) -> None:
    # As dario.cat/mergo does: maps inside of maps are merged, everything else is taken or left as a whole.
    for name, value in sorted(source.items(), key=lambda entry: entry[0]):
        budget.spend_node(depth)
        present = target.get(name)
        if isinstance(present, AnyDict) and isinstance(value, AnyDict):
            _merge(budget, present, value, depth + 1, overwrites=overwrites)
        elif name not in target or (value if overwrites else not present):
            target[name] = value


def deep_copy(budget: Budget, value: object) -> Value:
    """A value that shares no map and no list with the old one."""
    if value is None:
        raise FunctionError("nil cannot be copied")
    return _copy(budget, value, 0)


def _copy(budget: Budget, value: Value, depth: int) -> Value:
    budget.spend_node(depth)
    if isinstance(value, list):
        return type(value)([_copy(budget, item, depth + 1) for item in value])
    if isinstance(value, dict):
        return type(value)((name, _copy(budget, inner, depth + 1)) for name, inner in value.items())
    return value


FUNCTIONS: Mapping[str, Function] = {
    "dict": make_dict,
    "get": get,
    "set": set_value,
    "unset": unset,
    "hasKey": has_key,
    "pluck": pluck,
    "keys": keys,
    "values": values_of,
    "pick": pick,
    "omit": omit,
    "dig": dig,
    "merge": merge,
    "mustMerge": merge,
    "mergeOverwrite": merge_overwrite,
    "mustMergeOverwrite": merge_overwrite,
    "deepCopy": deep_copy,
    "mustDeepCopy": deep_copy,
}
