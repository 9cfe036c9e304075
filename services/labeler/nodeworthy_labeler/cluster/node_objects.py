"""One Node object as the labeler sees it: from its metadata alone, and what it says of capacities and taints of ours."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

import msgspec

from nodeworthy.kubernetes.metadata import ManagedField, PartialObject
from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.ownership import (
    APPLIER,
    NOBODY,
    PATCHER,
    STATUS_APPLIER,
    Owner,
    Owners,
    Ownership,
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

_HOSTNAME = "kubernetes.io/hostname"
"""Every Node has this label with a value of its own, and its kubelet sees to it. It is left out, so that the labels of
nodes that are alike are equal; a rule that gives it is refused by the API server."""

_Note: TypeAlias = Mapping[str, str]


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


class _Parts(NamedTuple):
    live: Mapping[str, str]
    owners: Owners


def read_node(data: bytes) -> NodeObject:
    """The Node of its JSON, with or without spec and status.

    Raises:
        msgspec.DecodeError: it is no object, or has no metadata.
    """
    meta = msgspec.json.decode(data, type=PartialObject).metadata
    fields = meta.managed_fields or ()
    ownership = read_ownership(fields)
    annotations = meta.annotations or {}
    capacity_note = _read_note(annotations.get(CAPACITY_NOTE))
    taints_note = _read_note(annotations.get(TAINTS_NOTE))
    labels = {key: value for key, value in (meta.labels or {}).items() if key != _HOSTNAME}
    others = {
        RejectedKind.ANNOTATION: _node_labels(_without_own_names(annotations), ownership.annotations, APPLIER),
        RejectedKind.EXTENDED_RESOURCE: _capacities(ownership, capacity_note),
        RejectedKind.TAINT: NodeLabels(taints_note, frozenset(taints_note)),
    }
    live = _node_labels(labels, ownership.labels, APPLIER)
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


def _node_labels(live: Mapping[str, str], owners: Owners, me: Owner) -> NodeLabels:
    owned = frozenset(key for key, found in owners.items() if me in found and key in live)
    others = {key: _managers(found, me) for key, found in owners.items() if key in live and found != (me,)}
    return NodeLabels(live, owned, others)


def _managers(owners: tuple[Owner, ...], me: Owner) -> tuple[str, ...]:
    return tuple(dict.fromkeys(owner.manager for owner in owners if owner != me))


def _capacities(ownership: Ownership, note: _Note) -> NodeLabels:
    """The capacities by their owners, without their values but ours.

    One that we gave and that somebody wrote over is missing here: a kubelet that starts sets capacities which it does not
    know to zero, and ours are then to be given again. One that was ours and is not in the note cannot be: they are written
    by one request.
    """
    live = {key: note.get(key, UNSEEN) for key in ownership.capacity if key not in note} | {
        key: note[key] for key, found in ownership.capacity.items() if key in note and STATUS_APPLIER in found
    }
    owned = frozenset(key for key in live if STATUS_APPLIER in ownership.capacity[key])
    others = {key: _managers(ownership.capacity[key], STATUS_APPLIER) for key in live if key not in owned}
    return NodeLabels(live, owned, others)


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
