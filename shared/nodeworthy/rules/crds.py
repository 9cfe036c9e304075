"""CustomResourceDefinitions of NFD's objects, for clusters where NFD's own are not installed.

Group, names, scopes and what is required are NFD's (api/nfd/v1alpha1), so that published rule files and the NodeFeature
objects of other vendors apply unchanged; nothing that NFD's definitions take is refused, and what they prune is pruned.
Ours have what NFD's lack: a status of NodeFeatureRule, and conditions of NodeFeatureGroup. Fields of rules come from the
schema for editors, those of the status from the records that it is made of.

The schemas are structural, as the API server wants them:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec

from nodeworthy.features.node_feature import NODE_NAME_LABEL
from nodeworthy.labels.statuses import ObjectStatus
from nodeworthy.rules.documents import API_VERSION, KINDS
from nodeworthy.rules.schemas import Schema, rules_schema, written_name

_GROUP, _, _VERSION = API_VERSION.partition("/")

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "object", "additionalProperties": _TEXT}
_NUMBER: Schema = {"type": "integer", "format": "int64"}
_KINDS: Mapping[object, Schema] = {str: _TEXT, int: _NUMBER, bool: {"type": "boolean"}}

_TAKEN_OVER = ("description", "type", "required")
_ENUMERATED = ("op",)
"""Fields of which NFD's definitions list the values; other lists (effects, types, sets) are advice for editors."""

_CONDITIONS: Schema = {
    "description": "What is known of the object, one entry for each type, as Kubernetes describes conditions.",
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type", "status", "lastTransitionTime", "reason", "message"],
        # The limits of metav1.Condition (k8s.io/apimachinery, pkg/apis/meta/v1/types.go).
        "properties": {
            "type": _TEXT | {"maxLength": 316},
            "status": _TEXT | {"enum": ["True", "False", "Unknown"]},
            "observedGeneration": _NUMBER | {"minimum": 0},
            "lastTransitionTime": _TEXT | {"format": "date-time"},
            "reason": _TEXT | {"minLength": 1, "maxLength": 1024},
            "message": _TEXT | {"maxLength": 32768},
        },
    },
}
_OBSERVED: Schema = {
    "observedGeneration": _NUMBER | {"description": "The generation of the object that this status is about."},
    "conditions": _CONDITIONS,
}
_MEANINGS: Mapping[str, str] = {
    "rules": "Each rule on all nodes; the counts are nodes.",
    "conflicts": "Keys to which rules give different values; the winner's reaches the node.",
    "refusals": "What the rules give and no node may have, with the reason.",
    "notices": "Why the object does not run in its place.",
    "leftOut": "How many conflicts and refusals are not listed, because there are too many.",
}
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def definitions() -> dict[str, Schema]:
    """The three definitions by their names (``nodefeatures.nfd.k8s-sigs.io``), ready for JSON or YAML."""
    made = (_node_feature(), _node_feature_rule(), _node_feature_group())
    return {definition["metadata"]["name"]: definition for definition in made}


def _node_feature() -> Schema:
    schema = _object_schema(
        "What one producer says of one node, which its label names.",
        {"type": "object", "properties": {"features": _features(), "labels": _TEXTS | {"description": "Of the node."}}},
    )
    label = NODE_NAME_LABEL.replace(".", r"\.")
    columns = [{"name": "Node", "type": "string", "jsonPath": f".metadata.labels.{label}"}, _AGE]
    return _definition("NodeFeature", None, schema, columns, is_namespaced=True)


def _node_feature_rule() -> Schema:
    status = _OBSERVED | {
        "nodesMatched": _NUMBER | {"description": "Nodes on which at least one rule of it matches."},
        "lastError": _TEXT | {"description": "The last error of a rule of it; empty: none."},
        **{name: field | {"description": _MEANINGS[name]} for name, field in _fields(ObjectStatus, without="name")},
    }
    schema = _object_schema("Rules that label the nodes that they match.", _rules("NodeFeatureRule"), status)
    columns = [
        {"name": "Accepted", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Accepted")].status'},
        {"name": "Nodes", "type": "integer", "jsonPath": ".status.nodesMatched"},
        _AGE,
    ]
    return _definition("NodeFeatureRule", "nfr", schema, columns, is_namespaced=False)


def _node_feature_group() -> Schema:
    nodes: Schema = {
        "description": "The members: nodes that a rule matches.",
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {"name": _TEXT}},
    }
    schema = _object_schema("A group of nodes by rules.", _rules("NodeFeatureGroup"), {"nodes": nodes} | _OBSERVED)
    return _definition("NodeFeatureGroup", "nfg", schema, [_AGE], is_namespaced=True)


def _definition(kind: str, short: str | None, schema: Schema, columns: list[Schema], *, is_namespaced: bool) -> Schema:
    singular = kind.lower()
    names: Schema = {"kind": kind, "listKind": f"{kind}List", "plural": f"{singular}s", "singular": singular}
    version = {"name": _VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    has_status = "status" in schema["properties"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "names": names | ({"shortNames": [short]} if short else {}),
            "scope": "Namespaced" if is_namespaced else "Cluster",
            "versions": [
                version
                | {"additionalPrinterColumns": columns}
                | ({"subresources": {"status": {}}} if has_status else {})
            ],
        },
    }


def _object_schema(description: str, spec: Schema, status: Mapping[str, Schema] | None = None) -> Schema:
    properties = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}, "spec": spec}
    if status is not None:
        properties["status"] = {"type": "object", "properties": dict(status)}
    return {"description": description, "type": "object", "required": ["spec"], "properties": properties}


def _features() -> Schema:
    """The three maps; an element of a flag says nothing but its name."""
    instance = {"type": "object", "required": ["attributes"], "properties": {"attributes": _TEXTS}}
    elements: Mapping[str, Schema] = {
        "flags": {"type": "object", "additionalProperties": {"type": "object"}},
        "attributes": _TEXTS,
        "instances": {"type": "array", "items": instance},
    }
    maps = {name: _feature_map(field) for name, field in elements.items()}
    return {"description": "Feature sets by name.", "type": "object", "properties": maps}


def _feature_map(elements: Schema) -> Schema:
    one = {"type": "object", "required": ["elements"], "properties": {"elements": elements}}
    return {"type": "object", "additionalProperties": one}


def _rules(kind: str) -> Schema:
    """The ``spec`` of an object with rules, out of the schema for editors."""
    editors = rules_schema()
    objects = dict(zip(KINDS, editors["else"]["allOf"], strict=True))
    return _structural(objects[kind]["then"]["properties"]["spec"], editors["$defs"])


def _structural(schema: Schema, shared: Mapping[str, Schema], name: str = "") -> Schema:
    """A schema as NFD's definitions have it: kinds of fields, without short forms, advice and counts of values."""
    chosen = _resolved(schema, shared)
    made: Schema = {key: chosen[key] for key in _TAKEN_OVER if key in chosen}
    if "enum" in chosen:
        made |= _TEXT | ({"enum": chosen["enum"]} if name in _ENUMERATED else {})
    if "items" in chosen:
        made["items"] = _structural(chosen["items"], shared)
    if "properties" in chosen:
        made["properties"] = {key: _structural(field, shared, key) for key, field in chosen["properties"].items()}
    elif chosen.get("additionalProperties"):
        made["additionalProperties"] = _structural(chosen["additionalProperties"], shared)
    return made


def _resolved(schema: Schema, shared: Mapping[str, Schema]) -> Schema:
    """The schema itself, where it only points at another one or offers several; words at the pointer go before."""
    while "$ref" in schema or "anyOf" in schema:
        rest = {key: value for key, value in schema.items() if key not in {"$ref", "anyOf"}}
        # What NFD's clusters take stands first among several: the full form before the short ones.
        aim = shared[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema["anyOf"][0]
        schema = {**aim, **rest}
    return schema


def _fields(record: type[msgspec.Struct], *, without: str = "") -> Iterable[tuple[str, Schema]]:
    """The fields of a record as they stand in JSON, with their schemas."""
    for field in msgspec.structs.fields(record):
        if field.name != without:
            yield written_name(field.name), _of_kind(field.type)


def _of_kind(kind: Any) -> Schema:  # noqa: ANN401 # types of fields: classes, and tuples of them
    if kind in _KINDS:
        return _KINDS[kind]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        required = [field.name for field in msgspec.structs.fields(kind) if field.required]
        return {"type": "object", "required": required, "properties": dict(_fields(kind))}
    return {"type": "array", "items": _of_kind(get_args(kind)[0])}
