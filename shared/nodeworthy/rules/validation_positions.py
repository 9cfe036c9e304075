"""Columns: where on its line a finding stands, found by its path."""

from bisect import bisect_left
from contextlib import suppress
from typing import Any

from nodeworthy.errors import Problem


class Positions:
    """The places of keys and items in a text of YAML or JSON, all its documents."""

    def __init__(self, text: str) -> None:
        import yaml

        self._yaml = yaml
        self._lines = text.splitlines()
        self._roots: list[Any] = []
        # Whoever reads the text says where it stops to be YAML; the documents before that place are known.
        with suppress(yaml.YAMLError, RecursionError):
            self._roots.extend(filter(None, yaml.compose_all(text, Loader=yaml.CSafeLoader)))
        self._starts = [root.start_mark.line for root in self._roots]

    def column(self, problem: Problem) -> int:
        """The column of a finding, counted from 1: of its key, or of what stands first on its line; 0 without a line."""
        if not 0 < problem.line <= len(self._lines):
            return 0
        mark = self._find(problem.path, problem.line)
        if mark is not None and mark.line + 1 == problem.line:
            return int(mark.column) + 1
        line = self._lines[problem.line - 1]
        return len(line) - len(line.lstrip()) + 1

    def line(self, path: str, document: int) -> int:
        """The line of a path, counted from 1, in the document that begins on a line; 0 where it leads nowhere."""
        mark = self._find(path, document)
        return 0 if mark is None else int(mark.line) + 1

    def _find(self, path: str, line: int) -> Any:  # noqa: ANN401 # yaml's marks have no type
        """The mark of the last part of a path that exists, in the document that holds a line."""
        place = bisect_left(self._starts, max(line, 1))
        node, mark, rest = self._roots[place - 1] if place else None, None, path
        while rest and node is not None:
            if rest.startswith("["):
                index, _, rest = rest[1:].partition("]")
                items = node.value if isinstance(node, self._yaml.SequenceNode) else []
                node = items[int(index)] if index.isdecimal() and int(index) < len(items) else None
                mark = mark if node is None else node.start_mark
            else:
                key, node, rest = self._enter(node, rest.removeprefix("."))
                mark = mark if key is None else key.start_mark
        return mark

    def _enter(self, node: Any, rest: str) -> tuple[Any, Any, str]:  # noqa: ANN401 # yaml's nodes have no type
        """The entry whose key begins the rest of a path, the longest of several since keys hold dots, and what is left."""
        entries = node.value if isinstance(node, self._yaml.MappingNode) else []
        fitting = [(key, value) for key, value in entries if _begins(rest, key.value)]
        if not fitting:
            return None, None, ""
        key, value = max(fitting, key=lambda entry: len(entry[0].value))
        return key, value, rest[len(key.value) :]


def _begins(rest: str, key: object) -> bool:
    """Whether the path goes through a key; names of fields are known in any case, and other keys than texts are not."""
    if not isinstance(key, str):
        return False
    return rest[: len(key)].lower() == key.lower() and rest[len(key) : len(key) + 1] in ("", ".", "[")
