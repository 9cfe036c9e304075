"""What the detectors of nodes say of themselves: when they spoke last, how their sources fare, and what is still to come."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.nodes import NodeChange, NodeRemoved, PublishedSnapshot
from nodeworthy.features import SourceHealth, is_blind

_MAX_MESSAGE = 500
"""Characters; a condition is for people, and every watch of Nodes carries it."""


class Health(StrEnum):
    """The status of a condition (``core/v1``)."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Verdict(NamedTuple):
    """What is said of a node's hardware facts."""

    health: Health
    reason: str
    """One word in CamelCase, as the API wants it."""
    message: str


class Report(NamedTuple):
    """The newest snapshot of one detector."""

    time: float
    """Unix time when the bus stored it."""
    verdict: Verdict
    pending: frozenset[str]
    """Sets that it can deliver, or says are there, and whose content has not come."""


SOURCES_OK = Verdict(Health.TRUE, "SourcesOk", "every source of the detector works")


class DetectorReports:
    """The newest report of each node's detector, of snapshots that count."""

    def __init__(self) -> None:
        self._reports: dict[str, Report] = {}

    def get(self, node: str) -> Report | None:
        """What the detector said; ``None``: nothing that counts."""
        return self._reports.get(node)

    def take(self, change: NodeChange) -> str | None:
        """Learn from a change; the node, if something else is still to come of it than before.

        What other producers say, and what is lost without a word, changes nothing.
        """
        if isinstance(change, PublishedSnapshot) and change.producer == DETECTOR:
            before = self._reports.get(change.node)
            message = change.message
            pending = frozenset({*change.missing, *(set(message.catalogue or ()) - message.sets.keys())})
            self._reports[change.node] = Report(change.time, judge_sources(message.sources), pending)
            return change.node if before is None or before.pending != pending else None
        if isinstance(change, NodeRemoved) and change.producer == DETECTOR and not change.is_lost:
            self._reports.pop(change.node, None)
        return None

    def is_complete(self, node: str, sets: Iterable[str]) -> bool:
        """Whether the detector has spoken and none of these sets is still to come."""
        report = self._reports.get(node)
        return report is not None and report.pending.isdisjoint(sets)


def judge_sources(sources: Mapping[str, SourceHealth]) -> Verdict:
    """How a detector's sources fare together; one that is switched off is no fault, nor is a single bad device."""
    failing = {name: health.error for name, health in sorted(sources.items()) if health.error}
    if not failing:
        return SOURCES_OK
    said = "; ".join(f"{name}: {error}" for name, error in failing.items())
    said = said if len(said) <= _MAX_MESSAGE else said[: _MAX_MESSAGE - 1] + "…"
    return Verdict(Health.FALSE, "Blind" if is_blind(sources) else "SourcesFailing", said)
