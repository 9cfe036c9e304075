"""Who owns which labels, annotations and capacities of a Node, read from its managedFields.

Server-side apply keeps them (Kubernetes documentation, "Server-Side Apply", section "Field management")::

    {"manager": "nodeworthy", "operation": "Apply", "subresource": "",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:feature.node.kubernetes.io/cpu-model.id": {}}}}}

There are no tracking annotations: what is ours stands here, kept by the API server itself.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.kubernetes.metadata import ManagedField

MANAGER = "nodeworthy"
"""Our field manager."""
NOBODY = "before-first-apply"
"""Whom the API server calls the owner of what was there when nobody was known to own it."""

_STATUS = "status"
_PREFIX = "f:"


class Owner(NamedTuple):
    """One manager with one way of writing."""

    manager: str
    operation: str
    subresource: str = ""


APPLIER = Owner(MANAGER, "Apply")
"""Whoever applies labels and annotations in our name."""
STATUS_APPLIER = Owner(MANAGER, "Apply", _STATUS)
"""Whoever applies capacities in our name."""
PATCHER = Owner(MANAGER, "Update")
"""Whoever writes taints in our name."""

Owners = Mapping[str, tuple[Owner, ...]]
"""Key to everybody who owns it."""


class Ownership(NamedTuple):
    """Who owns what of one Node; a key that is not listed is nobody's."""

    labels: Owners
    annotations: Owners
    capacity: Owners
    taints: tuple[Owner, ...]
    """The list of taints is one field: whoever wrote it last."""


_Keys = dict[str, msgspec.Raw]


class _Metadata(msgspec.Struct, frozen=True):
    labels: _Keys = msgspec.field(name="f:labels", default_factory=dict)
    annotations: _Keys = msgspec.field(name="f:annotations", default_factory=dict)


class _Spec(msgspec.Struct, frozen=True):
    taints: msgspec.Raw = msgspec.field(name="f:taints", default_factory=msgspec.Raw)


class _Status(msgspec.Struct, frozen=True):
    capacity: _Keys = msgspec.field(name="f:capacity", default_factory=dict)


class _Fields(msgspec.Struct, frozen=True):
    metadata: _Metadata = msgspec.field(name="f:metadata", default_factory=_Metadata)
    spec: _Spec = msgspec.field(name="f:spec", default_factory=_Spec)
    status: _Status = msgspec.field(name="f:status", default_factory=_Status)


_FIELDS = msgspec.json.Decoder(_Fields)


def read_ownership(fields: Iterable[ManagedField]) -> Ownership:
    """Who owns what, in the order of the managers; an entry of a form that we do not know owns nothing that is read here."""
    labels: dict[str, tuple[Owner, ...]] = {}
    annotations: dict[str, tuple[Owner, ...]] = {}
    capacity: dict[str, tuple[Owner, ...]] = {}
    taints: tuple[Owner, ...] = ()
    for entry in fields:
        owner = Owner(entry.manager, entry.operation, entry.subresource)
        found = _read_fields(entry.fields)
        _add(labels, found.metadata.labels, owner)
        _add(annotations, found.metadata.annotations, owner)
        _add(capacity, found.status.capacity, owner)
        if bytes(found.spec.taints):
            taints = (*taints, owner)
    return Ownership(labels, annotations, capacity, taints)


def _read_fields(data: msgspec.Raw) -> _Fields:
    try:
        return _FIELDS.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Fields()


def _add(owners: dict[str, tuple[Owner, ...]], keys: _Keys, owner: Owner) -> None:
    names = [key[len(_PREFIX) :] for key in keys if key.startswith(_PREFIX)]  # "." is the map itself
    if owners.keys().isdisjoint(names):
        owners.update(dict.fromkeys(names, (owner,)))
        return
    for name in names:
        owners[name] = (*owners.get(name, ()), owner)
