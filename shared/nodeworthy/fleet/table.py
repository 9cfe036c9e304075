"""The fleet table: node by set, each cell the number of an effective content."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Lookup, Snapshot
from nodeworthy.fleet.answers import AnswerMemo
from nodeworthy.fleet.cells import Cells
from nodeworthy.fleet.columns import Column
from nodeworthy.fleet.contents import DEFAULTS, NO_CATALOGUE, NOT_DELIVERED, NOT_REPORTED, OVERFULL, UNREADABLE, Space
from nodeworthy.fleet.doubts import Doubts
from nodeworthy.fleet.limits import Limits
from nodeworthy.fleet.producers import DETECTOR, Producer, Provenance, Report, precedence
from nodeworthy.fleet.rows import Rows
from nodeworthy.fleet.rule_results import ResultMemo

_SHARED_NAMES = 1_000
"""How many lists of set names are kept to be shared: one for each version and configuration of a producer."""


class Change(NamedTuple):
    """What an update changed of a node's effective facts; false where that is nothing."""

    node: str
    sets: frozenset[str] = frozenset()
    """Sets whose content, state or reason is another one now."""
    unlisted: bool = False
    """Whether the answer changed for every set of which no producer speaks."""
    refused: tuple[str, ...] = ()
    """What of the snapshot the table could not take, in words; these sets are unknown."""

    def __bool__(self) -> bool:
        return bool(self.sets) or self.unlisted


class Fleet:
    """The effective facts of all nodes.

    Not made for threads. What an evaluation returns is about the table as it was then, and refuses to look into a later one.
    """

    def __init__(self, *, own_namespace: str = "", limits: Limits | None = None) -> None:
        """Make an empty table; NodeFeature objects of ``own_namespace`` come before all others, as in NFD."""
        self.limits = limits or Limits()
        self.memo = AnswerMemo(max_bytes=self.limits.memo_bytes, max_asks=self.limits.asks)
        """What terms have answered; one for all evaluations."""
        self.results = ResultMemo(max_bytes=self.limits.result_bytes)
        """What rules have given of which their terms' answers do not tell it; one for all evaluations."""
        self.version = 0
        """Grows with every change of effective facts."""
        self._own_namespace = own_namespace
        self._rows = Rows(self.limits.nodes)
        self._space = Space(self.limits.content_bytes)
        self._cells = Cells(max_sets=self.limits.sets, space=self._space)
        self._doubts = Doubts(self.limits)
        self._reports: dict[str, dict[Producer, Report]] = {}
        self._names: dict[frozenset[str], frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, node: str) -> bool:
        return node in self._rows

    @property
    def content_bytes(self) -> int:
        """Bytes that all distinct contents take in canonical form."""
        return self._space.used

    def nodes(self) -> list[str]:
        """The names of all nodes, in the order of their rows."""
        return self.names(self.rows())

    def facts(self, node: str) -> "RowFacts":
        """The effective facts of a node, for rules and verdicts.

        Raises:
            UsageError: there is no such node.
        """
        return self.row_facts(self._rows.row(node))

    def last_content(self, node: str, name: str) -> FeatureSet | None:
        """What a set that is unknown now held before; ``None`` for any other set."""
        column = self.column(name)
        last = column.last(self._rows.row(node)) if column else None
        return last.content if last else None

    def reports(self, node: str) -> dict[Producer, Report]:
        """The producers of a node, those that win last, with what is kept of their snapshots; empty for no node."""
        reports = self._reports.get(node, {})
        return {producer: reports[producer] for producer in self._in_order(reports)}

    def update(self, node: str, producer: Producer, snapshot: Snapshot, provenance: Provenance | None = None) -> Change:
        """Take a producer's snapshot in place of its last one, and say what changed of the node's effective facts.

        Give the same object for the same large content wherever it appears: it is then recognised without being read.

        Raises:
            UsageError: the table takes no further node, or the node no further producer; nothing was changed.
        """
        reports = self._reports.get(node, {})
        if producer not in reports and len(reports) >= self.limits.producers:
            raise UsageError(f"node {node} has too many producers", why=f"the limit is {self.limits.producers}")
        is_new = node not in self._rows
        row = self._rows.add(node)
        self._cells.grow(self._rows.capacity)
        reports = self._reports.setdefault(node, {})
        before = reports[producer].names if producer in reports else frozenset()
        report = reports[producer] = self._report(snapshot, provenance or Provenance())
        changed: set[str] = set()
        refused: list[str] = []
        alone = (producer,) if len(reports) == 1 else None
        for name in report.names:
            speakers = alone or self._speakers(reports, name)
            said = self._cells.say(row, name, speakers, producer, snapshot.lookup(name))
            if said.changed:
                changed.add(name)
            if said.refused:
                refused.append(f"{name}: {said.refused}")
                report = report._replace(is_overfull=report.is_overfull or said.is_overfull)
        reports[producer] = report
        changed |= self._withdraw(row, reports, before - report.names, producer)
        is_settled = self._doubts.settle(node, producer)
        self._doubts.place(row, node)
        return self._changed(node, row, changed, tuple(sorted(refused)), is_other=is_new or is_settled)

    def doubt(self, node: str, producer: Producer) -> Change:
        """Say that a producer speaks of a node and that nothing of it could be read yet: all of the node is unknown.

        It lasts until the producer is updated or removed. A producer that could be read before is not doubted: its last word
        counts.

        Raises:
            UsageError: too many nodes or producers are in doubt; nothing was changed.
        """
        if producer in self._reports.get(node, {}) or not self._doubts.add(node, producer) or node not in self._rows:
            return Change(node)
        row = self._rows.row(node)
        self._doubts.place(row, node)
        return self._changed(node, row, set(), is_other=True)

    def is_doubted(self, node: str) -> bool:
        """Whether some producer of a node could never be read."""
        return node in self._doubts

    def remove(self, node: str, producer: Producer | None = None) -> Change:
        """Forget what one producer said, or the node as a whole; what is not there changes nothing."""
        is_settled = self._doubts.settle(node, producer)
        if node not in self._rows:
            return Change(node)
        row = self._rows.row(node)
        reports = self._reports[node]
        changed: set[str] = set()
        for one in tuple(reports) if producer is None else (producer,):
            report = reports.pop(one, None)
            changed |= self._withdraw(row, reports, report.names if report else frozenset(), one)
        self._doubts.place(row, node)
        if reports:
            return self._changed(node, row, changed, is_other=is_settled)
        change = self._changed(node, row, changed, is_other=True)
        del self._reports[node]
        self._rows.remove(node)
        self._doubts.leave(row)
        return change

    # What evaluation looks at

    def rows(self, nodes: Sequence[str] | None = None) -> npt.NDArray[np.intp]:
        """The rows of these nodes, in this order; without an argument of all.

        Raises:
            UsageError: one of them is not in the table.
        """
        return self._rows.alive() if nodes is None else self._rows.of(nodes)

    def names(self, rows: npt.NDArray[np.intp]) -> list[str]:
        """The nodes in these rows."""
        return self._rows.names(rows)

    def name(self, row: int) -> str:
        """The node in this row."""
        return self._rows.name(row)

    def row_facts(self, row: int) -> "RowFacts":
        """The effective facts of a row."""
        return RowFacts(self, row)

    def lookup(self, row: int, name: str) -> Lookup:
        """What is known of one set on one row."""
        return DEFAULTS[UNREADABLE] if self._doubts.has_row(row) else self._cells.lookup(row, name)

    def serial(self, row: int, name: str) -> int:
        """What names the content of one set on one row for ever, with its state and reason."""
        if self._doubts.has_row(row):
            return UNREADABLE
        column = self.column(name)
        return column.contents.serial(column.number(row)) if column else int(self._cells.defaults[row])

    def column(self, name: str) -> Column | None:
        """The column of a set; ``None`` where no producer of any node speaks of it."""
        return self._cells.columns.get(name)

    def numbers(self, name: str, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The number of the content of a set on each of these rows; without a column they are the default numbers."""
        column = self.column(name)
        found = (column.numbers if column else self._cells.defaults)[self._rows.index(rows)].astype(np.intp)
        self._doubts.cover(found, rows, UNREADABLE)
        return found

    # Details of updates

    def _withdraw(
        self, row: int, reports: dict[Producer, Report], names: frozenset[str], producer: Producer
    ) -> set[str]:
        return {name for name in names if self._cells.withdraw(row, name, self._speakers(reports, name), producer)}

    def _changed(
        self, node: str, row: int, changed: set[str], refused: tuple[str, ...] = (), *, is_other: bool = False
    ) -> Change:
        default = _default(self._reports[node])
        unlisted = is_other or bool(self._cells.defaults[row] != default)
        change = Change(node, frozenset(changed) | self._cells.set_default(row, default), unlisted, refused)
        self.version += bool(change)
        return change

    def _speakers(self, reports: dict[Producer, Report], name: str) -> Sequence[Producer]:
        return self._in_order({producer: report for producer, report in reports.items() if name in report.names})

    def _in_order(self, reports: dict[Producer, Report]) -> list[Producer]:
        return sorted(reports, key=lambda producer: precedence(producer, self._own_namespace))

    def _report(self, snapshot: Snapshot, provenance: Provenance) -> Report:
        names = frozenset((*snapshot.contents, *snapshot.statuses, *(snapshot.catalogue or ())))
        if len(self._names) >= _SHARED_NAMES:
            self._names.clear()
        ailing = {name: health for name, health in snapshot.sources.items() if health.error or health.faults}
        return Report(provenance, self._names.setdefault(names, names), snapshot.catalogue is not None, ailing)


class RowFacts:
    """The effective facts of one node as they are when they are asked for (a ``rules.Facts``)."""

    def __init__(self, fleet: Fleet, row: int) -> None:
        self._fleet = fleet
        self._row = row

    def lookup(self, name: str) -> Lookup:
        """What is known of the set ``name``, spelt in lower case."""
        return self._fleet.lookup(self._row, name)


def _default(reports: dict[Producer, Report]) -> int:
    """What the sets are of which no producer of a node speaks.

    Only the detector looks at the machine, and its catalogue says at what: without either, nothing is known to be absent.
    """
    if any(report.is_overfull for report in reports.values()):
        return OVERFULL
    if DETECTOR not in reports:
        return NOT_REPORTED
    return NOT_DELIVERED if reports[DETECTOR].has_catalogue else NO_CATALOGUE
