"""JSON as Go's encoding/json reads and writes it."""

import json
import math
from collections.abc import Iterator, Mapping

from nodeworthy.rules.templating.formatting import float_text
from nodeworthy.rules.templating.limits import MAX_DEPTH, Budget
from nodeworthy.rules.templating.problems import FunctionError
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import AnyDict, AnyList, NilList, Value, type_name

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_LINES = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})
_INDENT = "  "


def to_json(budget: Budget, value: object) -> str:
    """``toJson``: on one line, safe inside of HTML; the empty text where a value has no JSON."""
    try:
        return must_to_json(budget, value)
    except _NoJsonError:
        return ""


def to_pretty_json(budget: Budget, value: object) -> str:
    """``toPrettyJson``: on several lines; the empty text where a value has no JSON."""
    try:
        return must_to_pretty_json(budget, value)
    except _NoJsonError:
        return ""


def must_to_json(budget: Budget, value: object) -> str:
    """``mustToJson``: as ``toJson``, with an error instead of the empty text."""
    return _written(budget, value).translate(_HTML)


def must_to_pretty_json(budget: Budget, value: object) -> str:
    """``mustToPrettyJson``: as ``toPrettyJson``, with an error instead of the empty text."""
    return _written(budget, value, indent=_INDENT).translate(_HTML)


def to_raw_json(budget: Budget, value: object) -> str:
    """``toRawJson``: on one line, as the values are."""
    return _written(budget, value)


class _NoJsonError(FunctionError):
    """A value has no JSON."""


def _written(budget: Budget, value: Value, indent: str = "") -> str:
    parts: list[str] = []
    for part in _pieces(value, budget, 0, indent):
        budget.spend_text(len(part))
        parts.append(part)
    return "".join(parts)


def _pieces(value: Value, budget: Budget, depth: int, indent: str) -> Iterator[str]:
    budget.spend_node(depth)
    if isinstance(value, NilList) or value is None:
        yield "null"
    elif isinstance(value, list):
        yield from _list_pieces(value, budget, depth, indent)
    elif isinstance(value, dict):
        yield from _map_pieces(value, budget, depth, indent)
    else:
        yield _scalar(value)


def _line(indent: str, depth: int) -> str:
    return "\n" + indent * depth if indent else ""


def _list_pieces(value: list[Value], budget: Budget, depth: int, indent: str) -> Iterator[str]:
    yield "["
    for number, item in enumerate(value):
        yield ("," if number else "") + _line(indent, depth + 1)
        yield from _pieces(item, budget, depth + 1, indent)
    yield (_line(indent, depth) if value else "") + "]"


def _map_pieces(value: dict[str, Value], budget: Budget, depth: int, indent: str) -> Iterator[str]:
    yield "{"
    for number, name in enumerate(sorted(value)):
        yield ("," if number else "") + _line(indent, depth + 1) + _text(name) + (": " if indent else ":")
        yield from _pieces(value[name], budget, depth + 1, indent)
    yield (_line(indent, depth) if value else "") + "}"


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _text(value)
    written = getattr(value, "json_text", None)
    if written is None:
        raise _NoJsonError(f"{type_name(value)} has no JSON")
    return _text(written())


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise _NoJsonError("infinity and NaN have no JSON")
    size = abs(value)
    verb = "e" if size and (size < 1e-6 or size >= 1e21) else "f"  # noqa: PLR2004 # where ES6 changes the form
    text = float_text(size, verb, None)
    if verb == "e" and text[-4:-1] == "e-0":
        text = text[:-2] + text[-1]
    return ("-" if math.copysign(1, value) < 0 else "") + text


def _text(value: str) -> str:
    clean = "".join(["\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in value])
    return json.dumps(clean, ensure_ascii=False).translate(_LINES)


def from_json(budget: Budget, text: str) -> Value:
    """``fromJson``: the value; nil where the text is no JSON."""
    try:
        return must_from_json(budget, text)
    except _NoJsonError:
        return None


def must_from_json(budget: Budget, text: str) -> Value:
    """``mustFromJson``: as ``fromJson``, with an error instead of nil."""
    budget.spend_items(sum(map(text.count, "[{,")))
    if _depth(text) > MAX_DEPTH:
        raise FunctionError(f"the JSON is nested deeper than {MAX_DEPTH} levels")
    try:
        return _value(json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_refuse))
    except (ValueError, OverflowError) as error:
        raise _NoJsonError(f"this is no JSON: {error}") from error


def _depth(text: str) -> int:
    """How deep brackets nest; those inside of texts count too, which may only make it more."""
    depth = deepest = 0
    for letter in text:
        if letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} does not fit into a float")
    return number


def _refuse(text: str) -> Value:
    raise ValueError(f"{text} is no JSON")


def _value(value: Value) -> Value:
    if isinstance(value, list):
        return AnyList(map(_value, value))
    if isinstance(value, dict):
        return AnyDict((name, _value(inner)) for name, inner in value.items())
    return value


FUNCTIONS: Mapping[str, Function] = {
    "toJson": to_json,
    "toPrettyJson": to_pretty_json,
    "toRawJson": to_raw_json,
    "mustToJson": must_to_json,
    "mustToPrettyJson": must_to_pretty_json,
    "mustToRawJson": to_raw_json,
    "fromJson": from_json,
    "mustFromJson": must_from_json,
}
