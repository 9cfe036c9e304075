"""A layer's bytes, decompressed as they come: gzip (RFC 1952), zstd (RFC 8878), or plain; within bounds, and verified.

Which compression it is tell the first bytes, as engines have it; media types lie.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.layers.bounds import Usage, damaged
from nodeworthy_resolver.oci.digests import Digest

PIECE = 256 * 1024
"""Bytes of content that are passed on at a time."""
_STEP = 4096
"""Compressed bytes that are decompressed at a time: at most 4 MB with gzip, 128 MB with zstd, where a block of 128 kB whose
bytes are all alike takes four."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
"""RFC 8878, section 3.1.2; the first frame of some layers."""
_OTHERS = {b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST_MAGIC = 5


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class Packed:
    """A layer's bytes as they are stored: counted, and hashed for the digest that names them."""

    def __init__(self, chunks: Iterator[bytes], algorithm: str, usage: Usage, where: str) -> None:
        self._chunks = chunks
        self._chunk = b""
        self._place = 0
        self._hash = hashlib.new(algorithm)
        self._usage = usage
        self._where = where

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end.

        Raises:
            InspectionError: they are too many.
        """
        if self._place == len(self._chunk):
            self._chunk, self._place = self._next(), 0
        piece = self._chunk[self._place : self._place + size]
        self._place += len(piece)
        return piece

    def _next(self) -> bytes:
        chunk = next((chunk for chunk in self._chunks if chunk), b"")
        self._hash.update(chunk)
        self._usage.pack(len(chunk), self._where)
        return chunk

    def peek(self) -> bytes:
        """The first bytes, enough for every magic where there are so many; before anything was read."""
        while len(self._chunk) < _LONGEST_MAGIC and (more := self._next()):
            self._chunk += more
        return self._chunk[:_LONGEST_MAGIC]

    def digest(self) -> str:
        """The digest of all bytes, the rest read to its end."""
        while self.read(PIECE):
            pass
        return f"{self._hash.name}:{self._hash.hexdigest()}"


class _Frames:
    """Members of gzip or frames of zstd, one after another; zeros between and after them are padding."""

    def __init__(self, packed: Packed, make: Callable[[], _Decoder], error: type[Exception]) -> None:
        self._packed = packed
        self._make = make
        self._error = error
        self._decoder: _Decoder | None = None
        self._input = b""

    def read(self, _: int, /) -> bytes:
        """The next bytes, as many as there are; none at the end.

        Raises:
            ValueError: they do not decompress.
        """
        while True:
            if not self._input and not (piece := self._fill()):
                return piece
            if self._decoder is None:
                self._input = self._input.lstrip(b"\0")
                if not self._input:
                    continue
                self._decoder = self._make()
            if piece := self._decompress(self._decoder):
                return piece

    def _fill(self) -> bytes:
        self._input = self._packed.read(_STEP)
        if not self._input and self._decoder is not None:
            raise ValueError("it is cut off")
        return self._input

    def _decompress(self, decoder: _Decoder) -> bytes:
        try:
            piece = decoder.decompress(self._input)
        except self._error as error:
            raise ValueError(str(error)) from error
        self._input = decoder.unused_data if decoder.eof else b""
        self._decoder = None if decoder.eof else decoder
        return piece


def _zstd(packed: Packed, window: int, where: str) -> _Frames:
    try:
        import zstandard
    except ImportError as error:
        raise InspectionError(
            f"{where} cannot be read",
            why="it is compressed with zstd, and the library for that is not installed",
            todo="pip install 'nodeworthy[inspect]'",
        ) from error
    return _Frames(packed, zstandard.ZstdDecompressor(max_window_size=window).decompressobj, zstandard.ZstdError)


def _gzip(packed: Packed) -> _Frames:
    return _Frames(packed, lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), zlib.error)


class Unpacked:
    """A layer's tar archive as a stream.

    Raises:
        InspectionError: a compression that is not read.
    """

    def __init__(self, packed: Packed, usage: Usage, where: str, *, is_hashed: bool = False) -> None:
        self._packed = packed
        self._usage = usage
        self.where = where
        """The layer as messages name it."""
        self._buffer = b""
        self._place = 0
        self._source = self._open(packed.peek())
        self._hash = hashlib.sha256() if is_hashed else None

    def _open(self, start: bytes) -> _Readable:
        if start.startswith(_GZIP):
            return _gzip(self._packed)
        if start.startswith(_ZSTD) or int.from_bytes(start[:4], "little") in _ZSTD_SKIPPABLE:
            return _zstd(self._packed, self._usage.bounds.window_bytes, self.where)
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise damaged(self.where, f"it is compressed with {name}, which no engine reads")
        return self._packed

    def some(self, size: int) -> bytes:
        """At least one byte and at most so many; none at the end.

        Raises:
            InspectionError: they do not decompress, or are beyond a bound.
        """
        if self._place == len(self._buffer) and not self._fill():
            return b""
        piece = self._buffer[self._place : self._place + size]
        self._place += len(piece)
        return piece

    def exactly(self, size: int) -> bytes:
        """Just so many bytes, fewer at the end; small numbers, since they are copied."""
        end = self._place + size
        if end <= len(self._buffer):
            piece = self._buffer[self._place : end]
            self._place = end
            return piece
        pieces = []
        while size and (piece := self.some(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> int:
        """Pass over bytes; how many of them were not there."""
        while size:
            if self._place == len(self._buffer) and not self._fill():
                return size
            step = min(size, len(self._buffer) - self._place)
            self._place += step
            size -= step
        return 0

    def _fill(self) -> bool:
        try:
            self._buffer = self._source.read(PIECE)
        except ValueError as error:
            raise damaged(self.where, f"it does not decompress: {error}") from error
        self._place = 0
        if self._hash is not None:
            self._hash.update(self._buffer)
        self._usage.unpack(len(self._buffer), self.where)
        return bool(self._buffer)

    def check(self, wanted: Digest) -> None:
        """Hold the whole layer against the digest of its bytes: the unpacked ones if they are hashed, else as stored.

        Raises:
            InspectionError: it is another one.
        """
        while self.some(PIECE):  # as engines do, which refuse what does not decompress after the archive's end too
            pass
        found = self._packed.digest() if self._hash is None else f"sha256:{self._hash.hexdigest()}"
        if found != wanted:
            raise InspectionError(
                f"{self.where} is not what the image names",
                why=f"its content has the digest {found}, not {wanted}",
                todo="something between here and there changes or damages content; try again, or push it again",
            )
