"""Bucket ``labels`` as it is: which record each node has, whoever wrote it.

A record that is gone without a word is still known here, and so can be put again: a store that was wiped changes no label.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nodeworthy.bus.keys import parse_labels_key
from nodeworthy.bus.labels import decode_labels
from nodeworthy.bus.rule_reports import RULES_KEY
from nodeworthy.bus.watching import Change, Complete, Removed
from nodeworthy.errors import PayloadError, PayloadVersionError, UsageError
from nodeworthy.labels import NO_FACTS, FactsMark, LabelState
from nodeworthy.processes import EventLog
from nodeworthy_labeler.memories import Memories, Packed

_LOG = EventLog("labeler")


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one node's record."""

    packed: Packed | None = None
    """What it remembers, or did when it could be read last; ``None``: it could never be read."""
    revision: int = 0
    """Of its key, as far as it is known; 0: there is none."""
    is_stored: bool = False
    """Whether the bucket holds it; if not, it was lost or cannot be read, and is to be written again."""
    newer: str = ""
    """Why it must not be written: a newer program wrote it."""
    facts: FactsMark = NO_FACTS
    """From which facts it was made."""


NONE = Record()

_ANY_FACTS = FactsMark(2**63, math.inf)
"""Somebody removed the record, and it does not tell from which facts."""


class Records:
    """The records of all nodes."""

    def __init__(self, memories: Memories) -> None:
        self.memories = memories
        self.refused = 0
        """Records that could not be read, or that belong to no node."""
        self._records: dict[str, Record] = {}
        self._unseen: set[str] = set()
        """Nodes whose records this labeler wrote and the watch has not told since."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def get(self, node: str) -> Record:
        """The record of a node."""
        return self._records.get(node, NONE)

    def count_states(self) -> Counter[LabelState]:
        """How many labels of all nodes are in each state."""
        kinds = Counter(record.packed.tables for record in self._records.values() if record.packed is not None)
        counts: Counter[LabelState] = Counter()
        for tables, nodes in kinds.items():
            for state, labels in self.memories.count_states(tables).items():
                counts[state] += labels * nodes
        return counts

    def take(self, change: Change) -> list[str]:
        """Learn from the watch; the nodes whose records are others than were known."""
        if isinstance(change, Complete):
            return self._doubt_unseen()
        if change.key == RULES_KEY:
            return []
        try:
            node = parse_labels_key(change.key)
        except UsageError as error:
            self.refused += 1
            _LOG.warning("labeler.strange_key", about=change.key, key=change.key, error=str(error))
            return []
        before = self.get(node)
        if isinstance(change, Removed):
            self.note_missing(node, change.revision)
        elif change.revision != before.revision or not before.is_stored:
            self.learn(node, change.data, change.revision)
        self._unseen.discard(node)
        return [node] if _content(self.get(node)) != _content(before) else []

    def _doubt_unseen(self) -> list[str]:
        """After a complete read: what this labeler wrote and the watch has never seen may have been lost at once."""
        doubtful = list(self._unseen)
        self._unseen.clear()
        for node in doubtful:
            self._set(node, replace(self.get(node), is_stored=False, revision=0))
        return doubtful

    def learn(self, node: str, data: bytes, revision: int) -> None:
        """Note what is stored under a revision; what cannot be read is to be written over, if no newer program wrote it."""
        before = self.get(node)
        try:
            record = decode_labels(data)
            packed = self.memories.intern(record.packed)
        except PayloadVersionError as error:
            self.refused += 1
            _LOG.warning("labeler.newer_record", about=node, node=node, revision=revision, error=str(error))
            self._records[node] = Record(before.packed, revision, is_stored=True, newer=str(error))
        except PayloadError as error:
            self.refused += 1
            _LOG.warning("labeler.bad_record", about=node, node=node, revision=revision, error=str(error))
            self._records[node] = Record(before.packed, revision)
        else:
            self._records[node] = Record(packed, revision, is_stored=True, facts=record.facts)

    def note_missing(self, node: str, revision: int) -> None:
        """The bucket does not hold the record; the revision of its removal, or 0 where it was lost."""
        facts = _ANY_FACTS if revision else NO_FACTS
        self._set(node, replace(self.get(node), is_stored=False, revision=revision, facts=facts))

    def note_written(self, node: str, packed: Packed, revision: int, facts: FactsMark) -> None:
        """This labeler wrote the record."""
        if self.get(node).revision != revision:
            self._unseen.add(node)
        self._records[node] = Record(packed, revision, is_stored=True, facts=facts)

    def forget(self, node: str) -> None:
        """This labeler removed the record, since there is no such node."""
        self._records.pop(node, None)
        self._unseen.discard(node)

    def _set(self, node: str, record: Record) -> None:
        if record.packed is None and not record.newer:
            self._records.pop(node, None)
            if record.revision:
                self._records[node] = record
            return
        self._records[node] = record


def _content(record: Record) -> tuple[Packed | None, bool, str]:
    return (record.packed, record.is_stored, record.newer)
