"""Taints of a Node: one list that has one owner, so it is read, and changed if it is still as it was read.

Which of the taints are ours stands in an annotation that is written by the same request.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import decode
from nodeworthy.kubernetes.requests import Patch, Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import taint_key
from nodeworthy_labeler.cluster.node_objects import TAINTS_NOTE, write_note
from nodeworthy_labeler.cluster.ownership import MANAGER

_NOTE_PATH = "/metadata/annotations/" + TAINTS_NOTE.replace("~", "~0").replace("/", "~1")

Taint = Mapping[str, Any]
"""As the API gives it (``core/v1``): key, effect, mostly a value, sometimes more."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource_version: str
    annotations: Mapping[str, str] | None = None


class _Spec(msgspec.Struct, frozen=True):
    taints: tuple[dict[str, Any], ...] | None = None


class TaintedNode(msgspec.Struct, frozen=True):
    """A Node, as far as its taints need it."""

    metadata: _Metadata
    spec: _Spec = _Spec()

    @property
    def taints(self) -> tuple[dict[str, Any], ...]:
        """All of them, by whomever."""
        return self.spec.taints or ()


class TaintChange(NamedTuple):
    """From the taints that there are to those that there should be."""

    taints: tuple[Taint, ...]
    foreign: frozenset[str]
    """Of those that should be ours, the ones that somebody else has put there."""


def read_tainted(body: bytes, what: str) -> TaintedNode:
    """The Node of an answer; raises what :func:`nodeworthy.kubernetes.client.decode` raises."""
    return decode(body, TaintedNode, what)


def change_taints(live: Sequence[Taint], ours: Mapping[str, str], wanted: Mapping[str, str]) -> TaintChange:
    """The list with ours as they should be; those of others stay as they are, in their places.

    ``ours`` and ``wanted`` are values by ``key:effect``.
    """
    kept = []
    foreign = set()
    seen = set()
    for taint in live:
        name = taint_key(taint.get("key", ""), taint.get("effect", ""))
        seen.add(name)
        if name not in ours:
            foreign.add(name)
            kept.append(taint)
        elif name in wanted:
            kept.append(taint if taint.get("value", "") == wanted[name] else _make(name, wanted[name]))
    kept += [_make(name, wanted[name]) for name in sorted(wanted.keys() - seen)]
    return TaintChange(tuple(kept), frozenset(foreign & wanted.keys()))


def _make(name: str, value: str) -> Taint:
    key, _, effect = name.rpartition(":")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def make_taint_patch(
    name: str, node: TaintedNode, taints: Sequence[Taint], note: Mapping[str, str], *, is_dry: bool = False
) -> Request:
    """The request that changes the list and the note, if the Node is as it was read."""
    annotations = node.metadata.annotations
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": node.metadata.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": node.metadata.resource_version},
    ]
    if node.spec.taints is not None:
        operations.append({"op": "test", "path": "/spec/taints", "value": node.spec.taints})
    operations.append({"op": "add", "path": "/spec/taints", "value": taints})
    if annotations is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    if note:
        operations.append({"op": "add", "path": _NOTE_PATH, "value": write_note(note)})
    elif TAINTS_NOTE in (annotations or {}):
        operations.append({"op": "remove", "path": _NOTE_PATH})
    return requests.patch(NODES, name, msgspec.json.encode(operations), Patch.JSON, manager=MANAGER, is_dry=is_dry)
