"""A bounded reader of YAML and JSON that remembers lines.

It works on libyaml's events, so that every limit holds while reading and not after: bytes, depth, and nodes, where an alias
counts as often as it is used (a few hundred bytes of aliases can stand for a billion nodes). Only the first document of a
file is read by :func:`read_yaml`, and of equal keys the last one counts, as in NFD; both are reported.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from nodeworthy.rules.fields import tell_rewritten
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.scalars import Kind, Scalar, parse_plain
from nodeworthy.rules.trees import MAX_DEPTH, MappingNode, Node, ScalarNode, SequenceNode, tree_error

MAX_BYTES = 1024 * 1024
"""A document for a hundred rules has 40 kB."""

MAX_NODES = 200_000
"""A document of :data:`MAX_BYTES` without aliases has fewer in all but contrived cases."""

_TAG = "tag:yaml.org,2002:"


def read_yaml(data: bytes | str, findings: Findings) -> Node:
    """The first document of a YAML or JSON text; an empty one is a null scalar.

    Raises:
        DocumentError: the text is no YAML, or passes a limit.
    """
    composer = _open(data, findings)
    with _yaml_errors(findings.source, composer.text):
        return composer.compose()


def read_yaml_documents(data: bytes | str, source: str) -> Iterator[tuple[Node, Findings]]:
    """Every document of a text, each with findings of its own; an empty one is a null scalar.

    The limits hold for the whole text: bytes, nodes, and regular expressions that need RE2, as far as whoever reads a
    document counts them in its findings before asking for the next one.

    Raises:
        DocumentError: what follows is no YAML, or passes a limit; the documents before it were good.
    """
    findings = Findings(source)
    composer = _open(data, findings)
    with _yaml_errors(source, composer.text):
        composer.begin()
    while True:
        with _yaml_errors(source, composer.text):
            node = composer.next_document()
        if node is None:
            return
        yield node, findings
        findings = composer.findings = Findings(source, max_patterns=findings.patterns_left)


def _open(data: bytes | str, findings: Findings) -> "_Composer":
    # 3 MB, and only documents need it.
    import yaml

    text = _decode(data, findings.source)
    with _yaml_errors(findings.source, text):
        return _Composer(yaml.CSafeLoader(text), text, findings)


@contextmanager
def _yaml_errors(source: str, text: str) -> Iterator[None]:
    """Turn the errors of the YAML library into one of ours."""
    import yaml

    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        message = f"this is not YAML: {error.problem or error.context}"
        raise tree_error(source, line, message, _hint_at_cause(text, line)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise tree_error(source, 0, f"this is not YAML: {str(error).splitlines()[0]}") from error


def _hint_at_cause(text: str, line: int) -> str:
    """For what is mostly the cause: files of a Helm chart as they are, and tabs."""
    written = "".join(text.split("\n")[line - 1 : line]) if line else ""
    if "{{" in written or re.search(r"^\s*\{\{", text, re.MULTILINE):
        return "it looks like a template of Helm: render it first, with helm template"
    return "YAML is indented with spaces, and here is a tab" if "\t" in written else ""


def _decode(data: bytes | str, source: str) -> str:
    if len(data) > MAX_BYTES:
        raise tree_error(source, 0, f"it is larger than {MAX_BYTES:,} bytes")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise tree_error(source, line, "it is not UTF-8 text") from error


class _Composer:
    """Builds the trees of documents from a loader's events."""

    def __init__(self, loader: Any, text: str, findings: Findings) -> None:  # noqa: ANN401 # yaml's C loader has no type
        import yaml

        self.loader = loader
        self.text = text
        self.findings = findings
        self.yaml = yaml
        self.anchors: dict[str, Node | None] = {}
        self.nodes = 0

    def compose(self) -> Node:
        """The first document."""
        self.begin()
        root = self.next_document()
        if root is None:
            return ScalarNode(1, Scalar(Kind.NULL, ""))
        self.report_further_documents()
        return root

    def begin(self) -> None:
        self.loader.get_event()

    def next_document(self) -> Node | None:
        """The next document, or ``None`` at the end of the text."""
        if self.loader.check_event(self.yaml.StreamEndEvent):
            return None
        self.loader.get_event()
        self.anchors.clear()
        root = self.node(self.loader.get_event(), "", 1)
        self.loader.get_event()
        return root

    def report_further_documents(self) -> None:
        try:
            event = self.loader.get_event()
        except self.yaml.YAMLError:
            self.findings.lax(0, "", "what follows the first document is not read", "it is not even YAML; remove it")
            return
        if not isinstance(event, self.yaml.StreamEndEvent):
            line = event.start_mark.line + 1
            self.findings.lax(line, "", "only the first document of a file is read", "put each one into its own file")

    def node(self, event: Any, path: str, depth: int) -> Node:  # noqa: ANN401 # as the loader's
        line = event.start_mark.line + 1
        if isinstance(event, self.yaml.AliasEvent):
            return self.alias(event.anchor, line, depth)
        self.count(1, depth, line)
        if event.anchor:
            # Until it is complete, an alias to it would make it contain itself.
            self.anchors[event.anchor] = None
        if isinstance(event, self.yaml.ScalarEvent):
            node: Node = ScalarNode(line, _scalar(event), written=event.value)
        elif isinstance(event, self.yaml.SequenceStartEvent):
            node = self.sequence(line, path, depth)
        else:
            node = self.mapping(line, path, depth)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def alias(self, anchor: str | None, line: int, depth: int) -> Node:
        node = self.anchors.get(anchor or "")
        if node is None:
            problem = "contains itself" if anchor in self.anchors else "is not defined before"
            raise tree_error(self.findings.source, line, f"*{(anchor or '')[:80]} {problem}")
        self.count(node.size, depth + node.depth - 1, line)
        return node

    def count(self, nodes: int, depth: int, line: int) -> None:
        self.nodes += nodes
        if depth > MAX_DEPTH:
            raise tree_error(self.findings.source, line, f"it is nested deeper than {MAX_DEPTH} levels")
        if self.nodes > MAX_NODES:
            raise tree_error(self.findings.source, line, f"it has more than {MAX_NODES:,} values, aliases written out")

    def children(self, end: type) -> Iterator[Any]:
        while not isinstance(event := self.loader.get_event(), end):
            yield event

    def sequence(self, line: int, path: str, depth: int) -> SequenceNode:
        items = [
            self.node(event, f"{path}[{index}]", depth + 1)
            for index, event in enumerate(self.children(self.yaml.SequenceEndEvent))
        ]
        return SequenceNode(line, tuple(items), *_extent(items))

    def mapping(self, line: int, path: str, depth: int) -> MappingNode:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for event in self.children(self.yaml.MappingEndEvent):
            key_line = event.start_mark.line + 1
            is_merge = isinstance(event, self.yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = "<<" if is_merge else self.key(event, path, key_line, depth)
            value = self.node(self.loader.get_event(), f"{path}.{key}" if path else key, depth + 1)
            if is_merge:
                merged.append(value)
                continue
            if key in entries:
                self.findings.lax(key_line, path, f"{key[:80]!r} stands here twice; the last one counts", "remove one")
                del entries[key]
            entries[key] = value
            lines[key] = key_line
        entries = self.merge(merged, line) | entries
        return MappingNode(line, entries, *_extent(entries.values()), lines)

    def key(self, event: Any, path: str, line: int, depth: int) -> str:  # noqa: ANN401 # as the loader's
        node = self.node(event, path, depth + 1)
        if not isinstance(node, ScalarNode) or node.scalar.kind is Kind.NULL:
            raise tree_error(self.findings.source, line, "a key must be text", _hint_at_cause(self.text, line))
        tell_rewritten(
            node, node.scalar.text, f"{path}.{node.scalar.text}" if path else node.scalar.text, self.findings
        )
        return node.scalar.text

    def merge(self, merged: list[Node], line: int) -> dict[str, Node]:
        """The entries of the maps that ``<<`` names: of equal keys the first one counts."""
        found: dict[str, Node] = {}
        for node in chain.from_iterable(node.items if isinstance(node, SequenceNode) else (node,) for node in merged):
            if not isinstance(node, MappingNode):
                raise tree_error(self.findings.source, line, "<< wants a map, or a list of maps")
            found = dict(node.entries) | found
        return found


def _extent(children: Any) -> tuple[int, int]:  # noqa: ANN401 # any collection of nodes
    nodes = list(children)
    return 1 + sum(node.size for node in nodes), 1 + max((node.depth for node in nodes), default=0)


def _scalar(event: Any) -> Scalar:  # noqa: ANN401 # as the loader's
    text: str = event.value
    if event.tag is None:
        # The first flag says that the text is plain; what is quoted is text.
        return parse_plain(text) if event.implicit[0] else Scalar(Kind.TEXT, text)
    if event.tag == _TAG + "binary":
        return Scalar(Kind.TEXT, _decode_base64(text))
    if event.tag in {_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"}:
        return parse_plain(text)
    return Scalar(Kind.TEXT, text)


def _decode_base64(text: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(text, validate=False).decode(errors="replace")
    except (binascii.Error, ValueError):
        return text
