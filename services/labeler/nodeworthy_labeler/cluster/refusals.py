"""What the API server would not take, remembered so that it is not tried again for a while."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind

REFUSAL_SECONDS = 3600.0
"""After this it is tried again: an admission policy or an owner may have changed its mind."""

MAX_REFUSALS = 10_000
"""More are forgotten, the oldest first; they are then found again at the cost of some requests."""

EVERYWHERE = ""
"""In place of a Node's uid: no Node may have it."""


class Output(NamedTuple):
    """One thing that a Node was to be given."""

    kind: RejectedKind
    key: str
    value: str


class _Refusal(NamedTuple):
    reason: str
    until: float


class Refusals:
    """Refused outputs by the Node that they were refused for; ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refused: dict[str, dict[Output, _Refusal]] = {}
        self._order: OrderedDict[tuple[str, Output], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._order)

    def add(self, uid: str, output: Output, reason: str) -> None:
        """Note a refusal, of one Node or :data:`EVERYWHERE`."""
        self._refused.setdefault(uid, {})[output] = _Refusal(reason, self._clock() + REFUSAL_SECONDS)
        self._order[uid, output] = None
        if len(self._order) > MAX_REFUSALS:
            self._forget(*next(iter(self._order)))

    def forget(self, uid: str) -> None:
        """The Node is gone."""
        for output in self._refused.get(uid, {}).copy():
            self._forget(uid, output)

    def mark(self, uid: str, labels: NodeLabels) -> NodeLabels:
        """The labels of a Node with what was refused for it; the same object where nothing was."""
        found = self._of(EVERYWHERE) | self._of(uid)
        if not found:
            return labels
        by_kind: dict[RejectedKind, dict[tuple[str, str], str]] = {}
        for output, reason in found.items():
            by_kind.setdefault(output.kind, {})[output.key, output.value] = reason
        others = dict(labels.others)
        for kind in by_kind.keys() - {RejectedKind.LABEL}:
            others[kind] = msgspec.structs.replace(others.get(kind, NodeLabels({})), refusals=by_kind[kind])
        return msgspec.structs.replace(labels, refusals=by_kind.get(RejectedKind.LABEL, {}), others=others)

    def _of(self, uid: str) -> dict[Output, str]:
        now = self._clock()
        refused = self._refused.get(uid, {})
        for output in [output for output, refusal in refused.items() if refusal.until <= now]:
            self._forget(uid, output)
        return {output: refusal.reason for output, refusal in self._refused.get(uid, {}).items()}

    def _forget(self, uid: str, output: Output) -> None:
        self._order.pop((uid, output), None)
        refused = self._refused.get(uid, {})
        refused.pop(output, None)
        if not refused:
            self._refused.pop(uid, None)
