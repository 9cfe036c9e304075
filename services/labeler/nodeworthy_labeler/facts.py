"""The facts of all nodes, as the bus tells them, in a fleet table.

Facts stay until somebody says something else: a key that is gone without a word changes nothing, since absence is not
evidence, and a producer's facts go when it withdraws them or when the time is over that it stated itself. A detector's never
lapse by themselves: its node is there until somebody removes it.
"""

import heapq
import math
from collections.abc import Callable

from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.keys import Producer as Key
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy.errors import UsageError
from nodeworthy.fleet import Fleet, Producer, ProducerKind, Provenance
from nodeworthy.labels import FactsMark
from nodeworthy.processes import EventLog

_LOG = EventLog("labeler")

_SPARE_ENDS = 1000
"""Times of snapshots that were replaced since, which may stand in the list: whoever publishes often makes many."""


class NodeTable:
    """Follows the producers of all nodes; ``clock`` gives the Unix time, on which producers' times are."""

    def __init__(self, fleet: Fleet, clock: Callable[[], float]) -> None:
        self.fleet = fleet
        self.withdrawn: set[str] = set()
        """Nodes of which everybody has said that they are gone; their labels are to go too."""
        self.refused = 0
        """Snapshots that could not be used, as a whole or in part."""
        self._clock = clock
        self._uids: dict[str, str] = {}
        self._ends: list[tuple[float, str, Key, int]] = []
        self._revisions: dict[tuple[str, Key], int] = {}
        """Of the snapshots whose time will be over."""
        self._withdrawals: dict[str, int] = {}
        """Node to the revision of the last withdrawal of one of its producers."""

    def uid(self, node: str) -> str:
        """The uid of the Node object, where the node's detector knows it."""
        return self._uids.get(node, "")

    def mark(self, node: str) -> FactsMark:
        """How far the facts of a node have been read."""
        read = [report.provenance for report in self.fleet.reports(node).values()]
        return FactsMark(
            max([self._withdrawals.get(node, 0), *(one.revision for one in read)]),
            max([0.0, *(one.timestamp for one in read)]),
        )

    def forget(self, node: str) -> None:
        """A node that everybody withdrew has no labels any more."""
        self.withdrawn.discard(node)
        self._withdrawals.pop(node, None)

    def take(self, change: NodeChange) -> str | None:
        """Learn from the reader; the node, if its facts are others now."""
        if isinstance(change, PublishedSnapshot):
            return self._put(change)
        if isinstance(change, NodeProblem):
            self.refused += 1  # the reader has logged it
            return self._doubt(change)
        if isinstance(change, NodeRemoved):
            if not change.is_lost:
                self._withdrawals[change.node] = change.revision
                return self._withdraw(change.node, change.producer)
            _LOG.debug("labeler.facts_lost", node=change.node, producer=str(change.producer))
        return None

    def lapse(self) -> list[str]:
        """Let go of facts whose time is over; the nodes whose facts are others now."""
        changed = []
        while self._ends and self._ends[0][0] <= self._clock():
            _, node, producer, revision = heapq.heappop(self._ends)
            if self._revisions.get((node, producer)) == revision:
                _LOG.info("labeler.facts_lapsed", about=node, node=node, producer=str(producer))
                changed.append(self._withdraw(node, producer))
        return [node for node in changed if node is not None]

    def seconds_to_lapse(self) -> float:
        """How long until the next facts lapse."""
        return max(0.0, self._ends[0][0] - self._clock()) if self._ends else math.inf

    def _put(self, said: PublishedSnapshot) -> str | None:
        if self._is_over(said):
            return self._withdraw(said.node, said.producer)
        self._note_end(said)
        if said.producer == DETECTOR:
            self._note_uid(said.node, said.message.node_uid)
        provenance = Provenance(said.message.node_uid, said.revision, said.time)
        try:
            change = self.fleet.update(said.node, fleet_producer(said.producer), said.snapshot, provenance)
        except UsageError as error:
            self._refuse(said, str(error))
            return None
        if change.refused:
            self._refuse(said, "; ".join(change.refused))
        was_withdrawn = said.node in self.withdrawn
        self.withdrawn.discard(said.node)
        return said.node if change or was_withdrawn else None

    def _doubt(self, unread: NodeProblem) -> str | None:
        """A producer that could not be read since this labeler started may have given labels before."""
        try:
            change = self.fleet.doubt(unread.node, fleet_producer(unread.producer))
        except UsageError as error:
            _LOG.warning("labeler.facts_refused", about=unread.node, node=unread.node, problem=str(error))
            return None
        return unread.node if change else None

    def _note_uid(self, node: str, uid: str) -> None:
        if uid:
            self._uids[node] = uid
        else:
            self._uids.pop(node, None)

    def _is_over(self, said: PublishedSnapshot) -> bool:
        """Whether a snapshot is read after its time: before a restart its facts had gone, and must not come back with it."""
        expires = said.message.expires
        return expires is not None and said.producer != DETECTOR and expires <= self._clock()

    def _note_end(self, said: PublishedSnapshot) -> None:
        expires = said.message.expires
        self._revisions.pop((said.node, said.producer), None)
        if expires is None or said.producer == DETECTOR:
            return
        self._revisions[said.node, said.producer] = said.revision
        heapq.heappush(self._ends, (expires, said.node, said.producer, said.revision))
        if len(self._ends) > 2 * len(self._revisions) + _SPARE_ENDS:
            self._ends = [end for end in self._ends if self._revisions.get((end[1], end[2])) == end[3]]
            heapq.heapify(self._ends)

    def _refuse(self, said: PublishedSnapshot, problem: str) -> None:
        self.refused += 1
        about = f"{said.producer} of {said.node}"
        _LOG.warning("labeler.facts_refused", about=about, node=said.node, producer=str(said.producer), problem=problem)

    def _withdraw(self, node: str, producer: Key) -> str | None:
        self._revisions.pop((node, producer), None)
        change = self.fleet.remove(node, fleet_producer(producer))
        if node not in self.fleet and not self.fleet.is_doubted(node):
            self.withdrawn.add(node)
            self._uids.pop(node, None)
            return node
        return node if change else None


def fleet_producer(key: Key) -> Producer:
    """The producer of a key, as the table names it."""
    return Producer(ProducerKind(key.kind), key.name, key.namespace)
