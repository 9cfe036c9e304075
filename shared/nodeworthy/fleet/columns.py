"""One column of the table: which content of a set each node has."""

import numpy as np
import numpy.typing as npt

from nodeworthy.features import Lookup, SetState
from nodeworthy.fleet.contents import FULL, Contents, Space


class Column:
    """The contents of one set by row; a row of which nobody speaks has one of the default numbers."""

    def __init__(self, name: str, defaults: npt.NDArray[np.int32], space: Space) -> None:
        self.name = name
        self.contents = Contents(space)
        self.numbers = defaults.copy()
        self.spoken = 0
        """Rows of which some producer speaks; a column without one is of no use."""
        self._last: dict[int, int] = {}
        """Row to the last content that was there, for rows that are unknown now."""

    def grow(self, rows: int) -> None:
        """Make room for more rows."""
        self.numbers = np.concatenate([self.numbers, np.zeros(rows - len(self.numbers), np.int32)])

    def number(self, row: int) -> int:
        """The number of the content of a row."""
        return int(self.numbers[row])

    def is_spoken(self, row: int) -> bool:
        """Whether some producer speaks of the set on this row."""
        return self.number(row) >= FULL

    def place(self, row: int, number: int) -> bool:
        """Put a content into a row and hold it; whether it is another one than before."""
        old = self.number(row)
        if old == number:
            return False
        contents = self.contents
        contents.hold(number)
        self.numbers[row] = number
        self.spoken += (number >= FULL) - (old >= FULL)
        if self._last or contents.state(number) is SetState.UNKNOWN:
            self._keep_last(row, old, number)
        contents.release(old)
        return True

    def last(self, row: int) -> Lookup | None:
        """What was there before the row became unknown; ``None`` where it is not unknown, or never was anything else."""
        number = self._last.get(row)
        return None if number is None else self.contents.lookup(number)

    def _keep_last(self, row: int, old: int, number: int) -> None:
        if self.contents.state(number) is not SetState.UNKNOWN or number < FULL:
            known = self._last.pop(row, None)
            if known is not None:
                self.contents.release(known)
        elif self.contents.state(old) is SetState.PRESENT:
            self.contents.hold(old)
            self._last[row] = old
