"""The contents that are kept: one file on disk without a name, and where in it each content lies."""

import tempfile
from array import array
from collections.abc import Iterable
from contextlib import AbstractContextManager
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.contents import map_at, read_at
from nodeworthy_resolver.inspection.layers.bounds import Bounds

_BUFFER = 1024 * 1024


class Lost(IntEnum):
    """Why a content is not kept; numbers below those of contents."""

    UNNEEDED = 0
    FILE = 1
    TOTAL = 2


WORDS = {
    Lost.UNNEEDED: "its content is of no kind that is kept",
    Lost.FILE: "it is larger than the files that are kept",
    Lost.TOTAL: "the files of the image before it are as much as is kept",
}
FIRST = len(Lost)
"""The number of the first content."""


class Part(NamedTuple):
    """Bytes of a file at a place; what lies between parts is zero."""

    offset: int
    data: bytes


class ContentStore:
    """A file of contents; a context manager. ``folder``: where it lies, ``None``: where temporary files do.

    It has no name in the folder, can be read by nobody else, and is gone with the process, however that ends (open(2),
    ``O_TMPFILE``).

    Raises:
        InspectionError: the folder takes no file.
    """

    def __init__(self, bounds: Bounds, folder: Path | None = None) -> None:
        self.bounds = bounds
        try:
            self._file = tempfile.TemporaryFile(buffering=_BUFFER, dir=folder, prefix="nodeworthy-")  # noqa: SIM115 # closed in __exit__
        except OSError as error:
            raise _unwritable(error) from error
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._end = 0
        self._place = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove all contents."""
        self._file.close()

    def refuse(self, size: int) -> Lost | None:
        """Why so many bytes would not be kept; ``None``: they would."""
        if size > self.bounds.file_bytes:
            return Lost.FILE
        return Lost.TOTAL if self._end + size > self.bounds.kept_bytes else None

    def add(self, parts: Iterable[Part], size: int) -> int:
        """Keep a content of a size that was not refused, and return its number; parts come in order.

        Raises:
            InspectionError: the disk is full.
        """
        start = self._end
        try:
            for part in parts:
                self._write(start + part.offset, part.data[: max(size - part.offset, 0)])
            self._end = start + size
        except OSError as error:
            raise _unwritable(error) from error
        self._offsets.append(start)
        self._lengths.append(size)
        return FIRST + len(self._offsets) - 1

    def _write(self, place: int, data: bytes) -> None:
        if place != self._place:  # seeking writes what is buffered
            self._file.seek(place)
        self._file.write(data)
        self._place = place + len(data)

    def finish(self) -> None:
        """Make everything readable; nothing is added any more.

        Raises:
            InspectionError: the disk is full.
        """
        try:
            self._file.truncate(self._end)
            self._file.flush()
        except OSError as error:
            raise _unwritable(error) from error

    def length(self, number: int) -> int:
        """How many bytes of a content's beginning are kept."""
        return self._lengths[number - FIRST] if number >= FIRST else 0

    def read(self, number: int, name: str, offset: int, size: int) -> bytes:
        """Bytes of a content, within what is kept of it."""
        return read_at(self._file.fileno(), name, self._offsets[number - FIRST] + offset, size)

    def map(self, number: int, name: str) -> AbstractContextManager[memoryview]:
        """All that is kept of a content."""
        return map_at(self._file.fileno(), name, self._offsets[number - FIRST], self.length(number))


def _unwritable(error: OSError) -> InspectionError:
    return InspectionError(
        "the files of the image cannot be kept for the inspection",
        why=f"{tempfile.gettempdir()}: {error.strerror or error}",
        todo="make room there, or set TMPDIR to a folder with more",
    )
