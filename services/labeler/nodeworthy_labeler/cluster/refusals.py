"""What the API server would not take, remembered so that it is not tried again for a while."""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.labels import NodeLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.sharing import share

FIRST_SECONDS = 10.0
"""How long a refusal counts at first: a webhook that failed for a moment refuses for a moment only."""

GROWTH = 6.0
"""How much longer it counts each time that it is refused again: five tries in the first hour, one an hour after that."""

MOST_SECONDS = 3600.0
"""The longest: an admission policy or an owner may have changed its mind."""

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
    seconds: float
    until: float

    def counts(self, now: float) -> bool:
        return now < self.until

    def is_over(self, now: float) -> bool:
        """Whether it was not refused again for so long that the next time is a first one."""
        return now >= self.until + self.seconds


class Refusals:
    """Refused outputs by the Node that they were refused for; ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refused: dict[str, dict[Output, _Refusal]] = {}
        self._order: OrderedDict[tuple[str, Output], None] = OrderedDict()
        self._ends: list[tuple[float, str, Output, bool]] = []
        """When refusals end, and, once that was told, when they are over."""
        self._marked: OrderedDict[tuple[int, frozenset[tuple[Output, str]]], tuple[NodeLabels, NodeLabels]] = (
            OrderedDict()
        )
        """By ``id`` of the labels, which are held so that the number means nothing else, and what is refused of them."""

    def __len__(self) -> int:
        now = self._clock()
        return sum(refusal.counts(now) for found in self._refused.values() for refusal in found.values())

    def add(self, uid: str, output: Output, reason: str) -> None:
        """Note a refusal, of one Node or :data:`EVERYWHERE`."""
        now = self._clock()
        before = self._refused.get(uid, {}).get(output)
        if before is not None and before.counts(now):  # found by several at a time
            return
        again = before is not None and not before.is_over(now)
        seconds = min(before.seconds * GROWTH, MOST_SECONDS) if before is not None and again else FIRST_SECONDS
        self._refused.setdefault(uid, {})[output] = _Refusal(reason, seconds, now + seconds)
        self._order[uid, output] = None
        heapq.heappush(self._ends, (now + seconds, uid, output, False))
        if len(self._order) > MAX_REFUSALS:
            self._forget(*next(iter(self._order)))

    def lapse(self) -> set[str]:
        """The uids of Nodes on which something may be tried again since the last call; :data:`EVERYWHERE`: on all."""
        now = self._clock()
        lapsed = set()
        while self._ends and self._ends[0][0] <= now:
            _, uid, output, is_told = heapq.heappop(self._ends)
            refusal = self._refused.get(uid, {}).get(output)
            if refusal is None or refusal.counts(now):
                continue
            if not is_told:
                heapq.heappush(self._ends, (refusal.until + refusal.seconds, uid, output, True))
                lapsed.add(uid)
            elif refusal.is_over(now):
                self._forget(uid, output)
        return lapsed

    def forget(self, uid: str) -> None:
        """The Node is gone."""
        for output in self._refused.get(uid, {}).copy():
            self._forget(uid, output)

    def mark(self, uid: str, labels: NodeLabels) -> NodeLabels:
        """The labels of a Node with what was refused for it; the same object where nothing was.

        Of Nodes with one object of labels to which the same is refused it is one object too, as plans are made for each.
        """
        found = self._of(EVERYWHERE) | self._of(uid)
        if not found:
            return labels
        key = (id(labels), frozenset(found.items()))
        return share(self._marked, key, self._marked.get(key) or (labels, _mark(labels, found)))[1]

    def _of(self, uid: str) -> dict[Output, str]:
        now = self._clock()
        refused = self._refused.get(uid, {})
        return {output: refusal.reason for output, refusal in refused.items() if refusal.counts(now)}

    def _forget(self, uid: str, output: Output) -> None:
        self._order.pop((uid, output), None)
        refused = self._refused.get(uid, {})
        refused.pop(output, None)
        if not refused:
            self._refused.pop(uid, None)


def _mark(labels: NodeLabels, found: Mapping[Output, str]) -> NodeLabels:
    by_kind: dict[RejectedKind, dict[tuple[str, str], str]] = {}
    for output, reason in found.items():
        by_kind.setdefault(output.kind, {})[output.key, output.value] = reason
    others = dict(labels.others)
    for kind in by_kind.keys() - {RejectedKind.LABEL}:
        others[kind] = msgspec.structs.replace(others.get(kind, NodeLabels({})), refusals=by_kind[kind])
    return msgspec.structs.replace(labels, refusals=by_kind.get(RejectedKind.LABEL, {}), others=others)
