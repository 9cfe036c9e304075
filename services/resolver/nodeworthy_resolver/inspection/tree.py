"""The files of an image as one tree: what all layers together leave, and how paths are followed in it.

A path is absolute, with ``/`` and without ``.``, ``..``, doubled or trailing slashes; the root is ``/``. Names that are not
UTF-8 carry surrogate escapes (PEP 383). A path leads nowhere outside the tree, whatever the links in it say.
"""

import posixpath
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import NamedTuple, Protocol

MAX_LINKS = 40
"""Links that are followed for one path: MAXSYMLINKS of Linux (include/linux/namei.h)."""


class Kind(StrEnum):
    """What a path names."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"
    """A device node, FIFO or socket."""


class Entry(NamedTuple):
    """What stands at one path."""

    kind: Kind
    mode: int = 0o755
    """The permission bits."""
    size: int = 0
    """Bytes of a file."""
    target: str = ""
    """Of a link, as written."""


class NotKeptError(Exception):
    """A file's content was not kept, because a limit was reached; ``args[0]`` says which."""


class Tree(Protocol):
    """The files of an image. Every path given to it is canonical: no link stands on its way (see :func:`resolve`)."""

    def entry(self, path: str) -> Entry | None:
        """What stands at a path; a link is not followed."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """The names in a folder, sorted; empty where there is no folder."""
        ...

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """Every path but the root, sorted by name in each folder, a folder before what is in it."""
        ...

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        """Bytes of a file, fewer where it ends before; ``size`` below 0: to its end.

        Raises:
            NotKeptError: its content was not kept.
        """
        ...

    def map(self, path: str) -> AbstractContextManager[memoryview]:
        """The content of a file, while the context lasts; large ones are not in memory as a whole.

        Raises:
            NotKeptError: its content was not kept.
        """
        ...


def canonical(path: str, folder: str = "/") -> str:
    """A path without ``.``, ``..`` and doubled slashes, seen from a folder; ``..`` of the root is the root."""
    joined = posixpath.normpath(posixpath.join("/", folder, path))
    return "/" + joined.lstrip("/")


def resolve(tree: Tree, path: str, folder: str = "/") -> str | None:
    """The canonical path that a path names with all links followed as the kernel would, the image's root being ``/``.

    ``None`` where nothing is there, a part of the way is no folder, or the links lead round in a circle.
    """
    left = [part for part in reversed(posixpath.join(folder, path).split("/")) if part not in {"", "."}]
    reached = "/"
    links = 0
    while left:
        part = left.pop()
        if part == "..":
            reached = posixpath.dirname(reached)
            continue
        here = posixpath.join(reached, part)
        entry = tree.entry(here)
        if entry is None or (left and entry.kind in {Kind.FILE, Kind.OTHER}):
            return None
        if entry.kind is not Kind.LINK:
            reached = here
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        if entry.target.startswith("/"):
            reached = "/"
        left.extend(part for part in reversed(entry.target.split("/")) if part not in {"", "."})
    return reached


def find_file(tree: Tree, path: str, folder: str = "/") -> str | None:
    """As :func:`resolve`, if a file is there."""
    found = resolve(tree, path, folder)
    entry = tree.entry(found) if found else None
    return found if entry and entry.kind is Kind.FILE else None
