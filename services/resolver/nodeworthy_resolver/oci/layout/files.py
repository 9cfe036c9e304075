"""Where the files of an image layout lie: a folder here, an archive or a container file elsewhere."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from nodeworthy.errors import RegistryContentError, UsageError

PIECE = 256 * 1024
"""Bytes that are read of a large file at a time."""


class LayoutFiles(Protocol):
    """The files of one layout by their names in it, as ``index.json``; read only."""

    @property
    def place(self) -> str:
        """The folder or file as messages name it."""
        ...

    @property
    def scheme(self) -> str:
        """How references to it begin, as ``oci``."""
        ...

    def describe(self, name: str) -> str:
        """One file as messages name it."""
        ...

    def read(self, name: str, limit: int) -> bytes:
        """A file's bytes, at most ``limit``.

        Raises:
            FileNotFoundError: it is not there.
            NodeworthyError: it is no ordinary file, too large, or cannot be read.
        """
        ...

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file's bytes piece by piece, however many.

        Raises:
            FileNotFoundError: it is not there.
            NodeworthyError: it is no ordinary file, or cannot be read.
        """
        ...


class FolderFiles:
    """The files of a layout folder."""

    scheme = "oci"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        """The folder's path."""
        return str(self.folder)

    def describe(self, name: str) -> str:
        """The file's path."""
        return str(self.folder / name)

    def read(self, name: str, limit: int) -> bytes:
        """A file's bytes, at most ``limit``."""
        return read_file(self.folder / name, limit)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file's bytes piece by piece."""
        path = self.folder / name
        try:
            with open_ordinary(path) as file:
                while piece := file.read(PIECE):
                    yield piece
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error


def read_file(path: Path, limit: int) -> bytes:
    """A file's bytes, at most ``limit``.

    Raises:
        FileNotFoundError: it is not there.
        RegistryContentError: it is no ordinary file, or too large.
        UsageError: it cannot be read.
    """
    try:
        with open_ordinary(path) as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if len(data) > limit:
        raise RegistryContentError(f"{path} is too large", why=f"more than {limit} bytes are not read")
    return data


def open_ordinary(path: Path) -> BinaryIO:
    """A file, opened without waiting, since a pipe in its place would wait for ever.

    Raises:
        OSError: it is not there or may not be read.
        RegistryContentError: it is no ordinary file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise RegistryContentError(f"{path} cannot be used", why="it is not an ordinary file")
