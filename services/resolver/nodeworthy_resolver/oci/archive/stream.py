"""The bytes of a tar archive, plain or gzip, by position; bounded against what unpacks to far more than it is."""

import gzip
import os
import zlib
from pathlib import Path
from typing import BinaryIO

from nodeworthy.errors import ImageNotFoundError, RegistryContentError, UsageError
from nodeworthy_resolver.oci.layout.files import open_ordinary

MAX_UNPACKED = 64 * 1024**3
"""Bytes that a compressed archive may unpack to: several times the largest images that are known."""
MAX_RATIO = 200
"""How many times its size an archive may unpack to; file systems reach ten, gzip's own limit is about a thousand."""
_FREE = 64 * 1024**2
"""Bytes from which on the ratio counts."""

_CHUNK = 1024 * 1024
_GZIP = b"\x1f\x8b"
_OTHERS = {b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"), b"\xfd7zX": ("xz", "xz -d"), b"BZh": ("bzip2", "bzip2 -d")}
"""First bytes of other compressions, their names, and what unpacks them."""


class ArchiveStream:
    """An opened archive; positions are those of the tar inside."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        start = file.read(4)
        file.seek(0)
        self.is_compressed = start.startswith(_GZIP)
        for magic, (name, program) in _OTHERS.items():
            if start.startswith(magic):
                raise RegistryContentError(
                    f"{path} cannot be read", why=f"it is compressed with {name}", todo=f"unpack it: {program} {path}"
                )
        self._unpacked: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=file) if self.is_compressed else file
        self._size = os.fstat(file.fileno()).st_size
        self._furthest = 0

    def close(self) -> None:
        """Close the file."""
        self._unpacked.close()
        self._file.close()

    def read(self, position: int, count: int) -> bytes:
        """The bytes at a position; fewer only at the archive's end.

        Raises:
            RegistryContentError: they do not decompress, or a limit is passed.
        """
        try:
            if self.is_compressed:
                self._wind(position)
            elif position < self._size:
                self._file.seek(position)
            else:
                return b""  # a size that a stranger wrote may lead beyond what can be sought at all
            return self._unpacked.read(count)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RegistryContentError(
                f"{self._path} cannot be read", why=f"it does not decompress: {error}"
            ) from error
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read", why=error.strerror or str(error)) from error

    def _wind(self, position: int) -> None:
        """Go to a position of what is compressed: forward by reading, back by beginning again."""
        if position < self._unpacked.tell():
            self._unpacked.seek(0)
        while (gap := position - self._unpacked.tell()) > 0:
            if not self._unpacked.read(min(gap, _CHUNK)):
                return
            self._check_bounds()

    def _check_bounds(self) -> None:
        self._furthest = max(self._furthest, self._unpacked.tell())
        if self._furthest > MAX_UNPACKED or (self._furthest > _FREE and self._furthest > MAX_RATIO * self._size):
            raise RegistryContentError(
                f"{self._path} is too large",
                why=f"its {self._size:,} bytes unpack to more than {self._furthest - 1:,}",
                todo="if you trust it, unpack it with gunzip and name the result",
            )


def open_stream(path: Path) -> ArchiveStream:
    """Open an archive file.

    Raises:
        ImageNotFoundError: it is not there.
        NodeworthyError: it is no ordinary file, may not be read, or has a compression that is not read here.
    """
    try:
        file = open_ordinary(path)
    except FileNotFoundError as error:
        raise ImageNotFoundError(f"{path} is not there", why=str(error.strerror), todo="check the name") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    try:
        return ArchiveStream(path, file)
    except BaseException:
        file.close()
        raise
