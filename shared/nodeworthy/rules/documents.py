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
from nodeworthy.rules.prefixes import AUTO_PREFIX
from nodeworthy.rules.records import CompatibilitySet, CompatibilitySpec, RuleDocument
from nodeworthy.rules.rule_reader import GROUP_FIELDS, RULE_FIELDS, WORKER_FIELDS, read_rules
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode, tree_error, tree_from_json
from nodeworthy.rules.yaml_reader import read_yaml

API_VERSION = "nfd.k8s-sigs.io/v1alpha1"
"""The group and version under which NFD's cluster objects exist."""

OTHER_GROUPS = ("nfd.openshift.io/",)
"""Groups of any version that are read all the same: what Red Hat's operator has; the content is the same."""

OTHER_API_VERSIONS = ("nfd.node.kubernetes.io/v1", "nfd.node.kubernetes.io/v1alpha1")
"""What articles write, and no cluster has."""

SPEC_VERSION = "v1alpha1"
"""The only version of the compatibility specification (NFD, api/image-compatibility/v1alpha1)."""

KINDS = {"NodeFeatureRule": ("rules", RULE_FIELDS), "NodeFeatureGroup": ("featureGroupRules", GROUP_FIELDS)}
"""The kinds of objects that hold rules: the field of ``spec``, and the fields of a rule there."""

WORKER_KIND = "worker rules"
"""The kind of a document that is a list of rules, as in NFD's custom.d."""

_SPEC = "a compatibility specification is a map with version and compatibilities"
_RULES = "rules stand in a map with apiVersion, kind and spec, or are a list of worker rules"


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
    """The rules of one document: a NodeFeatureRule or NodeFeatureGroup object, or a list of worker rules.

    What follows the first document of a text is not read, as in NFD; :func:`nodeworthy.rules.read_rule_file` reads all.

    Raises:
        DocumentError: as in :func:`read_compatibility_spec`.
    """
    findings = Findings(source)
    document = read_rule_tree(read_yaml(data, findings), "", findings)
    findings.refuse(strict=strict)
    return document


def read_rule_object(value: object, source: str) -> RuleDocument:
    """The rules of a cluster object, as decoded JSON from the Kubernetes API, in which only text is text.

    Raises:
        DocumentError: it is no such object.
    """
    findings = Findings(source)
    document = _read_object(tree_from_json(value, source), "", findings)
    findings.refuse(strict=False)
    return document


def read_rule_tree(root: Node, path: str, findings: Findings) -> RuleDocument:
    """The rules of a tree; what is wrong with it stands in the findings."""
    if is_null(root) or isinstance(root, SequenceNode):
        rules = read_rules(root, path, WORKER_FIELDS, findings)
        return RuleDocument(WORKER_KIND, "", rules, findings.problems, findings.notices, line=root.line)
    return _read_object(root, path, findings)


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


def _require_map(root: Node, expected: str, findings: Findings) -> None:
    """End the reading of a document that is no map: whatever else could be said of it would be a consequence."""
    if not has_fields(root):
        raise tree_error(findings.source, root.line, f"{expected}; this is {kind_of(root)}")


def _read_object(root: Node, path: str, findings: Findings) -> RuleDocument:
    _require_map(root, _RULES, findings)
    fields = read_fields(root, path, ("apiVersion", "kind", "metadata", "spec", "status"), findings)
    kind = read_text(fields.get("kind"), join(path, "kind"), findings) or "NodeFeatureRule"
    if kind not in KINDS:
        hint = f"known are {', '.join(KINDS)}, and a list of worker rules"
        findings.problem(fields["kind"].line, join(path, "kind"), f"{kind[:80]!r} holds no rules", hint)
        kind = "NodeFeatureRule"
    elif "kind" not in fields and "spec" not in fields:
        findings.problem(root.line, path, f"it has neither kind nor spec: {_RULES}")
    elif is_null(fields.get("kind")):
        findings.lax(root.line, join(path, "kind"), "no kind; read as NodeFeatureRule", "write kind: NodeFeatureRule")
    _check_api_version(root, fields, path, findings)
    name, annotations = _read_metadata(fields.get("metadata"), join(path, "metadata"), findings)
    key, known = KINDS[kind]
    spec_path = join(path, "spec")
    spec = read_fields(fields.get("spec"), spec_path, (key,), findings)
    rules = read_rules(spec.get(key), join(spec_path, key), known, findings)
    return RuleDocument(
        kind=kind,
        name=name,
        rules=rules,
        problems=findings.problems,
        notices=findings.notices,
        annotations=annotations,
        line=root.line,
        auto_prefix=annotations.get(AUTO_PREFIX) != "false",
    )


def _check_api_version(root: Node, fields: dict[str, Node], path: str, findings: Findings) -> None:
    node = fields.get("apiVersion")
    place = join(path, "apiVersion")
    version = read_text(node, place, findings)
    line = (node or root).line
    if version in OTHER_API_VERSIONS or version.startswith(OTHER_GROUPS):
        findings.notice(line, place, f"NFD's clusters know {API_VERSION}, not {version[:80]}", f"write {API_VERSION}")
    elif is_null(node):
        findings.lax(line, place, f"no apiVersion; read as {API_VERSION}", f"write {API_VERSION}")
    elif version != API_VERSION and isinstance(node, ScalarNode):
        findings.problem(line, place, f"{version[:80]!r} is no group and version of rules", f"write {API_VERSION}")


def _read_metadata(node: Node | None, path: str, findings: Findings) -> tuple[str, dict[str, str]]:
    """Name and annotations; what else stands in there is Kubernetes' own, so it is not reported as unread."""
    if not isinstance(node, MappingNode):
        read_fields(node, path, (), findings)
        return "", {}
    name = read_text(node.entries.get("name"), join(path, "name"), findings)
    return name, _read_annotations(node.entries.get("annotations"), join(path, "annotations"), findings)


def _read_annotations(node: Node | None, path: str, findings: Findings) -> dict[str, str]:
    """Annotations that are text; only those of nodeworthy mean anything here, so only these are looked at."""
    entries = node.entries if isinstance(node, MappingNode) else {}
    texts = {key: value.scalar.text for key, value in entries.items() if isinstance(value, ScalarNode)}
    wish = texts.get(AUTO_PREFIX, "true")
    if wish not in ("true", "false"):
        message = f'{wish[:80]!r} is neither "true" nor "false"; the prefix is added'
        findings.bad_value(entries[AUTO_PREFIX].line, join(path, AUTO_PREFIX), message)
    return texts
