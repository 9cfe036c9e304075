"""The cells of the table: what the producers of a node say of a set becomes the number of one effective content."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodeworthy.features import Lookup
from nodeworthy.fleet.columns import Column
from nodeworthy.fleet.contents import DEFAULTS, FULL, Space
from nodeworthy.fleet.merging import merge
from nodeworthy.fleet.producers import Producer
from nodeworthy.rules.known_sets import KNOWN_SETS


class Said(NamedTuple):
    """What became of a producer's word on one set."""

    changed: bool
    """Whether the effective content is another one now."""
    refused: str = ""
    """Why the table could not take it; the set is unknown then."""
    is_overfull: bool = False
    """Whether there is no column for it."""


_CHANGED, _UNCHANGED = Said(changed=True), Said(changed=False)
_OVERFULL = Said(changed=False, refused="the fleet's table takes no further names of sets", is_overfull=True)


class Cells:
    """The columns, and for the cells of which several producers speak what each of them says."""

    def __init__(self, *, max_sets: int, space: Space) -> None:
        self.columns: dict[str, Column] = {}
        self.defaults: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        """By row: the number of what a set is of which no producer of the row speaks."""
        self._max_sets = max_sets
        self._space = space
        self._contested: dict[tuple[int, str], dict[Producer, int]] = {}

    def grow(self, rows: int) -> None:
        """Make room for more rows."""
        if rows > len(self.defaults):
            self.defaults = np.concatenate([self.defaults, np.zeros(rows - len(self.defaults), np.int32)])
            for column in self.columns.values():
                column.grow(rows)

    def lookup(self, row: int, name: str) -> Lookup:
        """The effective content of a set."""
        column = self.columns.get(name)
        return column.contents.lookup(column.number(row)) if column else DEFAULTS[self.defaults[row]]

    def say(self, row: int, name: str, speakers: Sequence[Producer], producer: Producer, found: Lookup) -> Said:
        """Take a producer's word; ``speakers`` are all that speak of the set, in their order, the producer included."""
        column = self._column_for(name)
        if column is None:
            return _OVERFULL
        number = column.contents.intern(found)
        refused = "" if column.contents.state(number) is found.state else column.contents.lookup(number).reason
        if len(speakers) == 1:
            changed = column.place(row, number)
            return Said(changed, refused) if refused else _CHANGED if changed else _UNCHANGED
        parts = self._contested.get((row, name))
        if parts is None:
            # Until now one spoke alone, so what it said is what stands in the cell; or several for whom there was no column.
            parts = self._contested[row, name] = {}
            for speaker in speakers:
                _exchange(column, parts, speaker, column.number(row))
        _exchange(column, parts, producer, number)
        return Said(column.place(row, _merged(column, [parts[speaker] for speaker in speakers])), refused)

    def withdraw(self, row: int, name: str, speakers: Sequence[Producer], producer: Producer) -> bool:
        """Forget a producer's word, whether or not others speak; whether the effective content is another one now."""
        column = self.columns.get(name)
        if column is None:
            return False
        parts = self._contested.get((row, name))
        if parts is None:
            changed = not speakers and column.place(row, int(self.defaults[row]))
        else:
            said = parts.pop(producer)
            changed = column.place(row, _merged(column, [parts[speaker] for speaker in speakers]))
            column.contents.release(said)
            if len(parts) == 1:
                del self._contested[row, name]
                column.contents.release(parts.popitem()[1])
        if not column.spoken:
            del self.columns[name]
        return changed

    def set_default(self, row: int, number: int) -> frozenset[str]:
        """Say what the sets are of which nobody speaks; the names of those columns that changed."""
        if self.defaults[row] == number:
            return frozenset()
        self.defaults[row] = number
        silent = [column for column in self.columns.values() if not column.is_spoken(row)]
        return frozenset(column.name for column in silent if column.place(row, number))

    def _column_for(self, name: str) -> Column | None:
        column = self.columns.get(name)
        # Whoever speaks of one node may name more sets than the table takes; what detectors tell has a place all the same.
        if column is None and (name in KNOWN_SETS or len(self.columns) < self._max_sets):
            column = self.columns[name] = Column(name, self.defaults, self._space)
        return column


def _exchange(column: Column, parts: dict[Producer, int], producer: Producer, number: int) -> None:
    column.contents.hold(number)
    old = parts.get(producer)
    parts[producer] = number
    if old is not None:
        column.contents.release(old)


def _merged(column: Column, parts: Sequence[int]) -> int:
    """The number of the merge; equal contents of the same producers are merged once for all nodes."""
    if len(parts) == 1:
        return parts[0]
    key = tuple(parts)
    number = column.contents.merged(key)
    if number is None:
        number = column.contents.intern(merge(column.name, [column.contents.lookup(part) for part in key]))
        if number != FULL:
            column.contents.remember_merged(key, number)
    return number
