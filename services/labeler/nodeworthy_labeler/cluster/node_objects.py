"""One Node object as the labeler sees it: from its metadata alone, and what it says of capacities and taints of ours."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec

from nodeworthy.kubernetes.metadata import ManagedField, PartialObject
from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.ownership import (
    APPLIER,
    NOBODY,
    PATCHER,
    STATUS_APPLIER,
    OwnedKeys,
    Owner,
    Ownership,
    read_owned_keys,
    read_ownership,
)

CAPACITY_NOTE = "nodeworthy.io/capacity"
"""Our annotation with the capacities that we gave: ``{"vendor.com/slots": "4"}``; written with them, in one request."""
TAINTS_NOTE = "nodeworthy.io/taints"
"""Our annotation with the taints that we gave: ``{"vendor.com/gpu:NoSchedule": "true"}``; written with them, as above."""

HEALTH_NOTE = "nodeworthy.io/health"
"""Our annotation with what our condition says: ``{"status": "True", "reason": "SourcesOk", "since": …}``; as above."""

OWN_NAMES = "nodeworthy.io/"
"""Labels and annotations of ours that no rule may give are under this name."""

UNSEEN = "(another one)"
"""The value of a capacity that is not ours: the metadata does not tell it."""

_Note: TypeAlias = Mapping[str, str]

_OBJECT = msgspec.json.Decoder(PartialObject)


class NodeObject(msgspec.Struct, frozen=True):
    """One Node in one state."""

    name: str
    uid: str
    resource_version: str
    created: float
    """Unix time, in whole seconds, on the API server's clock."""
    labels: NodeLabels
    """What it has; taints are those that we gave as far as the metadata tells."""
    taint_owners: tuple[Owner, ...]
    """Who wrote the list of taints."""
    capacity_note: _Note
    taints_note: _Note
    has_lost_owners: bool
    """Whether somebody has thrown its managedFields away, so that nobody is known to own what was there."""
    health_note: _Note

    @property
    def owns_taints(self) -> bool:
        """Whether nobody has written the list of taints since we did."""
        return PATCHER in self.taint_owners

    @property
    def token(self) -> str:
        """Which state of which object this is."""
        return f"{self.uid}/{self.resource_version}"

    def is_like(self, other: "NodeObject") -> bool:
        """Whether nothing differs that could change what is to be done."""
        same = {"resource_version": other.resource_version, "health_note": other.health_note}
        return msgspec.structs.replace(self, **same) == other


def read_node(data: bytes, read_keys: Callable[[bytes], OwnedKeys] = read_owned_keys) -> NodeObject:
    """The Node of its JSON, with or without spec and status; ``read_keys`` is as for :func:`read_ownership`.

    Raises:
        msgspec.DecodeError: it is no object, or has no metadata.
    """
    meta = _OBJECT.decode(data).metadata
    fields = meta.managed_fields or ()
    ownership = read_ownership(fields, read_keys)
    annotations = meta.annotations or {}
    capacity_note = _read_note(annotations.get(CAPACITY_NOTE))
    taints_note = _read_note(annotations.get(TAINTS_NOTE))
    of_annotations = [(owner, owned.annotations) for owner, owned in ownership.entries]
    others = {
        RejectedKind.ANNOTATION: _node_labels(_without_own_names(annotations), of_annotations, APPLIER),
        RejectedKind.EXTENDED_RESOURCE: _capacities(ownership, capacity_note),
        RejectedKind.TAINT: NodeLabels(taints_note, frozenset(taints_note)),
    }
    of_labels = [(owner, owned.labels) for owner, owned in ownership.entries]
    live = _node_labels(meta.labels or {}, of_labels, APPLIER)
    return NodeObject(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created=_unix_time(meta.creation_timestamp),
        labels=msgspec.structs.replace(live, others={kind: one for kind, one in others.items() if one.live}),
        taint_owners=ownership.taints,
        capacity_note=capacity_note,
        taints_note=taints_note,
        has_lost_owners=_has_lost_owners(fields),
        health_note=_read_note(annotations.get(HEALTH_NOTE)),
    )


def _node_labels(live: Mapping[str, str], entries: Sequence[tuple[Owner, frozenset[str]]], me: Owner) -> NodeLabels:
    owned: frozenset[str] = frozenset()
    others: dict[str, tuple[str, ...]] = {}
    for owner, keys in entries:
        found = keys.intersection(live)
        if owner == me:
            owned |= found
            continue
        for key in found:
            managers = others.get(key, ())
            if owner.manager not in managers:
                others[key] = (*managers, owner.manager)
    return NodeLabels(live, owned, others)


def _capacities(ownership: Ownership, note: _Note) -> NodeLabels:
    """The capacities by their owners, without their values but ours.

    One that we gave and that somebody wrote over is missing here: a kubelet that starts sets capacities which it does not
    know to zero, and ours are then to be given again. One that was ours and is not in the note cannot be: they are written
    by one request.
    """
    entries = [(owner, owned.capacity) for owner, owned in ownership.entries if owned.capacity]
    mine = {key for owner, keys in entries if owner == STATUS_APPLIER for key in keys}
    live = {key: note.get(key, UNSEEN) for _, keys in entries for key in keys if key not in note or key in mine}
    found = _node_labels(live, entries, STATUS_APPLIER)
    return msgspec.structs.replace(
        found, owners={key: by for key, by in found.owners.items() if key not in found.owned}
    )


def _without_own_names(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if not key.startswith(OWN_NAMES)}


def _read_note(text: str | None) -> _Note:
    """What an annotation of ours says; nothing, where somebody else wrote something else there."""
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def write_note(values: Mapping[str, str]) -> str:
    """The annotation that says these values."""
    return json.dumps(dict(sorted(values.items())), separators=(",", ":"))


def _has_lost_owners(fields: tuple[ManagedField, ...]) -> bool:
    return not fields or any(entry.manager == NOBODY for entry in fields)


def _unix_time(text: str | None) -> float:
    """Of ``2031-05-06T07:08:09Z``; 0 where there is none, which is before everything."""
    return datetime.fromisoformat(text).timestamp() if text else 0.0
