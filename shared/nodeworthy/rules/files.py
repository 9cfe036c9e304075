"""Files of rules: any number of documents, lists of objects, and objects of other kinds between them.

People keep rules beside what they are for: a file may hold a NodeFeatureRule, a ConfigMap and a DaemonSet, or the ``List``
that ``kubectl get -o yaml`` prints. One document that cannot be read harms only itself.
"""

from difflib import get_close_matches

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules.documents import KINDS, read_rule_tree
from nodeworthy.rules.fields import is_null, join, read_items
from nodeworthy.rules.findings import MAX_FINDINGS, Findings
from nodeworthy.rules.records import RuleDocument, RuleFile, UnreadableDocument
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode
from nodeworthy.rules.yaml_reader import read_yaml_documents

_OURS = "nfd."
"""How the groups begin in which objects with rules exist."""

_OTHERS = ("NodeFeature", "NodeFeatureDiscovery")
"""Kinds of these groups without rules: the facts of a node, and what Red Hat's operator is configured by."""


def read_rule_file(data: bytes | str, source: str, *, strict: bool = False) -> RuleFile:
    """All documents of a file; empty ones are passed over, and so are objects that hold no rules, with a notice.

    Raises:
        DocumentError: with ``strict`` only: a document cannot be read, or has anything that a validation refuses.
    """
    reading = _Reading(source)
    try:
        for root, findings in read_yaml_documents(data, source):
            reading.read(root, "", findings)
    except DocumentError as error:
        # What was read before is good; what follows may be anything.
        reading.leave_out("", error.problems)
    if strict and reading.objections:
        raise DocumentError(source, tuple(reading.objections[:MAX_FINDINGS]))
    return RuleFile(tuple(reading.documents), tuple(reading.notices[:MAX_FINDINGS]))


class _Reading:
    """What was found in a file so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.documents: list[RuleDocument | UnreadableDocument] = []
        self.notices: list[Problem] = []
        self.objections: list[Problem] = []

    def read(self, root: Node, path: str, findings: Findings) -> None:
        """Read one document or one item of a list."""
        if is_null(root) and not path:
            self._note(findings)
            return
        kind = _text(root, "kind")
        if kind.endswith("List") and isinstance(root, MappingNode) and "items" in root.entries:
            self._read_list(root, path, findings)
        elif kind and kind not in KINDS and not _is_meant_for_us(root, kind):
            message = f"a {kind[:80]} holds no rules, so it is passed over"
            self.notices.append(Problem(self.source, root.line, join(path, "kind"), message))
            self._note(findings)
        else:
            self._read_document(root, path, findings)

    def leave_out(self, name: str, problems: tuple[Problem, ...]) -> None:
        """Take what cannot be read."""
        self.documents.append(UnreadableDocument(name, problems))
        self.objections += problems

    def _read_list(self, root: MappingNode, path: str, findings: Findings) -> None:
        self._note(findings)
        for item, place in read_items(root.entries["items"], join(path, "items"), findings):
            own = Findings(self.source, max_patterns=findings.patterns_left)
            self.read(item, place, own)
            findings.patterns_left = own.patterns_left
        if findings.problems_in_part:
            self.leave_out("", findings.problems)

    def _read_document(self, root: Node, path: str, findings: Findings) -> None:
        try:
            document = read_rule_tree(root, path, findings)
            findings.refuse(strict=False)
        except DocumentError as error:
            self.leave_out(_name(root), error.problems)
            return
        self.documents.append(document)
        self.objections += findings.objections

    def _note(self, findings: Findings) -> None:
        """Take what was found in a document that is none of rules: equal keys."""
        self.notices += findings.notices


def _is_meant_for_us(root: Node, kind: str) -> bool:
    """Whether a kind is most likely a misspelt one of ours, and not an object that is somebody else's."""
    is_near = bool(get_close_matches(kind, KINDS, 1, 0.9))
    return is_near or (_text(root, "apiVersion").startswith(_OURS) and kind not in _OTHERS)


def _text(root: Node, key: str) -> str:
    node = root.entries.get(key) if isinstance(root, MappingNode) else None
    return node.scalar.text if isinstance(node, ScalarNode) else ""


def _name(root: Node) -> str:
    metadata = root.entries.get("metadata") if isinstance(root, MappingNode) else None
    return _text(metadata, "name") if metadata is not None else ""
