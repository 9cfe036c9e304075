"""The ELF files of a tree: those that the start needs at once, the others while there is room and time."""

from collections.abc import Iterator, Mapping

from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.closure.records import Start
from nodeworthy_resolver.inspection.elf import Elf, read_elf
from nodeworthy_resolver.inspection.timing import OutOfTimeError
from nodeworthy_resolver.inspection.tree import Entry, Kind, NotKeptError, Tree

_MAGIC = b"\x7fELF"
_MAX_TOLD = 20
"""Files beside the start that are named because they, or parts of them, could not be read."""


class ElfFiles(Mapping[str, Elf]):
    """The ELF files that were read until now; one that is asked for by its path is read then."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found: dict[str, Elf | None] = {}
        self._unread: dict[str, str] = {}

    def __getitem__(self, path: str) -> Elf:
        found = self._found[path] if path in self._found else self._read(path, self._tree.entry(path))
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        return (path for path, elf in self._found.items() if elf is not None)

    def __len__(self) -> int:
        return sum(elf is not None for elf in self._found.values())

    def read_all(self, most: int) -> tuple[Unexplored, ...]:
        """Read all that were not asked for yet, up to a number of files; what is left over is told."""
        count = len(self)
        try:
            for path, entry in self._tree.walk():
                if entry.kind is not Kind.FILE or path in self._found:
                    continue
                if count >= most:
                    return (Unexplored("the rest of the ELF files", f"more than {most:,} are not looked at"),)
                count += self._read(path, entry) is not None
        except OutOfTimeError as error:
            return (Unexplored("the rest of the files", str(error)),)
        return ()

    def sorted(self) -> dict[str, Elf]:
        """Those that were read, in the order of the paths."""
        return {path: elf for path, elf in sorted(self._found.items()) if elf is not None}

    def unexplored(self, start: Start) -> Iterator[Unexplored]:
        """Files that could not be read, or only in part; those that start decide, of others the first are named."""
        others = 0
        incomplete = ((path, elf.faults[0]) for path, elf in self.sorted().items() if elf.faults)
        for path, why in (*self._unread.items(), *incomplete):
            decides = start.sureness(path) is not None
            others += not decides
            if decides or others <= _MAX_TOLD:
                yield Unexplored(path, why, decides)
        if others > _MAX_TOLD:
            yield Unexplored(
                f"{others - _MAX_TOLD} more files", "they, or parts of them, cannot be read", decides=False
            )

    def _read(self, path: str, entry: Entry | None) -> Elf | None:
        found = None
        if entry is not None and entry.kind is Kind.FILE and entry.size >= len(_MAGIC):
            try:
                if self._tree.read(path, 0, len(_MAGIC)) == _MAGIC:
                    with self._tree.map(path) as content:
                        found = read_elf(content)
            except NotKeptError as error:
                self._unread[path] = str(error)
        self._found[path] = found
        return found
