"""The documents that hold rules: NodeFeatureRule, NodeFeatureGroup, worker rules, compatibility specifications."""

from nodeworthy.rules.fields import (
    has_fields,
    has_items,
    is_null,
    join,
    kind_of,
    read_fields,
    read_integer,
    read_items,
    read_text,
)
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.records import CompatibilitySet, CompatibilitySpec, Rule, RuleDocument, UnreadableRule
from nodeworthy.rules.rule_reader import GROUP_FIELDS, RULE_FIELDS, WORKER_FIELDS, read_rules
from nodeworthy.rules.trees import MappingNode, Node, SequenceNode, tree_error, tree_from_json
from nodeworthy.rules.yaml_reader import read_yaml

API_VERSION = "nfd.k8s-sigs.io/v1alpha1"
"""The group and version under which NFD's cluster objects exist."""

OTHER_API_VERSIONS = (
    "nfd.openshift.io/v1",
    "nfd.openshift.io/v1alpha1",
    "nfd.node.kubernetes.io/v1",
    "nfd.node.kubernetes.io/v1alpha1",
)
"""What Red Hat's operator has, and what articles write; the content is the same."""

SPEC_VERSION = "v1alpha1"
"""The only version of the compatibility specification (NFD, api/image-compatibility/v1alpha1)."""

_SPEC = "a compatibility specification is a map with version and compatibilities"
_RULES = "rules stand in a map with apiVersion, kind and spec, or are a list of worker rules"

_KINDS = {"NodeFeatureRule": ("rules", RULE_FIELDS), "NodeFeatureGroup": ("featureGroupRules", GROUP_FIELDS)}


def read_compatibility_spec(data: bytes | str, source: str, *, strict: bool = False) -> CompatibilitySpec:
    """The compatibility specification of an artifact or a file; ``source`` names it in every problem.

    Raises:
        DocumentError: it is no YAML, has another version, or a part outside of rules that has the wrong kind; with
            ``strict``, also no set at all, what makes a rule unreadable, bad values, and what NFD passes over in silence.
    """
    findings = Findings(source)
    root = read_yaml(data, findings)
    _require_map(root, _SPEC, findings)
    fields = read_fields(root, "", ("version", "compatibilities"), findings)
    version = read_text(fields.get("version"), "version", findings)
    if not version:
        findings.notice(root.line, "version", "no version", f"write version: {SPEC_VERSION}")
    elif version != SPEC_VERSION:
        line = fields["version"].line
        findings.problem(line, "version", f"unsupported version {version[:80]!r}", f"it must be {SPEC_VERSION}")
    sets = tuple(
        _read_set(node, path, findings)
        for node, path in read_items(fields.get("compatibilities"), "compatibilities", findings)
    )
    if not has_items(fields.get("compatibilities")):
        # Not unreadable: whoever evaluates it has to say that nothing is left to judge.
        findings.lax(root.line, "compatibilities", "there is no compatibility set", "one at least says what is needed")
    findings.refuse(strict=strict)
    return CompatibilitySpec(version, sets, findings.problems, findings.notices)


def read_rule_document(data: bytes | str, source: str, *, strict: bool = False) -> RuleDocument:
    """The rules of a file: one NodeFeatureRule or NodeFeatureGroup object, or a list of worker rules.

    Raises:
        DocumentError: as in :func:`read_compatibility_spec`.
    """
    findings = Findings(source)
    root = read_yaml(data, findings)
    document = _read_root(root, findings)
    findings.refuse(strict=strict)
    return document


def read_rule_object(value: object, source: str) -> RuleDocument:
    """The rules of a cluster object, as decoded JSON from the Kubernetes API, in which only text is text.

    Raises:
        DocumentError: it is no such object.
    """
    findings = Findings(source)
    document = _read_object(tree_from_json(value, source), findings)
    findings.refuse(strict=False)
    return document


def _read_set(node: Node, path: str, findings: Findings) -> CompatibilitySet:
    fields = read_fields(node, path, ("rules", "weight", "tag", "description"), findings)
    rules = read_rules(fields.get("rules"), join(path, "rules"), GROUP_FIELDS, findings)
    if has_fields(node) and not has_items(fields.get("rules")):
        findings.lax(node.line, path, "this set has no rules, so it says nothing", "a set without rules is never met")
    return CompatibilitySet(
        rules=rules,
        weight=read_integer(fields.get("weight"), join(path, "weight"), findings),
        tag=read_text(fields.get("tag"), join(path, "tag"), findings),
        description=read_text(fields.get("description"), join(path, "description"), findings),
    )


def _read_root(root: Node, findings: Findings) -> RuleDocument:
    if is_null(root) or isinstance(root, SequenceNode):
        rules = read_rules(root, "", WORKER_FIELDS, findings)
        return _document("worker rules", "", rules, findings)
    return _read_object(root, findings)


def _require_map(root: Node, expected: str, findings: Findings) -> None:
    """End the reading of a document that is no map: whatever else could be said of it would be a consequence."""
    if not has_fields(root):
        raise tree_error(findings.source, root.line, f"{expected}; this is {kind_of(root)}")


def _read_object(root: Node, findings: Findings) -> RuleDocument:
    _require_map(root, _RULES, findings)
    fields = read_fields(root, "", ("apiVersion", "kind", "metadata", "spec", "status"), findings)
    kind = read_text(fields.get("kind"), "kind", findings) or "NodeFeatureRule"
    if kind not in _KINDS:
        hint = f"known are {', '.join(_KINDS)}, and a list of worker rules"
        findings.problem(fields["kind"].line, "kind", f"{kind[:80]!r} holds no rules", hint)
        kind = "NodeFeatureRule"
    _check_api_version(root, fields, findings)
    name = _read_name(fields.get("metadata"), findings)
    key, known = _KINDS[kind]
    spec = read_fields(fields.get("spec"), "spec", (key,), findings)
    rules = read_rules(spec.get(key), f"spec.{key}", known, findings)
    return _document(kind, name, rules, findings)


def _check_api_version(root: Node, fields: dict[str, Node], findings: Findings) -> None:
    version = read_text(fields.get("apiVersion"), "apiVersion", findings)
    line = fields.get("apiVersion", root).line
    if version in OTHER_API_VERSIONS:
        findings.notice(line, "apiVersion", f"NFD's clusters know {API_VERSION}, not {version}", f"write {API_VERSION}")
    elif version != API_VERSION and (version or is_null(fields.get("apiVersion"))):
        findings.lax(
            line, "apiVersion", f"{version[:80]!r} is not known; read as {API_VERSION}", f"write {API_VERSION}"
        )


def _read_name(metadata: Node | None, findings: Findings) -> str:
    if not isinstance(metadata, MappingNode):
        read_fields(metadata, "metadata", (), findings)
        return ""
    # What else stands in there is Kubernetes' own, so it is not reported as unread.
    return read_text(metadata.entries.get("name"), "metadata.name", findings)


def _document(kind: str, name: str, rules: tuple[Rule | UnreadableRule, ...], findings: Findings) -> RuleDocument:
    return RuleDocument(kind, name, rules, findings.problems, findings.notices)
