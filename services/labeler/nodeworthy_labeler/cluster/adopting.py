"""Taking ownership of keys by editing managedFields: applying over another owner would leave that one as an owner for ever.

The API server takes such an edit as it is (Kubernetes documentation, "Server-Side Apply", "Transferring ownership"). It is
made under a test of the resourceVersion.
"""

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import decode
from nodeworthy.kubernetes.requests import Patch, Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState, NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.cluster.ownership import APPLIER, NOBODY

Entry = dict[str, Any]
"""One entry of managedFields as the API gives it."""

_MAPS = {RejectedKind.LABEL: "f:labels", RejectedKind.ANNOTATION: "f:annotations"}

Keys = Mapping[RejectedKind, Collection[str]]

NFD = Giver(GiverKind.ADOPTED, "NFD")
"""Who gave what was taken over from NFD. It is never asked again, so what nobody else gives goes, on known facts."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str
    managed_fields: list[Entry] = []


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


def lost_keys(node: NodeObject, memory: LabelMemory | None) -> dict[RejectedKind, list[str]]:
    """Labels and annotations that we gave, by what is remembered, and that nobody is known to own any more."""
    if memory is None or not node.has_lost_owners:
        return {}
    annotations = RejectedKind.ANNOTATION
    found = {
        RejectedKind.LABEL: list(_lost(node.labels, memory.labels)),
        annotations: list(_lost(node.labels.others.get(annotations), memory.others.get(annotations, {}))),
    }
    return {kind: keys for kind, keys in found.items() if keys}


def _lost(labels: NodeLabels | None, entries: Mapping[str, LabelEntry]) -> Iterator[str]:
    if labels is None:
        return
    for key, entry in entries.items():
        is_ours = entry.state in (LabelState.APPLIED, LabelState.KEPT) and labels.live.get(key) == entry.value
        if is_ours and key not in labels.owned and set(labels.owners.get(key, ())) <= {NOBODY}:
            yield key


def adopt_fields(entries: Sequence[Entry], keys: Keys, former: Collection[str], time: str) -> list[Entry]:
    """The managedFields in which we own these keys by Apply, and the former managers do not.

    ``time`` is RFC 3339, as the API writes it.
    """
    edited = copy.deepcopy(list(entries))
    ours = next((entry for entry in edited if _is_ours(entry)), None)
    if ours is None:
        ours = {
            "manager": APPLIER.manager,
            "operation": APPLIER.operation,
            "apiVersion": NODES.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": {},
        }
        edited.append(ours)
    ours["time"] = time
    for kind, names in keys.items():
        for entry in edited:
            if entry is not ours and entry.get("manager") in former:
                owned = entry.get("fieldsV1", {}).get("f:metadata", {}).get(_MAPS[kind], {})
                for name in names:
                    owned.pop(f"f:{name}", None)
        mine = ours["fieldsV1"].setdefault("f:metadata", {}).setdefault(_MAPS[kind], {})
        mine.update({f"f:{name}": {} for name in names})
    return edited


def remember_adopted(memory: LabelMemory | None, keys: Mapping[RejectedKind, Mapping[str, str]]) -> LabelMemory:
    """The memory of a Node of which these keys, with their values, were NFD's; who is known to give one already counts."""
    before = memory if memory is not None else LabelMemory()
    labels = _adopt_entries(before.labels, keys.get(RejectedKind.LABEL, {}))
    others = {kind: _adopt_entries(before.others.get(kind, {}), found) for kind, found in keys.items()}
    others.pop(RejectedKind.LABEL, None)
    return msgspec.structs.replace(before, labels=labels, others={**before.others, **others})


def _adopt_entries(entries: Mapping[str, LabelEntry], keys: Mapping[str, str]) -> Mapping[str, LabelEntry]:
    adopted = {
        key: LabelEntry(
            LabelState.KEPT, value, (Given(NFD, value),), reason="it was NFD's, and no labeler has judged it yet"
        )
        for key, value in keys.items()
        if key not in entries or not entries[key].given
    }
    return dict(sorted({**entries, **adopted}.items()))


def _is_ours(entry: Entry) -> bool:
    return (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")) == APPLIER


def make_adoption(name: str, body: bytes, keys: Keys, former: Collection[str], time: str) -> Request:
    """The request that takes these keys of the Node whose metadata ``body`` is, if it is still as it was read.

    Raises:
        KubernetesContentError: the body has another shape.
    """
    metadata = decode(body, _Object, f"Node {name} cannot be read").metadata
    fields = adopt_fields(metadata.managed_fields, keys, former, time)
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
        {"op": "add", "path": "/metadata/managedFields", "value": fields},
    ]
    return requests.patch(NODES, name, msgspec.json.encode(operations), Patch.JSON, manager=APPLIER.manager)
