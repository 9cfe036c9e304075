"""All nodes and their facts, as the bus tells them: the fleet table, and what is known about the facts themselves.

Facts stay until somebody says something else. If a key is gone for a reason that nobody told, what it said still counts
for a while (:attr:`~nodeworthy_validator.settings.Lifetimes.lost`), then it is unknown; where the producer itself said until
when its facts hold, they are unknown from then on. Nothing here ever turns a fact that is missing into one that is absent.

A node of which the labeler has said that the cluster has no such Node any more is not told of, whoever still speaks of it.
Its facts stay in the table, so that it is there again at once when that is taken back.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nodeworthy.bus.keys import Producer as Key
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy.bus.requests import ProducerSummary
from nodeworthy.errors import UsageError
from nodeworthy.features import SetStatus, Snapshot
from nodeworthy.fleet import DETECTOR, KUBERNETES, Fleet, Limits, Producer, ProducerKind, Provenance, node_facts
from nodeworthy.fleet.grouping import group
from nodeworthy.processes import EventLog
from nodeworthy.verdicts import NodeFacts
from nodeworthy_validator.lapses import Lapse, Lapses
from nodeworthy_validator.producer_records import ProducerRecord, faded_snapshot
from nodeworthy_validator.settings import Lifetimes

_LOG = EventLog("validator")

MAX_RECORDS = 500_000
"""Nodes that are known by name; as many as the table of their facts takes."""

CATCH_UP_SECONDS = 0.5
"""How long a replica that is behind the one that made a cursor should wait: it hears of a change in milliseconds. After a
loss of the store it never gets there, and goes on all the same."""

_PLATFORM_SETS = ("cpu.cpuid", "system.architecture")
"""What tells a node's platform and its variant (verdicts.nodes)."""


class _Gone(NamedTuple):
    """What was said of a Node that is gone."""

    uid: str
    """Which it had; empty: not known."""
    revision: int


class Inventory:
    """Every node that the bus told of. Not made for threads."""

    def __init__(
        self,
        *,
        lifetimes: Lifetimes = Lifetimes(),  # noqa: B008 # an immutable record
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.fleet = Fleet(limits=limits)
        self.revision = 0
        """Of the last thing that was told: how far this replica has read."""
        self.refused = 0
        """Snapshots that could not be read, or that the table did not take."""
        self._lifetimes = lifetimes
        self._clock = clock
        self._records: dict[str, dict[Producer, ProducerRecord]] = {}
        self._gone: dict[str, _Gone] = {}
        """Those of these nodes that are not told of."""
        self._names: list[str] | None = None
        self._lapses = Lapses(self._still_means_something)
        self._waiting: dict[asyncio.Future[None], int] = {}

    def __len__(self) -> int:
        return len(self._records) - len(self._gone)

    def __contains__(self, node: str) -> bool:
        return node in self._records and node not in self._gone

    def names(self) -> list[str]:
        """Every node, by name; to be read only."""
        if self._names is None:
            self._names = sorted(self._records.keys() - self._gone.keys())
        return self._names

    def is_usable(self, node: str) -> bool:
        """Whether facts of the node are in the table, and count."""
        return node in self.fleet and node not in self._gone

    @property
    def has_gone(self) -> bool:
        """Whether there are nodes that are not told of, whose facts may be in the table."""
        return bool(self._gone)

    @property
    def are_all_usable(self) -> bool:
        """Whether there are facts of every node that is told of."""
        return len(self.fleet) - sum(node in self.fleet for node in self._gone) == len(self)

    # What the bus tells

    def take(self, change: NodeChange) -> None:
        """Learn what changed; it never raises, since what cannot be used harms one node only."""
        if isinstance(change, PublishedSnapshot):
            self._note_revision(change.revision)
            self._put(change)
        elif isinstance(change, NodeRemoved):
            self._remove(change)
        elif isinstance(change, NodeProblem):
            self._note_revision(change.revision)
            self._doubt(change)

    def lapse(self) -> None:
        """Let go of facts whose time is over; to be called before anything is answered."""
        for due in self._lapses.due(self._clock()):
            if due.reason:
                self._fade(due.node, due.producer, self._records[due.node][due.producer], due.reason)
            else:
                self._forget(due.node, due.producer)

    async def catch_up(self, revision: int, seconds: float) -> bool:
        """Wait until this replica has read as far as another one, at most so long; whether it has."""
        if self.revision >= revision:
            return True
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reached] = revision
        try:
            async with asyncio.timeout(seconds):
                await reached
        except TimeoutError:
            return False
        finally:
            del self._waiting[reached]
        return True

    # What is asked

    def platforms(self, nodes: Sequence[str] | None) -> frozenset[str] | None:
        """What these nodes, or all, take images for; ``None``: for one of them that is not known, so it may be anything."""
        rows = self.fleet.rows(nodes)
        alike = group([self.fleet.numbers(name, rows) for name in _PLATFORM_SETS], len(rows))
        found = [node_facts(self.fleet, int(rows[first])).platforms for first in alike.first.tolist()]
        if not all(found):
            return None
        return frozenset(str(platform) for platforms in found for platform in platforms)

    def facts(self, node: str) -> NodeFacts | None:
        """The facts of a node as verdicts see them; ``None`` where there are none."""
        if not self.is_usable(node):
            return None
        return node_facts(self.fleet, int(self.fleet.rows([node])[0]))

    def sets(self, node: str) -> Iterator[tuple[str, SetStatus]]:
        """Every set of which a producer of the node speaks, with what is known of it."""
        if not self.is_usable(node):
            return
        facts = self.fleet.facts(node)
        names = {name for report in self.fleet.reports(node).values() for name in report.names}
        for name in sorted(names):
            found = facts.lookup(name)
            content = {name: found.content} if found.content is not None else {}
            yield name, Snapshot(content, {name: SetStatus(found.state, found.reason)}).status(name)

    def producers(self, node: str) -> tuple[ProducerSummary, ...]:
        """Who speaks of a node, and what that is worth now."""
        if node in self._gone:
            return ()
        now = self._clock()
        reports = self.fleet.reports(node)
        return tuple(
            record.summarize(str(producer), now, reports[producer].ailing if producer in reports else {})
            for producer, record in sorted(self._records.get(node, {}).items(), key=lambda item: str(item[0]))
        )

    def why_unusable(self, node: str) -> str:
        """Why nothing is known of a node that is not in the table."""
        if node in self._gone:
            return f"the cluster has no Node {node} any more"
        records = self._records.get(node, {})
        problems = [record.problem for record in records.values() if record.problem]
        if problems:
            return f"what is published of node {node} cannot be used: {problems[0]}"
        return f"nobody has published facts of node {node}"

    # Details

    def _record(self, node: str, producer: Producer) -> ProducerRecord | None:
        """The record of a producer, made if it is new; ``None`` where no more nodes are taken."""
        records = self._records.get(node)
        if records is None:
            if len(self._records) >= MAX_RECORDS:
                self.refused += 1
                return None
            records = self._records[node] = {}
            self._names = None
        return records.setdefault(producer, ProducerRecord())

    def _put(self, published: PublishedSnapshot) -> None:
        node, producer = published.node, fleet_producer(published.producer)
        record = self._record(node, producer)
        if record is None:
            return
        message = published.message
        record.take(published)
        record.heard += 1
        if producer == KUBERNETES and message.is_node_gone:
            self.fleet.remove(node, producer)
            self._gone[node] = _Gone(message.node_uid, published.revision)
            self._names = None
            return
        if self._is_back(producer, published):
            self._tell_again(node)
        provenance = Provenance(message.node_uid, published.revision, published.time)
        try:
            change = self.fleet.update(node, producer, published.snapshot, provenance)
        except UsageError as error:
            self.refused += 1
            self._note_problem(node, producer, record, str(error))
            return
        if change.refused:
            self._note_problem(node, producer, record, "; ".join(change.refused)[:1000])
        if message.expires is not None:
            reason = f"the time until which {producer} said that its facts hold is over"
            self._plan(message.expires, node, producer, record, reason)
            self.lapse()

    def _is_back(self, producer: Producer, published: PublishedSnapshot) -> bool:
        """Whether a node that was gone is there again: the labeler says so, or somebody speaks of another Node."""
        gone = self._gone.get(published.node)
        if gone is None or producer == KUBERNETES:
            return gone is not None
        uid = published.message.node_uid
        return bool(uid and gone.uid) and uid != gone.uid and published.revision > gone.revision

    def _tell_again(self, node: str) -> None:
        if self._gone.pop(node, None) is not None:
            self._names = None

    def _doubt(self, unread: NodeProblem) -> None:
        node, producer = unread.node, fleet_producer(unread.producer)
        record = self._record(node, producer)
        if record is None:
            return
        self.refused += 1
        record.problem = unread.problem  # what was said before it still counts, and for no longer
        try:
            self.fleet.doubt(node, producer)
        except UsageError as error:
            self._note_problem(node, producer, record, str(error))

    def _note_problem(self, node: str, producer: Producer, record: ProducerRecord, problem: str) -> None:
        about = f"{producer} of {node}"
        _LOG.warning("validator.facts_refused", about=about, node=node, producer=producer, problem=problem)
        record.problem = problem

    def _remove(self, removed: NodeRemoved) -> None:
        producer = fleet_producer(removed.producer)
        record = self._records.get(removed.node, {}).get(producer)
        if record is None:
            return
        # That a node is gone needs evidence: without it there are its facts again, if they are there at all.
        if not removed.is_lost or (producer == KUBERNETES and removed.node in self._gone):
            self._forget(removed.node, producer)
            return
        _LOG.warning("validator.facts_lost", about=removed.node, node=removed.node, producer=producer)
        record.problem = "its key is gone from the bus; what it said last still counts for a while"
        now = self._clock()
        reason = f"what {producer} said was lost on the bus and not said again"
        self._plan(now + self._lifetimes.lost, removed.node, producer, record, reason)
        self._plan(now + self._lifetimes.forgotten, removed.node, producer, record, "")

    def _plan(self, when: float, node: str, producer: Producer, record: ProducerRecord, reason: str) -> None:
        self._lapses.plan(Lapse(when, node, producer, record.heard, reason))

    def _still_means_something(self, lapse: Lapse) -> bool:
        record = self._records.get(lapse.node, {}).get(lapse.producer)
        return record is not None and record.heard == lapse.heard

    def _fade(self, node: str, producer: Producer, record: ProducerRecord, reason: str) -> None:
        _LOG.warning("validator.facts_lapsed", about=node, node=node, producer=producer, reason=reason)
        record.fade(reason)
        report = self.fleet.reports(node).get(producer)
        if report is not None:
            faded = faded_snapshot(report.names, has_catalogue=report.has_catalogue, reason=reason)
            self.fleet.update(node, producer, faded, report.provenance)

    def _forget(self, node: str, producer: Producer) -> None:
        self.fleet.remove(node, producer)
        if producer == KUBERNETES:
            self._tell_again(node)
        records = self._records[node]
        records.pop(producer, None)
        if not records:
            del self._records[node]
            self._names = None

    def _note_revision(self, revision: int) -> None:
        # Not the greatest: a store that was lost begins anew, and then this replica has read as far as the new one goes.
        self.revision = revision
        for reached, wanted in self._waiting.items():
            if revision >= wanted and not reached.done():
                reached.set_result(None)


def fleet_producer(key: Key) -> Producer:
    """The producer of a key, as the table names it."""
    return DETECTOR if key.kind == "detector" else Producer(ProducerKind(key.kind), key.name, key.namespace)
