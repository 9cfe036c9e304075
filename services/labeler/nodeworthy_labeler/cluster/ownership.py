"""Who owns which labels, annotations and capacities of a Node, read from its managedFields.

Server-side apply keeps them (Kubernetes documentation, "Server-Side Apply", section "Field management")::

    {"manager": "nodeworthy", "operation": "Apply", "subresource": "",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:feature.node.kubernetes.io/cpu-model.id": {}}}}}

There are no tracking annotations: what is ours stands here, kept by the API server itself.
"""

from collections.abc import Callable, Iterable, Mapping
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


class OwnedKeys(NamedTuple):
    """What one entry of managedFields owns."""

    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    capacity: frozenset[str] = frozenset()
    has_taints: bool = False
    """The list of taints is one field: whoever wrote it last."""


class Ownership(NamedTuple):
    """Who owns what of one Node; a key that is not listed is nobody's."""

    entries: tuple[tuple[Owner, OwnedKeys], ...]
    """In the order of managedFields."""

    @property
    def labels(self) -> Owners:
        """The owners of labels."""
        return _by_key((owner, owned.labels) for owner, owned in self.entries)

    @property
    def annotations(self) -> Owners:
        """The owners of annotations."""
        return _by_key((owner, owned.annotations) for owner, owned in self.entries)

    @property
    def capacity(self) -> Owners:
        """The owners of capacities."""
        return _by_key((owner, owned.capacity) for owner, owned in self.entries)

    @property
    def taints(self) -> tuple[Owner, ...]:
        """Who wrote the list of taints."""
        return tuple(owner for owner, owned in self.entries if owned.has_taints)


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


def read_ownership(fields: Iterable[ManagedField], read: Callable[[bytes], OwnedKeys] | None = None) -> Ownership:
    """Who owns what; ``read`` is :func:`read_owned_keys`, or does the same by a memory of its own."""
    read = read or read_owned_keys
    return Ownership(
        tuple((Owner(entry.manager, entry.operation, entry.subresource), read(bytes(entry.fields))) for entry in fields)
    )


def read_owned_keys(data: bytes) -> OwnedKeys:
    """What the fields of an entry name, JSON as above; those of a form that we do not know name nothing."""
    try:
        found = _FIELDS.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return OwnedKeys()
    metadata, has_taints = found.metadata, bool(bytes(found.spec.taints))
    return OwnedKeys(_names(metadata.labels), _names(metadata.annotations), _names(found.status.capacity), has_taints)


def _names(keys: _Keys) -> frozenset[str]:
    return frozenset(key[len(_PREFIX) :] for key in keys if key.startswith(_PREFIX))  # "." is the map itself


def _by_key(entries: Iterable[tuple[Owner, frozenset[str]]]) -> Owners:
    owners: dict[str, tuple[Owner, ...]] = {}
    for owner, keys in entries:
        for key in sorted(keys):
            owners[key] = (*owners.get(key, ()), owner)
    return owners
