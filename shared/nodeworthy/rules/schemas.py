"""JSON Schemas (draft 2020-12) of the documents that people write, for editors.

Fields, their kinds, operators and how many values each takes come from the records and the reader; only what a field means
to a person is said here. A schema describes what NFD takes too, so texts are texts. Short forms are accepted since they work
here, and marked as deprecated where NFD's clusters refuse them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from nodeworthy.rules.documents import API_VERSION, KINDS, SPEC_VERSION
from nodeworthy.rules.explanation import INCIDENT
from nodeworthy.rules.known_sets import KNOWN_SETS
from nodeworthy.rules.labels import TAINT_EFFECTS
from nodeworthy.rules.operators import value_error
from nodeworthy.rules.prefixes import AUTO_PREFIX, DEFAULT_PREFIX
from nodeworthy.rules.records import Expression, Operator, Rule, Taint, Term
from nodeworthy.rules.rule_reader import GROUP_FIELDS, WORKER_FIELDS

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_SAMPLES = ("1", "2", "3")
"""Values that every operator takes, as many as it takes."""

_MEANINGS: Mapping[str, str] = {
    "name": "What reports and statuses call the rule.",
    "labels": f"Labels of nodes that match. A name without a namespace reaches the node behind {DEFAULT_PREFIX}"
    " (unless the prefix is switched off), and a nodeSelector has to use that key. A value @domain.feature.element is"
    " looked up in the node's attributes.",
    "labelsTemplate": "A Go template whose output is lines name=value: further labels.",
    "vars": "Names for later rules, which ask for them in the feature rule.matched; they reach no node.",
    "varsTemplate": "A Go template whose output is lines name=value: further names for later rules.",
    "matchFeatures": "All of these have to hold.",
    "matchAny": "If there are any, one of these has to hold.",
    "annotations": "Annotations of nodes that match; values of at most 1024 bytes.",
    "taints": "Taints of nodes that match, where the labeler is told to write taints.",
    "extendedResources": "Extended resources of nodes that match: quantities, or @domain.feature.element.",
}

_OPERATOR_KEYS = tuple(operator.lower() for operator in Operator if operator)


def rules_schema() -> Schema:
    """The schema of a NodeFeatureRule or NodeFeatureGroup object, or of a list of worker rules."""
    objects = [_object(kind, *KINDS[kind]) for kind in KINDS]
    worker: Schema = {
        "title": "Worker rules",
        "description": "A file of NFD's custom.d.",
        "type": "array",
        "items": _rule(WORKER_FIELDS),
    }
    return {
        "$schema": DIALECT,
        "title": "Node feature rules",
        # By kind, so that an editor speaks of the object that is meant and not of all three.
        "if": {"type": "array"},
        "then": worker,
        "else": {
            "type": "object",
            "required": ["apiVersion", "kind", "metadata", "spec"],
            "properties": {
                "apiVersion": {"const": API_VERSION, "description": "The real group and version."},
                "kind": {"enum": list(KINDS)},
            },
            "allOf": objects,
        },
        "$defs": _definitions(),
    }


def compatibility_schema() -> Schema:
    """The schema of a compatibility specification."""
    one_set = _closed(
        {
            "description": _TEXT | {"description": "For people."},
            "tag": _TEXT | {"description": "By which a check may choose this set."},
            "weight": {"type": "integer", "description": "Of the sets that are met, the one with the most counts."},
            "rules": {"type": "array", "minItems": 1, "items": _rule(GROUP_FIELDS)},
        },
        required=["rules"],
    )
    fields = {
        "version": {"const": SPEC_VERSION},
        "compatibilities": {
            "description": "Any one of these sets is enough; of a set, all rules have to match.",
            "type": "array",
            "minItems": 1,
            "items": one_set,
        },
    }
    head = {"$schema": DIALECT, "title": "Image compatibility specification"}
    return head | _closed(fields, required=["version", "compatibilities"]) | {"$defs": _definitions()}


def write_schema(name: str) -> bytes:
    """The text of schema ``rules`` or ``compatibility``, as it is kept in docs/schemas."""
    schema = {"rules": rules_schema, "compatibility": compatibility_schema}[name]()
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _object(kind: str, field: str, known: Iterable[str]) -> Schema:
    annotations = _TEXTS | {
        "properties": {
            AUTO_PREFIX: {
                "enum": ["true", "false"],
                "description": 'With "false" short names stay as they are written.',
            },
            INCIDENT: _TEXT | {"description": "The incident that the rules were written for."},
        }
    }
    name = _TEXT | {"minLength": 1, "maxLength": 253, "description": "Orders the object among the others."}
    metadata = {"type": "object", "properties": {"name": name, "annotations": annotations}, "required": ["name"]}
    spec = _closed({field: {"type": "array", "items": _rule(known)}}, required=[field])
    fields: Schema = {"apiVersion": True, "kind": True, "metadata": metadata, "spec": spec, "status": True}
    return {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": _closed(fields)}


def _rule(known: Iterable[str]) -> Schema:
    kinds = {written_name(field.name): field.type for field in msgspec.structs.fields(Rule)}
    fields = {name: _of_kind(kinds[name]) | {"description": _MEANINGS[name]} for name in known}
    return _closed(fields, required=["name"])


def _of_kind(kind: object) -> Schema:
    """The schema of a record's field, by its type."""
    if kind is str:
        return _TEXT
    if kind == Mapping[str, str]:
        return _TEXTS
    items = {
        tuple[Term, ...]: "term",
        tuple[tuple[Term, ...], ...]: "alternative",
        tuple[Taint, ...]: "taint",
    }
    return {"type": "array", "items": _ref(items[kind])}  # type: ignore[index] # types are keys as any object is


def _definitions() -> Schema:
    return {
        "term": _closed(
            {
                "feature": {
                    "description": "The feature set; programs and NodeFeature objects may bring others than these.",
                    "anyOf": [{"enum": sorted(KNOWN_SETS)}, {"type": "string", "pattern": r"^[^.]+\..+$"}],
                },
                "matchExpressions": {
                    "description": "All of these have to hold, of devices for one and the same device.",
                    "anyOf": [
                        {"type": "object", "additionalProperties": _ref("expression")},
                        {"type": "array", "items": _TEXT, "deprecated": True},
                    ],
                },
                "matchName": _ref("expression") | {"description": "Asked of the name of every element."},
            },
            required=["feature"],
        ),
        "alternative": _closed({"matchFeatures": {"type": "array", "items": _ref("term")}}),
        "taint": _closed(
            {
                **{written_name(field.name): _TEXT for field in msgspec.structs.fields(Taint)},
                "effect": {"enum": list(TAINT_EFFECTS)},
            },
            required=["key", "effect"],
        ),
        "expression": {"anyOf": [_ref("full"), _ref("keyed"), _ref("short")]},
        "full": _full_expression(),
        "keyed": _keyed_expression(),
        "short": {
            "description": "A short form: NFD takes it in worker rules only.",
            "anyOf": [{"type": ["null", "string", "number", "boolean"]}, {"type": "array", "items": _SCALAR}],
            "deprecated": True,
        },
    }


def _full_expression() -> Schema:
    fields = {
        "op": {"description": "What is asked.", "enum": [operator.value for operator in Operator if operator]},
        "value": {"description": "Texts: write numbers in quotes.", "type": "array", "items": _TEXT},
        "type": {"description": "version compares versions; without it numbers are compared.", "enum": ["version", ""]},
    }
    by_operator = [
        {
            "if": {"properties": {"op": {"const": operator.value}}},
            "then": {
                "properties": {"value": _count(operator)},
                **({"required": ["value"]} if _counts(operator)[0] else {}),
            },
        }
        for operator in Operator
        if operator
    ]
    return _closed(fields, required=["op"]) | {"allOf": by_operator}


def _keyed_expression() -> Schema:
    value: Schema = {"anyOf": [_SCALAR, {"type": "null"}, {"type": "array", "items": _SCALAR}]}
    fields = dict.fromkeys(_OPERATOR_KEYS, value) | {"type": {"enum": ["version", ""]}}
    one = [{"required": [key]} for key in _OPERATOR_KEYS]
    told = "An operator as the key: NFD drops it and takes the expression for always true."
    return _closed(fields) | {"oneOf": one, "description": told, "deprecated": True}


def _count(operator: Operator) -> Schema:
    counts = _counts(operator)
    most = {} if len(_SAMPLES) in counts else {"maxItems": counts[-1]}
    return {"minItems": counts[0]} | most


def _counts(operator: Operator) -> list[int]:
    """How many values an operator takes, as far as there are samples."""
    numbers = range(len(_SAMPLES) + 1)
    return [number for number in numbers if value_error(Expression(operator, _SAMPLES[:number])) is None]


def _closed(fields: Mapping[str, Any], *, required: Iterable[str] = ()) -> Schema:
    """An object with these fields and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(fields), "additionalProperties": False, **needed}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def written_name(name: str) -> str:
    """A record's field as it stands in a document: ``match_features`` is ``matchFeatures``."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
