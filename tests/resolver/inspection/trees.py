"""A tree of files in memory, for tests of what is done with trees."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from nodeworthy_resolver.inspection.tree import Entry, Kind


class MemoryTree:
    """``{"/bin/sh": b"...", "/lib": "-> usr/lib"}``: bytes are files, text is a link behind ``-> ``."""

    def __init__(self, files: Mapping[str, bytes | str], *, modes: Mapping[str, int] | None = None) -> None:
        self.files = dict(files)
        self.modes = dict(modes or {})
        self.folders = {"/"}
        for path in files:
            folder = posixpath.dirname(path)
            while folder not in self.folders:
                self.folders.add(folder)
                folder = posixpath.dirname(folder)

    def entry(self, path: str) -> Entry | None:
        if path in self.folders:
            return Entry(Kind.FOLDER)
        found = self.files.get(path)
        if found is None:
            return None
        if isinstance(found, str):
            return Entry(Kind.LINK, 0o777, 0, found.removeprefix("-> "))
        return Entry(Kind.FILE, self.modes.get(path, 0o755), len(found))

    def names(self, folder: str) -> Sequence[str]:
        everything = {*self.files, *self.folders} - {"/"}
        return sorted(posixpath.basename(path) for path in everything if posixpath.dirname(path) == folder)

    def walk(self) -> Iterator[tuple[str, Entry]]:
        for path in sorted({*self.files, *self.folders} - {"/"}, key=lambda path: path.split("/")):
            entry = self.entry(path)
            assert entry is not None
            yield path, entry

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        data = self.files[path]
        assert isinstance(data, bytes)
        return data[offset:] if size < 0 else data[offset : offset + size]

    @contextmanager
    def map(self, path: str) -> Iterator[memoryview]:
        yield memoryview(self.read(path))
