"""A tree that can be read until a time: whoever reads it later is stopped, wherever it is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nodeworthy_resolver.inspection.tree import Entry, Tree


class OutOfTimeError(Exception):
    """The time for an inspection is over."""

    def __init__(self) -> None:
        super().__init__("the time for it was used up")


@dataclass(frozen=True)
class TimedTree:
    """A tree of which nothing is read any more when ``clock`` shows ``deadline``.

    Raises:
        OutOfTimeError: by every method, from then on.
    """

    tree: Tree
    clock: Callable[[], float]
    deadline: float

    def entry(self, path: str) -> Entry | None:
        """What stands at a path; a link is not followed."""
        self._check()
        return self.tree.entry(path)

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder, sorted; empty where there is no folder."""
        self._check()
        return self.tree.names(folder)

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """Every path but the root, sorted by name in each folder, a folder before what is in it."""
        for one in self.tree.walk():
            self._check()
            yield one

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        """Bytes of a file, as the tree gives them."""
        self._check()
        return self.tree.read(path, offset, size)

    def map(self, path: str) -> AbstractContextManager[memoryview]:
        """The content of a file, while the context lasts."""
        self._check()
        return self.tree.map(path)

    def _check(self) -> None:
        if self.clock() >= self.deadline:
            raise OutOfTimeError
