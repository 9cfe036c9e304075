"""Producers of whom nothing could be read yet: whatever the others say of their nodes may not be all of it.

Another program wrote in a newer format, or something is broken. What such a producer says might hold anything, so all of
its node is unknown: without this, a rule that asks for something not to be there would be met, and what that producer gave
before would be taken away.
"""

import numpy as np
import numpy.typing as npt

from nodeworthy.errors import UsageError
from nodeworthy.fleet.limits import Limits
from nodeworthy.fleet.producers import Producer


class Doubts:
    """The nodes in doubt, by name, and by row as far as they have one."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._producers: dict[str, set[Producer]] = {}
        self._rows: set[int] = set()

    def __contains__(self, node: str) -> bool:
        return node in self._producers

    def add(self, node: str, producer: Producer) -> bool:
        """Note a producer; whether its node was not in doubt before.

        Raises:
            UsageError: there are too many of them; nothing was noted.
        """
        producers = self._producers.get(node, set())
        if producer not in producers and len(producers) >= self._limits.producers:
            raise UsageError(f"node {node} has too many producers", why=f"the limit is {self._limits.producers}")
        if not producers and len(self._producers) >= self._limits.nodes:
            raise UsageError(f"node {node} is one too many in doubt", why=f"the limit is {self._limits.nodes:,}")
        self._producers.setdefault(node, set()).add(producer)
        return not producers

    def settle(self, node: str, producer: Producer | None = None) -> bool:
        """Let go of a producer, or of all of a node; whether that was the last doubt."""
        producers = self._producers.get(node)
        if producers is None:
            return False
        if producer is not None:
            producers.discard(producer)
        if producer is not None and producers:
            return False
        del self._producers[node]
        return True

    def place(self, row: int, node: str) -> None:
        """Keep the row of a node in step with its name."""
        if node in self._producers:
            self._rows.add(row)
        else:
            self._rows.discard(row)

    def leave(self, row: int) -> None:
        """A row is nobody's any more."""
        self._rows.discard(row)

    def has_row(self, row: int) -> bool:
        """Whether the node of a row is in doubt."""
        return row in self._rows

    def cover(self, numbers: npt.NDArray[np.intp], rows: npt.NDArray[np.intp], number: int) -> None:
        """Put ``number`` in the places of those rows that are in doubt."""
        if self._rows:
            numbers[np.isin(rows, np.fromiter(self._rows, np.intp, len(self._rows)))] = number
