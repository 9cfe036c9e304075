"""What is sent to give a Node its labels, annotations and capacities: whole sets by server-side apply.

Others are never overruled: what they own is left out, and force takes back only what a kubelet has reset.

The object carries the Node's uid and resourceVersion: without the one an apply would make a Node that is gone, without the
other a labeler that was frozen would delete what has been written since (both seen on a real API server).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.refusals import FieldConflict
from nodeworthy.kubernetes.requests import Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import Changes, Plan
from nodeworthy.labels.memory import NO_CHANGES
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.node_objects import CAPACITY_NOTE, NodeObject, write_note
from nodeworthy_labeler.cluster.ownership import MANAGER
from nodeworthy_labeler.cluster.refusals import Output

_FIELDS = {
    ".metadata.labels.": RejectedKind.LABEL,
    ".metadata.annotations.": RejectedKind.ANNOTATION,
    ".status.capacity.": RejectedKind.EXTENDED_RESOURCE,
}
"""How the API server writes the fields of a conflict."""

_METADATA_FIELDS = {RejectedKind.LABEL: "labels", RejectedKind.ANNOTATION: "annotations"}

METADATA = (RejectedKind.LABEL, RejectedKind.ANNOTATION)
"""Kinds that ride in one request."""
STATUS = (RejectedKind.EXTENDED_RESOURCE,)


Values = Mapping[RejectedKind, Mapping[str, str]]
"""Values by key, by kind."""


class Application(NamedTuple):
    """One apply to a Node in one state."""

    node: NodeObject
    wanted: Values
    """All that is to be ours afterwards: an apply deletes what it omits."""
    owned: Values
    """All that is ours now, of the same kinds."""

    @property
    def is_needed(self) -> bool:
        """Whether anything would change."""
        return self.wanted != self.owned

    @property
    def new(self) -> list[Output]:
        """What is not ours yet, or has another value."""
        return [output for output in _outputs(self.wanted) if not self._has(output)]

    @property
    def kept(self) -> list[Output]:
        """What is ours and stays."""
        return [output for output in _outputs(self.wanted) if self._has(output)]

    def without(self, refused: Iterable[Output]) -> "Application":
        """The same for the rest; what is ours already stays as it is."""
        wanted = {kind: dict(values) for kind, values in self.wanted.items()}
        for output in refused:
            del wanted[output.kind][output.key]
            before = self.owned[output.kind].get(output.key)
            if before is not None and before != output.value:
                wanted[output.kind][output.key] = before
        return self._replace(wanted=wanted)

    def request(self) -> Request:
        """The request that makes what is wanted ours, and nothing else."""
        return self._request(self.wanted)

    def dry_request(self, outputs: Iterable[Output]) -> Request:
        """The request that asks whether these outputs, and no others, would be taken."""
        values: dict[RejectedKind, dict[str, str]] = {kind: {} for kind in self.wanted}
        for output in outputs:
            values[output.kind][output.key] = output.value
        return self._request(values, is_dry=True)

    def _request(self, values: Values, *, is_dry: bool = False) -> Request:
        is_status = RejectedKind.EXTENDED_RESOURCE in values
        request = requests.apply(
            NODES,
            self.node.name,
            self._body(values),
            manager=MANAGER,
            subresource="status" if is_status else "",
            is_forced=is_status and self._takes_back(values[RejectedKind.EXTENDED_RESOURCE]),
            is_dry=is_dry,
        )
        return request.without_field_validation()  # a tenth less of the API server's processor time

    def _has(self, output: Output) -> bool:
        return self.owned[output.kind].get(output.key) == output.value

    def _body(self, values: Values) -> bytes:
        node = self.node
        metadata: dict[str, Any] = {"name": node.name, "uid": node.uid, "resourceVersion": node.resource_version}
        body: dict[str, Any] = {"apiVersion": NODES.api_version, "kind": NODES.kind, "metadata": metadata}
        for kind, field in _METADATA_FIELDS.items():
            # An empty map would be ours as a whole, and whoever adds to it would take it from us.
            if values.get(kind):
                metadata[field] = values[kind]
        capacity = values.get(RejectedKind.EXTENDED_RESOURCE)
        if capacity:
            metadata["annotations"] = {CAPACITY_NOTE: write_note(capacity)}
            body["status"] = {"capacity": capacity}
        return msgspec.json.encode(body)

    def _takes_back(self, capacity: Mapping[str, str]) -> bool:
        """Whether a kubelet has overwritten a capacity that is ours: it sets what it does not know to zero when it starts.

        No other key is taken by this: what others own is left out of the plan, and the resourceVersion is the plan's.
        """
        owned = self.owned[RejectedKind.EXTENDED_RESOURCE]
        return any(key in self.node.capacity_note and key not in owned for key in capacity)

    def read_conflicts(self, conflicts: Iterable[FieldConflict]) -> dict[Output, str]:
        """The outputs that are others', and whose."""
        found = {}
        for conflict in conflicts:
            for prefix, kind in _FIELDS.items():
                key = conflict.field.removeprefix(prefix)
                value = self.wanted.get(kind, {}).get(key)
                if conflict.field.startswith(prefix) and value is not None:
                    found[Output(kind, key, value)] = f"it is owned by {conflict.manager or 'somebody else'}"
        return found


def make_application(node: NodeObject, plan: Plan, kinds: Sequence[RejectedKind]) -> Application | None:
    """The request for some kinds of what a plan says; ``None``: nothing of them is to change."""
    if not any(changes_of(plan, kind).is_needed for kind in kinds):
        return None
    wanted = {kind: changes_of(plan, kind).apply for kind in kinds}
    return Application(node, wanted, {kind: _owned(node, kind) for kind in kinds})


def changes_of(plan: Plan, kind: RejectedKind) -> Changes:
    """What a plan says of one kind."""
    return plan if kind is RejectedKind.LABEL else plan.others.get(kind, NO_CHANGES)


def _owned(node: NodeObject, kind: RejectedKind) -> Mapping[str, str]:
    labels = node.labels if kind is RejectedKind.LABEL else node.labels.others.get(kind)
    return {key: labels.live[key] for key in labels.owned} if labels is not None else {}


def _outputs(values: Values) -> list[Output]:
    return [Output(kind, key, value) for kind, found in values.items() for key, value in found.items()]
