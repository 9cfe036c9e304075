"""Files on disk as trees: a root folder, and one file as all that an image holds.

A path is opened part by part, each below the folder before it and never through a link, so that nothing outside the root
is reached, also while somebody changes it (openat(2), ``O_NOFOLLOW``).
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from nodeworthy.errors import UsageError
from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.contents import map_at, read_at
from nodeworthy_resolver.inspection.tree import Entry, Kind, NotKeptError

MAX_ENTRIES = 5_000_000
"""Paths that are walked below a root folder; the largest images that are known have some hundred thousand."""
MAX_NAMED = 20
"""Folders that are named one by one where they could not be read; more are counted."""
COVERED = frozenset({"/proc", "/sys", "/dev"})
"""Where a runtime mounts file systems of its own (OCI runtime specification, config-linux.md, "Default Filesystems"): what a
root folder has there is never seen by what runs, and on a live system it has no end."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without waiting, since a pipe in a file's place would wait for ever."""

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


class FolderTree:
    """A root folder; what cannot be read in it is left out and told by :meth:`unexplored`.

    Raises:
        UsageError: there is no such folder, or it may not be read.
    """

    def __init__(self, root: Path) -> None:
        try:
            self._root = root.resolve(strict=True)
            self._last = _Opened("", self._root)
        except (OSError, RuntimeError) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error)
            raise UsageError(f"{root} cannot be read as a root folder", why=why, todo="name a folder") from error
        self._unread: dict[str, str] = {}
        self._is_cut = False

    def entry(self, path: str) -> Entry | None:
        """What stands at a path; a link is not followed."""
        folder, _, name = path.rpartition("/")
        try:
            parent = self._opened(folder).descriptor
            status = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
            target = os.readlink(name, dir_fd=parent) if stat.S_ISLNK(status.st_mode) else ""
        except (OSError, ValueError) as error:
            self._note(folder or "/", error)
            return None
        return describe(status, target)

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder, sorted; empty where there is no folder."""
        if folder in COVERED:
            return ()
        try:
            return sorted(os.listdir(self._opened(folder.rstrip("/")).descriptor))  # noqa: PTH208 # pathlib lists no opened folder
        except (OSError, ValueError) as error:
            self._note(folder, error)
            return ()

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """Every path but the root, sorted by name in each folder, a folder before what is in it."""
        left = [f"/{name}" for name in reversed(self.names("/"))]
        for _ in range(MAX_ENTRIES):
            if not left:
                return
            path = left.pop()
            entry = self.entry(path)
            if entry is None:
                continue
            yield path, entry
            if entry.kind is Kind.FOLDER:
                left.extend(f"{path}/{name}" for name in reversed(self.names(path)))
        self._is_cut = True

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        """Bytes of a file, fewer where it ends before; ``size`` below 0: to its end.

        Raises:
            NotKeptError: it cannot be read, or is no file (any more).
        """
        with self._opened_file(path) as descriptor:
            there = max(os.fstat(descriptor).st_size - offset, 0)
            return read_at(descriptor, path, offset, there if size < 0 else min(size, there))

    @contextmanager
    def map(self, path: str) -> Iterator[memoryview]:
        """The content of a file, while the context lasts.

        Raises:
            NotKeptError: it cannot be read, or is no file (any more).
        """
        with (
            self._opened_file(path) as descriptor,
            map_at(descriptor, path, 0, os.fstat(descriptor).st_size) as view,
        ):
            yield view

    def unexplored(self) -> tuple[Unexplored, ...]:
        """What could not be read until now, and why."""
        said = [Unexplored(path, f"it cannot be read: {why}") for path, why in list(self._unread.items())[:MAX_NAMED]]
        if len(self._unread) > MAX_NAMED:
            said.append(Unexplored(f"{len(self._unread) - MAX_NAMED} more folders", "they cannot be read"))
        if self._is_cut:
            said.append(Unexplored("the rest of the root folder", f"more than {MAX_ENTRIES:,} paths are not walked"))
        return tuple(said)

    def _note(self, folder: str, error: OSError | ValueError) -> None:
        """Remember what could not be read. A path that cannot be there, as one with a zero byte, is only not there."""
        if isinstance(error, OSError) and error.errno not in _ABSENT:
            self._unread.setdefault(folder, error.strerror or str(error))

    def _opened(self, folder: str) -> "_Opened":
        """A folder of the tree, opened without following a link below the root, until another one is asked for.

        The last one stays open, since who reads a tree mostly asks for what stands beside or below.
        """
        if folder == self._last.path:
            return self._last
        is_below = folder.startswith(f"{self._last.path}/")
        reached, left = (self._last, folder[len(self._last.path) :]) if is_below else (_Opened("", self._root), folder)
        for part in filter(None, left.split("/")):
            reached = _Opened(f"{reached.path}/{part}", part, reached)
        self._last = reached
        return reached

    @contextmanager
    def _opened_file(self, path: str) -> Iterator[int]:
        folder, _, name = path.rpartition("/")
        try:
            parent = self._opened(folder).descriptor
            # Looked at first: opening a device does something.
            if not stat.S_ISREG(os.stat(name or ".", dir_fd=parent, follow_symlinks=False).st_mode):
                raise NotKeptError(f"{path} is no file")
            descriptor = os.open(name, _FILE, dir_fd=parent)
        except (OSError, ValueError) as error:
            why = (isinstance(error, OSError) and error.strerror) or error
            raise NotKeptError(f"{path} cannot be read: {why}") from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotKeptError(f"{path} is no file")
            yield descriptor
        finally:
            os.close(descriptor)


class _Opened:
    """A folder that stays open as long as somebody refers to it."""

    def __init__(self, path: str, name: str | Path, parent: "_Opened | None" = None) -> None:
        self.path = path
        """In the tree; the root is empty."""
        self.descriptor = -1
        self.descriptor = os.open(name, _FOLDER, dir_fd=parent.descriptor if parent else None)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


class FileTree:
    """One file as the only one of an image, ``/<its name>``.

    Raises:
        UsageError: it is not there, is no file, or may not be read.
    """

    def __init__(self, file: Path) -> None:
        try:
            self._folder = FolderTree(file.resolve(strict=True).parent)
            self._place = f"/{file.resolve(strict=True).name}"
            with self._folder.map(self._place):
                pass
        except (OSError, RuntimeError, NotKeptError) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error)
            raise UsageError(f"{file} cannot be read", why=why, todo="name a file that may be read") from error
        self.path = f"/{file.name}"
        """Where the file stands in the tree: under the name by which it was called, also where that is a link."""

    def entry(self, path: str) -> Entry | None:
        """What stands at a path."""
        if path == "/":
            return Entry(Kind.FOLDER)
        return self._folder.entry(self._place) if path == self.path else None

    def names(self, folder: str) -> Sequence[str]:
        """The file's name, in the root."""
        return (self.path[1:],) if folder == "/" else ()

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """The file."""
        entry = self.entry(self.path)
        if entry is not None:
            yield self.path, entry

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        """Bytes of the file.

        Raises:
            NotKeptError: another path, or it cannot be read (any more).
        """
        return self._folder.read(self._checked(path), offset, size)

    def map(self, path: str) -> AbstractContextManager[memoryview]:
        """The content of the file, while the context lasts.

        Raises:
            NotKeptError: another path, or it cannot be read (any more).
        """
        return self._folder.map(self._checked(path))

    def unexplored(self) -> tuple[Unexplored, ...]:
        """What is not there: all that would stand beside the file in an image."""
        return ()

    def _checked(self, path: str) -> str:
        if path != self.path:
            raise NotKeptError(f"{path} is not there")
        return self._place


def describe(status: os.stat_result, target: str) -> Entry:
    """What stands at a path with this status; ``target`` of a link."""
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISREG(status.st_mode):
        return Entry(Kind.FILE, mode, status.st_size)
    if stat.S_ISDIR(status.st_mode):
        return Entry(Kind.FOLDER, mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry(Kind.LINK, mode, 0, target)
    return Entry(Kind.OTHER, mode)
