"""Names that rules ask of other rules and of facts, looked at before any node is asked: those that nobody gives."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodeworthy.rules import MATCHED_SET, Operator, Rule, RuleDocument
from nodeworthy.rules.known_sets import INSTANCE_SETS, KNOWN_SETS, is_known_element, is_known_set, nearest
from nodeworthy.rules.prefixes import DEFAULT_PREFIX
from nodeworthy.rules.validation import OpenValidation, rules_path

_PARTS = 3
_SAYS_NOTHING = (Operator.ANY, Operator.DOES_NOT_EXIST)


class _Place(NamedTuple):
    """One rule, where it stands."""

    validation: OpenValidation
    document: int
    number: int
    path: str
    rule: Rule

    def warn(self, path: str, message: str, hint: str) -> None:
        self.validation.add_warning(self.document, f"{self.path}.{path}", message, hint)


class _Scope:
    """Rules that see each other's names: those of a cluster, or those of one group."""

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self.givers: defaultdict[str, list[_Place]] = defaultdict(list)
        self.may_give_anything = False

    def add(self, validation: OpenValidation, number: int, document: RuleDocument) -> None:
        path = rules_path(document)
        for index, rule in enumerate(document.rules):
            if not isinstance(rule, Rule):
                self.may_give_anything = True
                continue
            place = _Place(validation, number, index, f"{path}[{index}]", rule)
            self.places.append(place)
            self.may_give_anything = self.may_give_anything or rule.has_templates
            for name in (*rule.labels, *rule.vars):
                self.givers[name].append(place)


def check_references(validations: Sequence[OpenValidation]) -> None:
    """Add to the validations of files, which are looked at together, what their rules ask for in vain."""
    cluster = _Scope()
    scopes = [cluster]
    for validation in validations:
        for number, document in enumerate(validation.documents):
            if not isinstance(document, RuleDocument):
                cluster.may_give_anything = True
                continue
            if document.kind == "NodeFeatureGroup":
                scopes.append(_Scope())
            (scopes[-1] if document.kind == "NodeFeatureGroup" else cluster).add(validation, number, document)
    for scope in scopes:
        for place in scope.places:
            for path, name in _names_asked(place.rule):
                _check_name(scope, place, path, name)
            _check_dynamic(place, "labels", place.rule.labels)
            _check_dynamic(place, "extendedResources", place.rule.extended_resources)


def _names_asked(rule: Rule) -> Iterator[tuple[str, str]]:
    """The names in ``rule.matched`` without which the rule, or a part of it, cannot match, with their paths."""
    groups = [("matchFeatures", rule.match_features)]
    groups += [(f"matchAny[{index}].matchFeatures", terms) for index, terms in enumerate(rule.match_any)]
    for path, terms in groups:
        for index, term in enumerate(terms):
            if term.feature.lower() == MATCHED_SET:
                for name, expression in (term.expressions or {}).items():
                    if expression.operator not in _SAYS_NOTHING:
                        yield f"{path}[{index}].matchExpressions.{name}", name


def _check_name(scope: _Scope, place: _Place, path: str, name: str) -> None:
    givers = scope.givers.get(name, [])
    if any(not _is_behind(giver, place) for giver in givers):
        return
    if givers:
        said = f"{name[:80]} is given by later rules only, and a rule sees the names of those before it"
        place.warn(path, said, f"put rule {givers[0].rule.name[:80]!r} before this one")
    elif not scope.may_give_anything:
        short = name.removeprefix(DEFAULT_PREFIX)
        near = short if short in scope.givers else nearest(name, scope.givers)
        hint = f"did you mean {near[:80]}, as the rule writes it?" if near else "another rule of the cluster has to"
        place.warn(path, f"no rule of these files gives {name[:80]}", hint)


def _is_behind(giver: _Place, place: _Place) -> bool:
    is_same_document = giver.validation is place.validation and giver.document == place.document
    return is_same_document and giver.number >= place.number


def _check_dynamic(place: _Place, field: str, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        if not value.startswith("@"):
            continue
        set_name, element = _split(value)
        if not element:
            said = f"{value[:80]} is not @<domain>.<feature>.<element>, so {key[:80]} reaches no node"
            place.validation.add_error(place.document, f"{place.path}.{field}.{key}", said)
        elif set_name in INSTANCE_SETS:
            said = f"{set_name} is a list of devices and has no attributes to look up, so {key[:80]} reaches no node"
            place.warn(f"{field}.{key}", said, "a labelsTemplate can name the devices that match")
        elif not is_known_set(set_name) or not is_known_element(set_name, element):
            near = _nearest_value(set_name, element)
            hint = f"did you mean {near[:120]}?" if near else "it has to come from a program or object of yours"
            place.warn(f"{field}.{key}", f"no source of nodeworthy or NFD gives {value[:80]}", hint)


def _nearest_value(set_name: str, element: str) -> str:
    if not is_known_set(set_name):
        near = nearest(set_name, KNOWN_SETS)
        return f"@{near}.{element}" if near else ""
    near = nearest(element, KNOWN_SETS[set_name.lower()])
    return f"@{set_name}.{near}" if near else ""


def _split(value: str) -> tuple[str, str]:
    """The set and the element; neither where there are fewer than three parts."""
    parts = value[1:].split(".", _PARTS - 1)
    return (f"{parts[0]}.{parts[1]}", parts[2]) if len(parts) == _PARTS else ("", "")
