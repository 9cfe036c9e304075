"""Rule documents as NFD takes them: real group and version, long forms, nothing that nobody reads.

NFD's cluster objects know no short forms, and its API server refuses what it does not know. What a rule means does not
change: where the long form would mean something else, that is said, and where there is none nothing is converted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules.documents import API_VERSION, KINDS, SPEC_VERSION, read_compatibility_spec
from nodeworthy.rules.files import read_rule_file
from nodeworthy.rules.flag_sets import FLAG_SETS
from nodeworthy.rules.records import (
    CompatibilitySpec,
    Expression,
    Operator,
    Rule,
    RuleDocument,
    Taint,
    Term,
    UnreadableRule,
)
from nodeworthy.rules.scalars import Kind, parse_plain
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode
from nodeworthy.rules.validation import is_specification, rules_path
from nodeworthy.rules.yaml_reader import read_yaml_documents

_TEXTS = ("labels", "annotations")
_METADATA = ("name", "namespace", *_TEXTS)
"""What an author writes; the rest of an object's metadata is the cluster's."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""A copy of the object as it was; kubectl writes it anew."""

_ONLY_OBJECTS = frozenset({Operator.GE, Operator.LE, Operator.GE_LE})
"""Operators that NFD's worker does not know (NFD, source/custom/api)."""


_PRESENCE = {frozenset({"true"}): Operator.EXISTS, frozenset({"false"}): Operator.DOES_NOT_EXIST}
"""What a flag's values by which an expression holds are as a question for presence."""


class Converted(msgspec.Struct, frozen=True):
    """The documents of a file, ready to be written, and what their author should know."""

    documents: tuple[Mapping[str, Any] | Sequence[Any], ...]
    notices: tuple[Problem, ...] = ()


def convert_file(data: bytes, file: str) -> Converted:
    """Every document with rules in NFD's own form; comments, unread fields and objects of other kinds are not in it.

    Raises:
        DocumentError: a part cannot be read, or has no long form: half a file would be another file.
    """
    if is_specification(data):
        spec = read_compatibility_spec(data, file)
        written, told = _convert_specification(spec, file)
        return _finish(file, [written], [*spec.problems, *told.problems], [*spec.notices, *told.notices])
    found = read_rule_file(data, file)
    problems: list[Problem] = []
    notices: list[Problem] = [*found.notices]
    documents: list[Mapping[str, Any] | Sequence[Any]] = []
    metadata = dict(_metadata(data, file))
    for document in found.documents:
        problems += document.problems
        if isinstance(document, RuleDocument):
            written_document, told = _convert_document(document, file, metadata.get((document.line, document.name)))
            documents.append(written_document)
            problems += told.problems
            notices += [*document.notices, *told.notices]
    if not found.documents:
        problems.append(Problem(file, 0, "", "there are no rules in this file"))
    return _finish(file, documents, problems, notices)


def write_rule(rule: Rule) -> Mapping[str, Any]:
    """One rule of our own making as a document holds it; its expressions are long forms already."""
    return _write_rule(rule, "", _Told("", 0))


def write_yaml(documents: Iterable[Mapping[str, Any] | Sequence[Any]]) -> str:
    """The documents as YAML in which every text stays a text for YAML 1.1 as Go reads it: ``"y"``, ``"1e3"``, ``"0302"``."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes more than Python's own rules, by which ``y`` and ``1e3`` would be texts."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 # the base's signature
            return True

    def represent(dumper: Dumper, text: str) -> yaml.ScalarNode:
        is_plain = parse_plain(text).kind is Kind.TEXT and text.replace("\n", "").isprintable()
        style = '"' if not is_plain else "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)


def _finish(
    file: str,
    documents: Iterable[Mapping[str, Any] | Sequence[Any]],
    problems: Sequence[Problem],
    notices: Sequence[Problem],
) -> Converted:
    if problems:
        raise DocumentError(
            file, tuple(problems), todo=f"mend it; see all of it with: nodeworthy rules validate {file}"
        )
    return Converted(tuple(documents), tuple(notices))


class _Told:
    """What is found while one document is written."""

    def __init__(self, file: str, line: int) -> None:
        self._file = file
        self._line = line
        self.problems: list[Problem] = []
        self.notices: list[Problem] = []

    def problem(self, path: str, message: str, hint: str) -> None:
        self.problems.append(Problem(self._file, self._line, path, message, hint))

    def notice(self, path: str, message: str, hint: str) -> None:
        self.notices.append(Problem(self._file, self._line, path, message, hint))


def _convert_specification(spec: CompatibilitySpec, file: str) -> tuple[Mapping[str, Any], _Told]:
    told = _Told(file, 0)
    sets = []
    for place, one in enumerate(spec.compatibilities):
        head = {"description": one.description, "tag": one.tag, "weight": one.weight}
        rules = _write_rules(one.rules, f"compatibilities[{place}].rules", told)
        sets.append({name: value for name, value in head.items() if value} | {"rules": rules})
    return {"version": SPEC_VERSION, "compatibilities": sets}, told


def _convert_document(
    document: RuleDocument, file: str, metadata: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any] | Sequence[Any], _Told]:
    told = _Told(file, document.line)
    rules = _write_rules(document.rules, rules_path(document), told)
    if document.kind not in KINDS:
        _tell_worker(document.rules, told)
        return rules, told
    if not document.name:
        told.notice("metadata.name", "the object has no name", "a cluster takes none without")
    head = {"apiVersion": API_VERSION, "kind": document.kind}
    return head | {"metadata": metadata or {}, "spec": {KINDS[document.kind][0]: rules}}, told


def _tell_worker(rules: Iterable[Rule | UnreadableRule], told: _Told) -> None:
    """NFD's worker refuses a whole file for an operator that it does not know, and drops the type."""
    for place, rule in enumerate(rules):
        for expression in _expressions(rule) if isinstance(rule, Rule) else ():
            if expression.operator in _ONLY_OBJECTS or expression.type:
                what = f"type: {expression.type}" if expression.type else expression.operator.value
                hint = "NodeFeatureRule objects may have it"
                told.notice(f"[{place}]", f"rule {rule.name[:80]!r}: NFD's worker does not know {what}", hint)


def _expressions(rule: Rule) -> Iterator[Expression]:
    for term in (*rule.match_features, *(term for element in rule.match_any for term in element)):
        yield from (term.expressions or {}).values()
        if term.name is not None:
            yield term.name


def _write_rules(rules: Iterable[Rule | UnreadableRule], path: str, told: _Told) -> list[dict[str, Any]]:
    readable = [(place, rule) for place, rule in enumerate(rules) if isinstance(rule, Rule)]
    return [_write_rule(rule, f"{path}[{place}]", told) for place, rule in readable]


def _write_rule(rule: Rule, path: str, told: _Told) -> dict[str, Any]:
    written = {
        "name": rule.name,
        "labels": dict(rule.labels),
        "labelsTemplate": rule.labels_template,
        "annotations": dict(rule.annotations),
        "vars": dict(rule.vars),
        "varsTemplate": rule.vars_template,
        "taints": [_write_taint(taint) for taint in rule.taints],
        "extendedResources": dict(rule.extended_resources),
        "matchFeatures": _write_terms(rule.match_features, f"{path}.matchFeatures", told),
        "matchAny": [
            {"matchFeatures": _write_terms(terms, f"{path}.matchAny[{place}].matchFeatures", told)}
            for place, terms in enumerate(rule.match_any)
        ],
    }
    return {name: value for name, value in written.items() if value or name == "name"}


def _write_taint(taint: Taint) -> dict[str, str]:
    written = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: value for name, value in written.items() if value}


def _write_terms(terms: Iterable[Term], path: str, told: _Told) -> list[dict[str, Any]]:
    return [_write_term(term, f"{path}[{place}]", told) for place, term in enumerate(terms)]


def _write_term(term: Term, path: str, told: _Told) -> dict[str, Any]:
    written: dict[str, Any] = {"feature": term.feature}
    if term.expressions is not None:
        written["matchExpressions"] = {
            name: _write_expression(_as_nfd(expression, term, name, place, told), place, told)
            for name, expression in term.expressions.items()
            for place in [f"{path}.matchExpressions.{name}"]
        }
    if term.name is not None:
        written["matchName"] = _write_expression(term.name, f"{path}.matchName", told)
    return written


def _write_expression(expression: Expression, path: str, told: _Told) -> dict[str, Any]:
    if expression.operator is Operator.ANY:
        told.problem(path, "an expression without op is always true, and NFD's clusters take none", "remove it")
    written = {"op": expression.operator.value, "value": list(expression.values), "type": expression.type}
    return {name: value for name, value in written.items() if value}


def _as_nfd(expression: Expression, term: Term, name: str, path: str, told: _Told) -> Expression:
    """An expression of which a flag counts as true or false, for NFD, in which a flag has no value."""
    if not expression.reads_flags:
        return expression
    attributes = FLAG_SETS.get(term.feature.lower())
    is_flag = attributes is not None and name not in attributes
    presence = _flag_operator(expression)
    if is_flag and presence is not None:
        return Expression(presence)
    # Of an attribute it means the same in NFD, and of an instance.
    plain = Expression(expression.operator, expression.values, expression.type)
    if is_flag:
        told.problem(
            path, f"NFD cannot ask this of a flag of {term.feature}", "write {op: Exists} or {op: DoesNotExist}"
        )
    elif presence is not None and attributes is None and "." in term.feature:
        hint = f"write {{op: {presence}}} if {name[:80]} is a flag"
        told.notice(path, f"of a flag NFD never answers {plain.operator} with yes", hint)
    return plain


def _flag_operator(expression: Expression) -> Operator | None:
    """What an expression that reads flags as ``true`` and ``false`` asks of one; ``None``: it always or never holds."""
    is_met_by = {flag for flag in ("true", "false") if _holds(expression, flag)}
    return _PRESENCE.get(frozenset(is_met_by))


def _holds(expression: Expression, flag: str) -> bool:
    match expression.operator:
        case Operator.IN:
            return flag in expression.values
        case Operator.NOT_IN:
            return flag not in expression.values
        case Operator.IS_TRUE:
            return flag == "true"
        case _:
            return flag == "false"


def _metadata(data: bytes, file: str) -> Iterator[tuple[tuple[int, str], Mapping[str, Any]]]:
    """What the author wrote into the metadata of every object: by its line and name."""
    try:
        roots = [root for root, _ in read_yaml_documents(data, file)]
    except DocumentError:
        return  # whoever reads the rules says so
    while roots:
        root = roots.pop()
        entries = root.entries if isinstance(root, MappingNode) else {}
        items = entries.get("items")
        if isinstance(items, SequenceNode):
            roots += items.items
        found = entries.get("metadata")
        if isinstance(found, MappingNode):
            written = dict(_write_metadata(found))
            yield (root.line, str(written.get("name", ""))), written


def _write_metadata(found: MappingNode) -> Iterator[tuple[str, Any]]:
    for name in _METADATA:
        node: Node | None = found.entries.get(name)
        if name in _TEXTS and isinstance(node, MappingNode):
            texts = {key: value.scalar.text for key, value in node.entries.items() if isinstance(value, ScalarNode)}
            texts.pop(_LAST_APPLIED, None)
            if texts:
                yield name, texts
        elif isinstance(node, ScalarNode) and name not in _TEXTS:
            yield name, node.scalar.text
