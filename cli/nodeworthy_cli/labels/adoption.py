"""How what others have put on a Node becomes ours, without any of it changing.

Whoever applies over another owner leaves that one as an owner for ever, so the managedFields are edited, under a test of
the resourceVersion. NFD's tracking annotations go in the same request: its own clean-up would otherwise wipe what was taken
over.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import decode
from nodeworthy.kubernetes.metadata import PartialObject
from nodeworthy.kubernetes.requests import Patch, Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import RejectedKind, taint_key
from nodeworthy_cli.labels.nfd_tracking import Tracked, read_tracking
from nodeworthy_labeler.cluster.adopting import Entry, Keys, adopt_fields
from nodeworthy_labeler.cluster.applications import Application
from nodeworthy_labeler.cluster.node_objects import OWN_NAMES, TAINTS_NOTE, read_node, write_note
from nodeworthy_labeler.cluster.ownership import MANAGER, NOBODY, Owners, Ownership, read_ownership


class Handover(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that becomes ours."""

    kind: RejectedKind
    key: str
    """Of a taint ``key:effect``."""
    value: str
    former: tuple[str, ...] = ()
    """Whose it was, as far as anybody knows."""
    by_nfd: bool = False
    """Whether NFD counts it as its own: it then goes when nobody else gives it. What was only named does not."""


class Left(msgspec.Struct, frozen=True):
    """One thing that NFD has put there and somebody else has set since: it stays theirs."""

    kind: RejectedKind
    key: str
    owners: tuple[str, ...]


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    managed_fields: Sequence[Entry] | None = None


class _Spec(msgspec.Struct, frozen=True):
    taints: Sequence[Mapping[str, Any]] | None = None


class _Status(msgspec.Struct, frozen=True):
    capacity: Mapping[str, str] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Adoption(NamedTuple):
    """What of one Node becomes ours; the state of the Node that it is about is in ``body``."""

    node: str
    uid: str
    body: bytes
    taken: tuple[Handover, ...]
    left: tuple[Left, ...]
    tracking: tuple[str, ...]
    """NFD's annotations, which go."""
    former: frozenset[str]
    """NFD's managers."""
    named: frozenset[str]
    """Keys that everybody else lets go of."""
    labels: Mapping[str, str]
    """All of the Node."""

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.taken or self.tracking)

    def keys(self, kind: RejectedKind) -> dict[str, str]:
        """What is taken of one kind, with values."""
        return {one.key: one.value for one in self.taken if one.kind is kind}

    @property
    def of_nfd(self) -> dict[RejectedKind, dict[str, str]]:
        """What of it NFD has given, with values."""
        found: dict[RejectedKind, dict[str, str]] = {}
        for one in self.taken:
            if one.by_nfd:
                found.setdefault(one.kind, {})[one.key] = one.value
        return found


def needs_whole_object(body: bytes, what: str) -> bool:
    """Whether a Node has what its metadata does not tell: capacities and taints by NFD.

    Raises:
        KubernetesContentError: it is no Node.
    """
    tracked = read_tracking(decode(body, _Node, what).metadata.annotations or {})
    return RejectedKind.EXTENDED_RESOURCE in tracked.keys or bool(tracked.taints)


def plan_adoption(body: bytes, take_over: Collection[str], what: str) -> Adoption:
    """What of a Node is to be taken: all that is NFD's, and the labels and annotations of these keys from whomever.

    Raises:
        KubernetesContentError: it is no Node.
    """
    node = decode(body, _Node, what)
    meta = node.metadata
    annotations = meta.annotations or {}
    tracked = read_tracking(annotations)
    ownership = read_ownership(decode(body, PartialObject, what).metadata.managed_fields or ())
    former = frozenset({NOBODY, *_managers(ownership.annotations, tracked.annotations)})
    taken: list[Handover] = []
    left: list[Left] = []
    live = {RejectedKind.LABEL: meta.labels or {}, RejectedKind.ANNOTATION: annotations}
    live[RejectedKind.EXTENDED_RESOURCE] = node.status.capacity or {}
    for kind, values in live.items():
        for key in sorted(values):
            owners = {owner.manager for owner in _owners_of(ownership, kind).get(key, ())} - {MANAGER}
            is_ours = any(owner.manager == MANAGER for owner in _owners_of(ownership, kind).get(key, ()))
            is_named = key in take_over and kind in _NAMED_KINDS and not key.startswith(OWN_NAMES)
            is_tracked = key in tracked.keys.get(kind, ())
            if not (is_tracked or is_named) or (is_ours and not owners):
                continue
            if is_named or not owners or owners & former:
                taken.append(Handover(kind, key, values[key], tuple(sorted(owners)), is_tracked))
            else:
                left.append(Left(kind, key, tuple(sorted(owners))))
    taken += _taints(node, tracked, former)
    return Adoption(
        meta.name,
        meta.uid,
        body,
        tuple(taken),
        tuple(left),
        tracked.annotations,
        former,
        frozenset(take_over),
        meta.labels or {},
    )


_NAMED_KINDS = (RejectedKind.LABEL, RejectedKind.ANNOTATION)
"""What can be named to be taken from anybody; capacities and taints of others have a kubelet or a controller behind them."""


def _taints(node: _Node, tracked: Tracked, former: frozenset[str]) -> Iterator[Handover]:
    for taint in node.spec.taints or ():
        name = taint_key(taint.get("key", ""), taint.get("effect", ""))
        if name in tracked.taints:
            names = tuple(sorted(former - {NOBODY}))
            yield Handover(RejectedKind.TAINT, name, taint.get("value", ""), names, by_nfd=True)


def _owners_of(ownership: Ownership, kind: RejectedKind) -> Owners:
    if kind is RejectedKind.LABEL:
        return ownership.labels
    return ownership.annotations if kind is RejectedKind.ANNOTATION else ownership.capacity


def _managers(owners: Owners, keys: Collection[str]) -> Iterator[str]:
    return (owner.manager for key in keys for owner in owners.get(key, ()))


def make_capacity_request(adoption: Adoption) -> Request | None:
    """The request that makes us an owner of NFD's capacities beside it, with their values; ``None``: there are none.

    Raises:
        msgspec.DecodeError: the Node cannot be read.
    """
    capacity = adoption.keys(RejectedKind.EXTENDED_RESOURCE)
    if not capacity:
        return None
    kind = RejectedKind.EXTENDED_RESOURCE
    node = read_node(adoption.body)
    held = node.labels.others.get(kind)
    owned = {key: held.live[key] for key in held.owned} if held is not None else {}
    return Application(node, {kind: owned | capacity}, {kind: owned}).request()


def make_request(adoption: Adoption, body: bytes, time: str, what: str) -> Request:
    """The request that makes everything ours, if the Node is still the one whose metadata ``body`` is.

    ``time`` is RFC 3339. Raises what :func:`plan_adoption` raises.
    """
    meta = decode(body, _Node, what).metadata
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": meta.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
    ]
    taints = adoption.keys(RejectedKind.TAINT)
    if taints:
        note = read_node(adoption.body).taints_note
        operations.append({"op": "add", "path": _path(TAINTS_NOTE), "value": write_note({**note, **taints})})
    operations += [{"op": "remove", "path": _path(name)} for name in adoption.tracking]
    fields = _edit_fields(meta.managed_fields or (), adoption, time)
    if fields != meta.managed_fields:
        operations.append({"op": "add", "path": "/metadata/managedFields", "value": fields})
    return requests.patch(NODES, meta.name, msgspec.json.encode(operations), Patch.JSON, manager=MANAGER)


def _edit_fields(entries: Sequence[Entry], adoption: Adoption, time: str) -> list[Entry]:
    """The managedFields in which what is taken is ours and its former owners' no more; of NFD's, other owners stay."""
    edited = list(entries)
    for former in dict.fromkeys(_former_of(one, adoption) for one in adoption.taken):
        mine = [one for one in adoption.taken if _former_of(one, adoption) == former]
        keys: Keys = {
            kind: [one.key for one in mine if one.kind is kind]
            for kind in _NAMED_KINDS
            if any(one.kind is kind for one in mine)
        }
        if keys:
            edited = adopt_fields(edited, keys, former, time)
    capacity = adoption.keys(RejectedKind.EXTENDED_RESOURCE)
    return [
        _without_capacity(entry, capacity) if entry.get("manager") in adoption.former else entry for entry in edited
    ]


def _former_of(one: Handover, adoption: Adoption) -> frozenset[str]:
    """Who lets go of a thing: NFD alone, or everybody where it was named."""
    owners = frozenset(one.former)
    return owners if one.key in adoption.named else owners & adoption.former


def _without_capacity(entry: Entry, keys: Collection[str]) -> Entry:
    status = entry.get("fieldsV1", {}).get("f:status", {})
    if not keys or "f:capacity" not in status:
        return entry
    left = {name: value for name, value in status["f:capacity"].items() if name.removeprefix("f:") not in keys}
    return {**entry, "fieldsV1": {**entry["fieldsV1"], "f:status": {**status, "f:capacity": left}}}


def _path(annotation: str) -> str:
    """As JSON pointers write it (RFC 6901)."""
    return "/metadata/annotations/" + annotation.replace("~", "~0").replace("/", "~1")
