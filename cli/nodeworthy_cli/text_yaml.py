"""YAML in which every scalar is text, as JSON: what ``features -o yaml`` wrote.

A features file holds values such as ``y``, ``010`` and ``2`` that YAML would read as other things.
"""

from typing import Any

import msgspec
import yaml

from nodeworthy.errors import FeatureDocumentError

_MAX_NODES = 1_000_000
"""Nodes, where an alias counts as often as it is used: some hundred bytes of aliases can stand for a billion."""

_MAX_DEPTH = 20
"""A features file is six levels deep."""


def read_text_yaml(data: bytes, source: str) -> bytes:
    """The document as JSON; a null (``~`` or nothing) stays null.

    Raises:
        FeatureDocumentError: it is no YAML, or passes a limit.
    """
    try:
        root = yaml.compose(data, Loader=yaml.CBaseLoader)
        return msgspec.json.encode(_Walk().plain(root, _MAX_DEPTH))
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FeatureDocumentError(
            f"{source} is not a features file", why=why, todo="write one with: nodeworthy features -o yaml"
        ) from error


class _Walk:
    def __init__(self) -> None:
        self.nodes = 0

    def plain(self, node: yaml.Node | None, levels: int) -> Any:  # noqa: ANN401 # whatever JSON has
        self.nodes += 1
        if self.nodes > _MAX_NODES or not levels:
            raise ValueError(f"it has more than {_MAX_NODES:,} nodes or {_MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): self.plain(value, levels - 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item, levels - 1) for item in node.value]
        if isinstance(node, yaml.ScalarNode) and (node.style or node.value not in {"", "~", "null"}):
            return node.value
        return None
