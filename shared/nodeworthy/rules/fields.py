"""Reading fields out of a document's tree: what is there, what has the wrong kind, what nobody reads."""

from collections.abc import Iterator, Mapping, Sequence

from nodeworthy.rules.findings import Findings
from nodeworthy.rules.scalars import Kind
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode


def kind_of(node: Node) -> str:
    """What a person calls the node."""
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    if node.scalar.kind in (Kind.NULL, Kind.TEXT):
        return "nothing" if node.scalar.kind is Kind.NULL else "text"
    return f"a {node.scalar.kind}"


def is_null(node: Node | None) -> bool:
    """Whether the node is absent or null, which mean the same everywhere."""
    return node is None or (isinstance(node, ScalarNode) and node.scalar.kind is Kind.NULL)


def has_fields(node: Node) -> bool:
    """Whether the node is a map, or null, which is an empty one; what else it is, is told when it is read."""
    return isinstance(node, MappingNode) or is_null(node)


def has_items(node: Node | None) -> bool:
    """Whether something stands in a list, be it what is no list at all; that is told when it is read."""
    return not (is_null(node) or (isinstance(node, SequenceNode) and not node.items))


def read_fields(node: Node | None, path: str, known: Sequence[str], findings: Findings) -> dict[str, Node]:
    """The fields of a map under their known names; case is ignored, as Go's JSON decoder does.

    Fields that are not known are lax places; a node that is no map is a problem, and has no fields.
    """
    if node is None or is_null(node):
        return {}
    if not isinstance(node, MappingNode):
        findings.problem(node.line, path, f"this must be a map, and it is {kind_of(node)}")
        return {}
    names = {name.lower(): name for name in known}
    found: dict[str, Node] = {}
    for key, value in node.entries.items():
        name = names.get(key.lower())
        if name is None:
            report_unknown(key, node, path, known, findings)
        else:
            found[name] = value
    return found


def report_unknown(key: str, node: MappingNode, path: str, known: Sequence[str], findings: Findings) -> None:
    """Note a field that nobody reads, with what may have been meant."""
    from difflib import get_close_matches

    near = get_close_matches(key, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    findings.lax(node.lines.get(key, node.line), join(path, key[:80]), "nobody reads this field", hint)


def read_text(node: Node | None, path: str, findings: Findings) -> str:
    """The text of a scalar; null is the empty text, and numbers and bools are written out (see scalars)."""
    if node is None:
        return ""
    if isinstance(node, ScalarNode) and not (node.exact and node.scalar.kind not in (Kind.TEXT, Kind.NULL)):
        return node.scalar.text
    findings.problem(node.line, path, f"this must be text, and it is {kind_of(node)}")
    return ""


def read_text_map(node: Node | None, path: str, findings: Findings) -> dict[str, str]:
    """A map of texts; null is an empty one."""
    if node is None or is_null(node):
        return {}
    if not isinstance(node, MappingNode):
        findings.problem(node.line, path, f"this must be a map of texts, and it is {kind_of(node)}")
        return {}
    texts: dict[str, str] = {}
    for key, value in node.entries.items():
        texts[key] = read_text(value, join(path, key), findings)
        if isinstance(value, ScalarNode):
            tell_rewritten(value, texts[key], join(path, key), findings)
    return texts


def tell_rewritten(node: ScalarNode, text: str, path: str, findings: Findings) -> None:
    """Tell where YAML makes another text of what is written, which few authors mean."""
    is_rewritten = node.scalar.kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT) and node.written not in ("", text)
    if is_rewritten:
        said = f"{node.written[:80]} without quotes is read as {text[:80]}"
        findings.notice(node.line, path, said, f'write "{node.written[:80]}" for the text')


def read_items(node: Node | None, path: str, findings: Findings) -> Iterator[tuple[Node, str]]:
    """The items of a list with their paths; null is an empty one."""
    if node is None or is_null(node):
        return
    if not isinstance(node, SequenceNode):
        findings.problem(node.line, path, f"this must be a list, and it is {kind_of(node)}")
        return
    for index, item in enumerate(node.items):
        yield item, f"{path}[{index}]"


def read_integer(node: Node | None, path: str, findings: Findings) -> int:
    """A whole number within 64 bits; null is 0, and 5.0 is 5 as in JSON."""
    if node is None or is_null(node):
        return 0
    number = node.scalar.number if isinstance(node, ScalarNode) else None
    if number is None or number != int(number) or not -(2**63) <= number < 2**63:
        findings.problem(node.line, path, f"this must be a whole number, and it is {kind_of(node)}")
        return 0
    return int(number)


def line_of(key: str, node: Node, entries: Mapping[str, Node]) -> int:
    """The line of a key, or of what stands around it."""
    if isinstance(node, MappingNode) and key in node.lines:
        return node.lines[key]
    return entries[key].line if key in entries else node.line


def join(path: str, key: str) -> str:
    """The path of a map's entry."""
    return f"{path}.{key}" if path else key
