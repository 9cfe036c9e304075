"""What is kept of each producer's last message beside its facts: how old it is, how whole, and how long it counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from nodeworthy.bus.nodes import PublishedSnapshot
from nodeworthy.bus.requests import ProducerSummary
from nodeworthy.features import SetState, SetStatus, Snapshot, SourceHealth


@dataclass(slots=True)
class ProducerRecord:
    """One producer of one node."""

    revision: int = 0
    """Of its key; 0: nothing of it could be read yet."""
    time: float = 0.0
    """Unix time when the bus stored it."""
    expires: int | None = None
    present: int = 0
    absent: int = 0
    unknown: int = 0
    missing: tuple[str, ...] = ()
    """Sets whose content did not come, or is bad."""
    problem: str = ""
    """Why its latest message is not used, or does not count any more."""
    heard: int = 0
    """Counts its snapshots, so that a time that was set before one means nothing after it."""

    def take(self, published: PublishedSnapshot) -> None:
        """Learn of a new snapshot."""
        snapshot = published.snapshot
        self.revision, self.time = published.revision, published.time
        self.expires, self.missing, self.problem = published.message.expires, published.missing, ""
        states = [status.state for name, status in snapshot.statuses.items() if name not in snapshot.contents]
        undelivered = (snapshot.catalogue or frozenset()) - snapshot.contents.keys() - snapshot.statuses.keys()
        self.present = len(snapshot.contents)
        self.absent = states.count(SetState.ABSENT)
        self.unknown = states.count(SetState.UNKNOWN) + len(undelivered)

    def fade(self, reason: str) -> None:
        """Nothing of it is known any more."""
        self.present, self.absent, self.unknown = 0, 0, self.present + self.absent + self.unknown
        self.problem = reason

    def summarize(self, producer: str, now: float, ailing: Mapping[str, SourceHealth]) -> ProducerSummary:
        """What it is worth now."""
        return ProducerSummary(
            producer=producer,
            revision=self.revision,
            age=max(0.0, now - self.time) if self.revision else 0.0,
            expires=self.expires,
            present=self.present,
            absent=self.absent,
            unknown=self.unknown,
            pending=self.missing,
            sources=ailing,
            problem=self.problem,
        )


def faded_snapshot(names: frozenset[str], *, has_catalogue: bool, reason: str) -> Snapshot:
    """What is left of facts that do not count any more: every set that they told of is unknown, and none is absent.

    Absence is not evidence: without this a rule that asks for a set not to be there would be met.
    """
    status = SetStatus(SetState.UNKNOWN, reason)
    return Snapshot({}, dict.fromkeys(names, status), names if has_catalogue else None)
