"""The members of a layer's tar archive, in order, as a stream: nothing is looked for twice.

Formats as in :mod:`nodeworthy_resolver.oci.archive.headers`; sparse files as GNU tar's manual has them, "Storing Sparse
Files". Where readers differ, Go's archive/tar is followed, since engines use it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.layers import sparse
from nodeworthy_resolver.inspection.layers.bounds import Usage, damaged
from nodeworthy_resolver.inspection.layers.sparse import Extent
from nodeworthy_resolver.inspection.layers.store import Part
from nodeworthy_resolver.inspection.layers.unpacking import PIECE, Unpacked
from nodeworthy_resolver.oci.archive import headers
from nodeworthy_resolver.oci.archive.headers import BLOCK, Header
from nodeworthy_resolver.oci.archive.members import MAX_EXTENSION

_ZEROS = bytes(BLOCK)


class Member(NamedTuple):
    """One member."""

    name: str
    kind: bytes
    """The type flag of its header."""
    mode: int
    size: int
    """Bytes of its content, holes counted."""
    target: str
    extents: tuple[Extent, ...] | None = None
    """Of a sparse file: where its stored bytes belong."""


class TarStream:
    """The members of a tar archive."""

    def __init__(self, stream: Unpacked, usage: Usage) -> None:
        self._stream = stream
        self._usage = usage
        self._left = 0
        """Bytes of the member's content that were not read yet."""
        self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        """The members; the content of one is there until the next is asked for.

        Raises:
            InspectionError: the archive is damaged, or beyond a bound.
        """
        while (member := self._next()) is not None:
            yield member

    def content(self, member: Member) -> Iterator[Part]:
        """The stored bytes of the member that was read last."""
        for extent in member.extents or (Extent(0, member.size),):
            offset, end = extent.offset, extent.offset + extent.size
            while offset < end:
                piece = self._stream.some(min(end - offset, PIECE))
                if not piece:
                    raise self._damaged("it is cut off")
                self._left -= len(piece)
                yield Part(offset, piece)
                offset += len(piece)

    def _next(self) -> Member | None:
        if self._stream.skip(self._left + self._padding):
            raise self._damaged("it is cut off")
        self._left = self._padding = 0
        said: dict[str, str] = {}
        while (block := self._stream.exactly(BLOCK)) and block != _ZEROS:
            if len(block) < BLOCK:
                raise self._damaged("it is cut off")
            try:
                header = headers.parse_header(block)
                if header.kind not in headers.EXTENSION:
                    return self._member(header, block, said)
                said |= self._read_extension(header)
            except ValueError as error:
                raise self._damaged(str(error)) from error
            self._usage.enter(0, self._stream.where)
        if block and self._stream.exactly(BLOCK).strip(b"\0"):
            raise self._damaged("it goes on after its end")
        return None

    def _read_extension(self, header: Header) -> dict[str, str]:
        """What a header says of the next member; a global one says what no engine applies."""
        if header.size > MAX_EXTENSION:
            raise ValueError(f"a header in it has more than {MAX_EXTENSION} bytes")
        data = self._read(header.size)
        self._read(-header.size % BLOCK)
        if header.kind == b"x":
            return headers.parse_records(data)
        text = data.partition(b"\0")[0].decode(errors="surrogateescape")
        return {"L": {"path": text}, "K": {"linkpath": text}}.get(header.kind.decode(), {})

    def _member(self, header: Header, block: bytes, said: dict[str, str]) -> Member:
        stored = headers.parse_size(said["size"]) if said.get("size") else header.size
        stored = 0 if header.kind in headers.WITHOUT_DATA else stored
        name = said.get("GNU.sparse.name") or said.get("path") or header.name
        target = said.get("linkpath") or header.target
        self._usage.enter(len(name) + len(target), self._stream.where)
        self._left, self._padding = stored, -stored % BLOCK
        member = Member(name, header.kind, header.mode, stored, target)
        if header.kind == headers.SPARSE:
            found = sparse.read_old(block, self._read)
        elif said.get("GNU.sparse.major") == "1":
            found = sparse.read_map(said, self._read_content)
        elif "GNU.sparse.map" in said:
            found = sparse.parse_map(said)
        elif any(key.startswith("GNU.sparse.") for key in said):
            raise ValueError("a sparse file in it is stored in a form that is not read (GNU 0.0)")
        else:
            return member
        found.check(self._left)
        return member._replace(size=found.size, extents=found.extents)

    def _read(self, size: int) -> bytes:
        data = self._stream.exactly(size)
        if len(data) < size:
            raise ValueError("it is cut off")
        return data

    def _read_content(self, size: int) -> bytes:
        if size > self._left:
            raise ValueError("the map of a sparse file in it is cut off")
        self._left -= size
        return self._read(size)

    def _damaged(self, why: str) -> InspectionError:
        return damaged(self._stream.where, f"it is no tar archive, or a damaged one: {why}")
