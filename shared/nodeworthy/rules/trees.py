"""The tree of a document: what YAML and JSON have in common, with the line of everything.

Trees come from text (yaml_reader) or from JSON that is decoded already.
"""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules.scalars import Kind, Scalar

MAX_DEPTH = 100
"""NFD refuses expressions nested deeper; its deepest document needs about ten levels."""


class ScalarNode(msgspec.Struct, frozen=True):
    """A scalar; ``exact`` where it comes from typed JSON, in which only text is text."""

    line: int
    scalar: Scalar
    exact: bool = False
    size: int = 1
    depth: int = 1
    written: str = ""
    """As it stands in YAML, where ``5.10`` without quotes is the number 5.1; empty where it comes from JSON."""


class SequenceNode(msgspec.Struct, frozen=True):
    """A list."""

    line: int
    items: tuple["Node", ...]
    size: int
    depth: int


class MappingNode(msgspec.Struct, frozen=True):
    """A map; keys in the order of the document, of equal ones the last."""

    line: int
    entries: Mapping[str, "Node"]
    size: int
    depth: int
    lines: Mapping[str, int] = {}
    """Where each key stands."""


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def tree_from_json(value: object, source: str) -> Node:
    """The tree of JSON that is decoded already, as the Kubernetes API gives it: there, only text is text.

    Raises:
        DocumentError: it is nested too deeply, or holds what JSON cannot.
    """
    return _from_json(value, source, MAX_DEPTH)


def _from_json(value: object, source: str, levels: int) -> Node:
    if not levels:
        raise tree_error(source, 0, f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        entries = {str(key): _from_json(item, source, levels - 1) for key, item in value.items()}
        return MappingNode(0, entries, 1, 1)
    if isinstance(value, list | tuple):
        return SequenceNode(0, tuple(_from_json(item, source, levels - 1) for item in value), 1, 1)
    if isinstance(value, str):
        return ScalarNode(0, Scalar(Kind.TEXT, value), exact=True)
    if value is None:
        return ScalarNode(0, Scalar(Kind.NULL, ""), exact=True)
    if isinstance(value, bool):
        return ScalarNode(0, Scalar(Kind.BOOLEAN, str(value).lower()), exact=True)
    if isinstance(value, int | float):
        kind = Kind.INTEGER if isinstance(value, int) else Kind.FLOAT
        return ScalarNode(0, Scalar(kind, str(value), value), exact=True)
    raise tree_error(source, 0, f"{type(value).__name__} is nothing that JSON has")


def tree_error(source: str, line: int, message: str, hint: str = "") -> DocumentError:
    """The error that ends the reading of a document."""
    return DocumentError(source, (Problem(source, line, "", message, hint),))
