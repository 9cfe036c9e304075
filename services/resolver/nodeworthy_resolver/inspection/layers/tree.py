"""The files that all layers of an image leave."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.layers.applying import Applier, Layer
from nodeworthy_resolver.inspection.layers.bounds import Bounds, Usage
from nodeworthy_resolver.inspection.layers.index import START, File, Folder, Index, describe, unpack
from nodeworthy_resolver.inspection.layers.store import FIRST, WORDS, ContentStore, Lost
from nodeworthy_resolver.inspection.tree import Entry, NotKeptError

_EMPTY = memoryview(b"")


class LayeredTree:
    """The files of an image; a context manager, at whose end the contents are removed."""

    def __init__(self, index: Index, store: ContentStore, unexplored: tuple[Unexplored, ...] = ()) -> None:
        self._index = index
        self._store = store
        self._unexplored = unexplored

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the contents."""
        self._store.close()

    def entry(self, path: str) -> Entry | None:
        """What stands at a path; a link is not followed."""
        node = self._index.find(path)
        return None if node is None else describe(node)

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder, sorted; empty where there is no folder."""
        node = self._index.find(folder)
        return sorted(node.nodes) if isinstance(node, Folder) else ()

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """Every path but the root, sorted by name in each folder, a folder before what is in it."""
        return ((path, describe(node)) for path, node in self._index.walk())

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        """Bytes of a file, fewer where it ends before; ``size`` below 0: to its end.

        Raises:
            NotKeptError: they were not kept, or there is no file.
        """
        file = self._file(path)
        there = max(file.size - offset, 0)
        wanted = there if size < 0 else min(size, there)
        if not wanted:
            return b""
        if offset + wanted <= START:
            return file.start[offset : offset + wanted]
        self._check_kept(path, file, offset + wanted)
        return self._store.read(file.content, path, offset, wanted)

    def map(self, path: str) -> AbstractContextManager[memoryview]:
        """The content of a file, while the context lasts; large ones are not in memory as a whole.

        Raises:
            NotKeptError: it was not kept as a whole, or there is no file.
        """
        file = self._file(path)
        if not file.size:
            return _EMPTY[:]
        self._check_kept(path, file, file.size)
        return self._store.map(file.content, path)

    def unexplored(self) -> tuple[Unexplored, ...]:
        """What of the layers was passed over or not kept, and why."""
        return self._unexplored

    def _file(self, path: str) -> File:
        node = self._index.find(path)
        if not isinstance(node, int):
            raise NotKeptError(f"{path} is no file")
        return unpack(node)

    def _check_kept(self, path: str, file: File, end: int) -> None:
        if file.content < FIRST:
            raise NotKeptError(f"{path}: {WORDS[Lost(file.content)]}")
        if end > (kept := self._store.length(file.content)):
            raise NotKeptError(f"{path}: only its first {kept:,} bytes are kept")


def read_layers(
    layers: Iterable[Layer], bounds: Bounds | None = None, *, folder: Path | None = None, is_windows: bool = False
) -> LayeredTree:
    """The tree that layers leave, lowest first. Contents are kept in a file below ``folder``, or where temporary files lie.

    Raises:
        InspectionError: a layer is damaged, not what its digest says, or the image is beyond a bound.
        NodeworthyError: what opening a layer raises.
    """
    bounds = bounds or Bounds()
    index, store = Index(), ContentStore(bounds, folder)
    try:
        applier = Applier(index, store, Usage(bounds), is_windows=is_windows)
        for layer in layers:
            applier.apply(layer)
        store.finish()
    except BaseException:
        store.close()
        raise
    return LayeredTree(index, store, applier.notices.told())
