"""Which row of the table each node has."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nodeworthy.errors import UsageError

_FIRST_CAPACITY = 16
"""Rows of an empty table; it grows by half, so that no more than a third of it is ever unused."""


class Rows:
    """The names of nodes and their rows; the row of a node that is gone is given to the next new one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows: dict[str, int] = {}
        self._names: list[str] = []
        self._unused: list[int] = []
        self._alive = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._all: npt.NDArray[np.intp] | None = None
        """The rows of all nodes; ``None`` where they are to be looked up anew."""

    def __contains__(self, node: str) -> bool:
        return node in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def capacity(self) -> int:
        """How many rows there is room for."""
        return len(self._alive)

    def row(self, node: str) -> int:
        """The row of a node.

        Raises:
            UsageError: there is no such node.
        """
        try:
            return self._rows[node]
        except KeyError:
            raise UsageError(
                f"no node is named {node!r}", why="no producer has said anything of it", todo="see: nodeworthy nodes"
            ) from None

    def of(self, nodes: Sequence[str]) -> npt.NDArray[np.intp]:
        """The rows of several nodes, in their order."""
        return np.fromiter(map(self.row, nodes), np.intp, len(nodes))

    def alive(self) -> npt.NDArray[np.intp]:
        """The rows of all nodes; nobody may write into it."""
        if self._all is None:
            self._all = np.flatnonzero(self._alive)
            self._all.setflags(write=False)
        return self._all

    def index(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp] | slice:
        """What picks these rows out of a column: a slice for all rows where none is unused, because that costs less."""
        if rows is self._all and len(self._rows) == len(self._names):
            return slice(len(rows))
        return rows

    def names(self, rows: npt.NDArray[np.intp]) -> list[str]:
        """The nodes in these rows."""
        return [self._names[row] for row in rows.tolist()]

    def name(self, row: int) -> str:
        """The node in this row."""
        return self._names[row]

    def add(self, node: str) -> int:
        """The row of a node, which is new if it has none.

        Raises:
            UsageError: there are too many nodes.
        """
        row = self._rows.get(node)
        if row is not None:
            return row
        if len(self._rows) >= self._limit:
            raise UsageError(f"node {node} is one too many for this table", why=f"the limit is {self._limit:,} nodes")
        if self._unused:
            row = self._unused.pop()
            self._names[row] = node
        else:
            row = len(self._names)
            self._names.append(node)
            if row == self.capacity:
                self._alive = np.concatenate([self._alive, np.zeros(self.capacity // 2, np.bool_)])
        self._rows[node] = row
        self._alive[row] = True
        self._all = None
        return row

    def remove(self, node: str) -> None:
        """Forget a node."""
        row = self._rows.pop(node)
        self._names[row] = ""
        self._alive[row] = False
        self._all = None
        self._unused.append(row)
