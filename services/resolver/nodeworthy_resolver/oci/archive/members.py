"""The members of a tar archive: found by walking its headers once, read by name afterwards. Nothing is ever unpacked.

Archives come from strangers. A name that leads out of a folder, a link, a device is only a name here, which nobody asks
for; what counts is that the walk ends, that memory stays small, and that one name means one content.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nodeworthy.errors import RegistryContentError
from nodeworthy_resolver.oci.archive import headers
from nodeworthy_resolver.oci.archive.headers import BLOCK, Header
from nodeworthy_resolver.oci.archive.stream import ArchiveStream
from nodeworthy_resolver.oci.layout.files import PIECE

MAX_MEMBERS = 100_000
"""Headers of one archive; an image has some hundred."""
MAX_EXTENSION = 1024 * 1024
"""Bytes of one header about the next member; Go's reader of archives takes as many."""
MAX_KEPT = 64 * 1024 * 1024
"""Bytes of small members that are kept from a compressed archive, where reading one again means unpacking all before it."""
MAX_KEPT_EACH = 256 * 1024
"""Manifests, configs and specifications are smaller, layers are not."""

_SIGNIFICANT = re.compile(r"[^/]{1,200}|blobs/[a-z0-9]{1,16}/[0-9a-f]{32,128}|[0-9a-f]{64}/(?:json|layer\.tar)")
"""Members that are ever asked for by name: those of a layout, ``manifest.json``, configs, which tools name variously, and
layers."""


class _Place(NamedTuple):
    position: int
    size: int
    is_regular: bool
    target: str
    """Of a link, as written."""


class Members:
    """What an archive holds, by name."""

    def __init__(self, path: Path, stream: ArchiveStream) -> None:
        self.path = path
        self._stream = stream
        self._places: dict[str, _Place] = {}
        self._repeated: set[str] = set()
        self._kept: dict[str, bytes] = {}
        self._room = MAX_KEPT if stream.is_compressed else 0
        self._walk()

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def close(self) -> None:
        """Close the archive's file."""
        self._stream.close()

    def describe(self, name: str) -> str:
        """A member as messages name it."""
        return f"{name} in {self.path}"

    def read(self, name: str, limit: int) -> bytes:
        """A member's bytes, at most ``limit``.

        Raises:
            FileNotFoundError: the archive has no such member.
            RegistryContentError: it is no file of its own, there twice, too large, or cut off.
        """
        what, place = self.describe(name), self._usable(name)
        if place.size > limit:
            raise RegistryContentError(f"{what} is too large", why=f"more than {limit} bytes are not read")
        data = self._kept.get(name)
        if data is None:
            data = self._stream.read(place.position, place.size)
        if len(data) < place.size:
            raise self._cut_off(what)
        return data

    def size(self, name: str) -> int:
        """How many bytes a member has.

        Raises:
            FileNotFoundError: the archive has no such member.
            RegistryContentError: it is no file of its own, or there twice.
        """
        return self._usable(name).size

    def target(self, name: str) -> str:
        """Of a member that is a link, what it names, as written; empty for others."""
        place = self._places.get(name)
        return place.target if place and not place.is_regular else ""

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member's bytes piece by piece, however many.

        Raises:
            FileNotFoundError: the archive has no such member.
            RegistryContentError: it is no file of its own, there twice, or cut off.
        """
        place = self._usable(name)
        for offset in range(0, place.size, PIECE):
            wanted = min(PIECE, place.size - offset)
            piece = self._stream.read(place.position + offset, wanted)
            if len(piece) < wanted:
                raise self._cut_off(self.describe(name))
            yield piece

    def _cut_off(self, what: str) -> RegistryContentError:
        return RegistryContentError(f"{what} cannot be read", why="the archive is cut off")

    def _usable(self, name: str) -> _Place:
        place = self._places.get(name)
        if place is None:
            raise FileNotFoundError(name)
        what = self.describe(name)
        if name in self._repeated:
            raise RegistryContentError(
                f"{what} cannot be used", why="the archive holds it more than once, and readers take different ones"
            )
        if not place.is_regular:
            raise RegistryContentError(f"{what} cannot be used", why="it is a link or no ordinary file")
        return place

    def _walk(self) -> None:
        position = 0
        said: dict[str, str] = {}
        for _ in range(MAX_MEMBERS):
            block = self._stream.read(position, BLOCK)
            if not block.strip(b"\0"):
                if not block and not position:
                    raise self._damaged("it is empty")
                return
            if len(block) < BLOCK:
                raise self._damaged("it is cut off")
            try:
                header, position = self._read_header(block, position + BLOCK, said)
            except ValueError as error:
                raise self._damaged(str(error)) from error
            size = 0 if header.kind in headers.WITHOUT_DATA else header.size
            if header.kind in headers.EXTENSION:
                self._read_extension(header, position, said)
            else:
                self._add(header, _Place(position, size, self._is_plain(header, said), header.target))
                said = {}
            position += -(-size // BLOCK) * BLOCK
        raise self._damaged(f"it has more than {MAX_MEMBERS} members")

    def _read_header(self, block: bytes, position: int, said: dict[str, str]) -> tuple[Header, int]:
        """A member's header with what was said before it, and where its content begins."""
        header = headers.parse_header(block)
        if header.kind in headers.EXTENSION:
            return header, position
        goes_on = header.kind == headers.SPARSE and header.goes_on
        while goes_on:
            more = self._stream.read(position, BLOCK)
            if len(more) < BLOCK:
                raise ValueError("it is cut off")
            goes_on, position = more[504] != 0, position + BLOCK
        size = headers.parse_size(said["size"]) if "size" in said else header.size
        return header._replace(name=said.get("path", header.name), size=size), position

    def _read_extension(self, header: Header, position: int, said: dict[str, str]) -> None:
        if header.size > MAX_EXTENSION:
            raise self._damaged(f"a header in it has more than {MAX_EXTENSION} bytes")
        data = self._stream.read(position, header.size)
        if len(data) < header.size:
            raise self._damaged("it is cut off")
        if header.kind == b"L":
            said["path"] = data.partition(b"\0")[0].decode(errors="replace")
        elif header.kind == b"x":
            try:
                said |= headers.parse_records(data)
            except ValueError as error:
                raise self._damaged(str(error)) from error

    def _is_plain(self, header: Header, said: dict[str, str]) -> bool:
        """Whether a member's bytes stand in the archive as they are."""
        return header.kind in headers.REGULAR and not any(key.startswith("GNU.sparse.") for key in said)

    def _add(self, header: Header, place: _Place) -> None:
        name = header.name.removeprefix("./")
        if not _SIGNIFICANT.fullmatch(name):
            return
        if name in self._places:
            self._repeated.add(name)
            return
        self._places[name] = place
        if place.is_regular and place.size <= min(MAX_KEPT_EACH, self._room):
            self._kept[name] = self._stream.read(place.position, place.size)
            self._room -= place.size

    def _damaged(self, why: str) -> RegistryContentError:
        return RegistryContentError(f"{self.path} is no tar archive, or a damaged one", why=why)


class ArchiveFiles:
    """The members of an archive as the files of an image layout."""

    def __init__(self, members: Members, scheme: str) -> None:
        self._members = members
        self.scheme = scheme

    @property
    def place(self) -> str:
        """The archive's path."""
        return str(self._members.path)

    def describe(self, name: str) -> str:
        """A member as messages name it."""
        return self._members.describe(name)

    def read(self, name: str, limit: int) -> bytes:
        """A member's bytes, at most ``limit``."""
        return self._members.read(name, limit)

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member's bytes piece by piece."""
        return self._members.pieces(name)
