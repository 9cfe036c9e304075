"""The values of templates and their Go types, which templates can see and comparisons depend on.

Text, booleans, floats, complex numbers and ``None`` (nil) are Python's own; a plain ``int`` is Go's ``int``. Other integers
and the kinds of lists and maps are told apart by small subclasses. A plain ``dict`` is one matched element
(``map[string]string``), a plain ``list`` a list of them.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from nodeworthy.rules.templating.problems import FunctionError

Value: TypeAlias = object


class Int64(int):
    """Go's ``int64``, which sprig's arithmetic gives."""

    __slots__ = ()


class Uint8(int):
    """Go's ``uint8``, which indexing a text gives."""

    __slots__ = ()


class Uint64(int):
    """Go's ``uint64``, which the parts of a semantic version are."""

    __slots__ = ()


class AnyList(list[Value]):
    """A list of anything."""

    __slots__ = ()


class NilList(AnyList):
    """A list of anything that was never made; JSON writes it as null."""

    __slots__ = ()


class TextList(list[str]):
    """A list of texts."""

    __slots__ = ()


class IntList(list[int]):
    """A list of ints."""

    __slots__ = ()


class ListList(list[AnyList]):
    """A list of lists of anything."""

    __slots__ = ()


class AnyDict(dict[str, Value]):
    """A map of texts to anything: what sprig's ``dict`` makes, and the only kind that its functions for maps take."""

    __slots__ = ()


class FeatureMap(dict[str, list[dict[str, str]]]):
    """The features of one domain; a name that is not there is looked for in any case."""

    __slots__ = ()


class DomainMap(dict[str, FeatureMap]):
    """All that was matched, by domain; a name that is not there is looked for in any case."""

    __slots__ = ()


def domain_map(elements: Mapping[str, Mapping[str, Iterable[Mapping[str, str]]]]) -> DomainMap:
    """What rules have matched, as the data of a template."""
    return DomainMap(
        (domain, FeatureMap((name, [dict(element) for element in found]) for name, found in features.items()))
        for domain, features in elements.items()
    )


_TYPES: dict[type, tuple[str, str]] = {
    str: ("string", "string"),
    bool: ("bool", "bool"),
    int: ("int", "int"),
    Int64: ("int64", "int64"),
    Uint8: ("uint8", "uint8"),
    Uint64: ("uint64", "uint64"),
    float: ("float64", "float64"),
    complex: ("complex128", "complex128"),
    type(None): ("<nil>", "invalid"),
    AnyList: ("[]interface {}", "slice"),
    NilList: ("[]interface {}", "slice"),
    TextList: ("[]string", "slice"),
    IntList: ("[]int", "slice"),
    ListList: ("[][]interface {}", "slice"),
    list: ("[]map[string]string", "slice"),
    dict: ("map[string]string", "map"),
    AnyDict: ("map[string]interface {}", "map"),
    FeatureMap: ("map[string][]map[string]string", "map"),
    DomainMap: ("map[string]map[string][]map[string]string", "map"),
}


def type_name(value: Value) -> str:
    """The name of a value's type in Go, as ``%T`` prints it."""
    found = _TYPES.get(type(value))
    return found[0] if found else str(getattr(value, "go_type", "unknown"))


def kind_name(value: Value) -> str:
    """The name of a value's kind in Go, as ``kindOf`` prints it."""
    found = _TYPES.get(type(value))
    return found[1] if found else str(getattr(value, "go_kind", "struct"))


def is_true(value: Value) -> bool:
    """Whether ``if`` takes its first branch: zero, nil and what is empty are false."""
    return bool(value)


def look_up(container: Mapping[str, Value], name: str) -> tuple[bool, Value]:
    """Whether a map has a name, and its value there; what rules have matched is found in any case."""
    if name in container:
        return True, container[name]
    if isinstance(container, (FeatureMap, DomainMap)):
        wanted = name.lower()
        for key in sorted(container):
            if key.lower() == wanted:
                return True, container[key]
    return False, None


def zero_of(container: Mapping[str, Value]) -> Value:
    """What ``index`` gives for a name that a map does not have: the zero value of what it holds."""
    if isinstance(container, AnyDict):
        return None
    if isinstance(container, DomainMap):
        return FeatureMap()
    return [] if isinstance(container, FeatureMap) else ""


def text_bytes(text: str) -> bytes:
    """The bytes that Go would hold; bytes that are no UTF-8 travel as lone surrogates."""
    return text.encode("utf-8", "surrogateescape")


def bytes_text(data: bytes) -> str:
    """The text of bytes, the inverse of :func:`text_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def cut(text: str, start: int | None, end: int | None) -> str:
    """A part of a text by bytes, which is how Go counts."""
    if text.isascii():
        return text[start:end]
    return bytes_text(text_bytes(text)[start:end])


def byte_length(text: str) -> int:
    """The length of a text in bytes, which is how Go counts."""
    return len(text) if text.isascii() else len(text_bytes(text))


def wrap_int64(number: int) -> Int64:
    """A number in 64 bits; it wraps around as Go's does."""
    return Int64((number + 2**63) % 2**64 - 2**63)


def items_of(value: Value, verb: str) -> list[Value]:
    """The entries of a list.

    Raises:
        FunctionError: the value is no list.
    """
    if isinstance(value, list):
        return value
    raise FunctionError(f"{verb} needs a list, and this is {type_name(value)}")
