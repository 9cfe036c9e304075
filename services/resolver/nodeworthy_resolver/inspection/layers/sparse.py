"""Sparse files in tar archives: where their stored bytes belong; pure but for the reading that is handed in.

GNU tar's manual, "Storing Sparse Files": the old form, in the header; 0.1, a list in pax records; 1.0, a list before the
content.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from nodeworthy_resolver.oci.archive.headers import BLOCK, parse_number, parse_size

MAX_EXTENTS = 65_536
"""Of one file; each is a hole at least one block long."""

_ENTRY = 24
"""Bytes of an entry of the old form: two numbers of twelve."""


class Extent(NamedTuple):
    """Bytes that are stored, and their place in the file."""

    offset: int
    size: int


class SparseMap(NamedTuple):
    """A sparse file."""

    size: int
    """Its bytes, holes counted."""
    extents: tuple[Extent, ...]

    def check(self, stored: int) -> None:
        """Make sure that the map is one of a file with so many stored bytes.

        Raises:
            ValueError: it is not.
        """
        end = 0
        for extent in self.extents:
            if extent.offset < end:
                raise ValueError("the parts of a sparse file in it overlap")
            end = extent.offset + extent.size
        if end > self.size or sum(extent.size for extent in self.extents) > stored:
            raise ValueError("the parts of a sparse file in it are more than the file")


def read_old(header: bytes, read: Callable[[int], bytes]) -> SparseMap:
    """The map in a header (four entries, a flag, the size) and in the blocks after it (21 entries and a flag each).

    Raises:
        ValueError: it cannot be read.
    """
    size = parse_number(header[483:495])
    extents = _entries(header[386:482])
    goes_on = header[482] != 0
    while goes_on:
        block = read(BLOCK)
        extents += _entries(block[:504])
        goes_on = block[504] != 0
        if len(extents) > MAX_EXTENTS:
            raise ValueError(f"a sparse file in it has more than {MAX_EXTENTS} parts")
    return SparseMap(size, tuple(extents))


def _entries(data: bytes) -> list[Extent]:
    places = range(0, len(data), _ENTRY)
    return [
        Extent(parse_number(data[at : at + 12]), parse_number(data[at + 12 : at + 24]))
        for at in places
        if data[at : at + 12].strip(b"\0 ") or data[at + 12 : at + 24].strip(b"\0 ")
    ]


def parse_map(said: Mapping[str, str]) -> SparseMap:
    """The map in pax records: ``GNU.sparse.map=0,512,8192,512``, ``GNU.sparse.size=16384`` (0.1).

    Raises:
        ValueError: it cannot be read.
    """
    numbers = [parse_size(number) for number in said["GNU.sparse.map"].split(",")]
    return _make(said.get("GNU.sparse.size", ""), numbers)


def read_map(said: Mapping[str, str], read: Callable[[int], bytes]) -> SparseMap:
    """The map before the content: the number of entries, then offset and size of each, a line each, in blocks (1.0).

    Raises:
        ValueError: it cannot be read.
    """
    lines: list[bytes] = []
    rest = b""
    wanted = 1
    while len(lines) < wanted:
        *whole, rest = (rest + read(BLOCK)).split(b"\n")
        lines += whole
        if lines:
            wanted = 1 + 2 * parse_size(lines[0].decode("ascii", errors="replace"))
        if wanted > 2 * MAX_EXTENTS or len(rest) > BLOCK:
            raise ValueError(f"a sparse file in it has more than {MAX_EXTENTS} parts")
    numbers = [parse_size(line.decode("ascii", errors="replace")) for line in lines[1:wanted]]
    return _make(said.get("GNU.sparse.realsize", ""), numbers)


def _make(size: str, numbers: list[int]) -> SparseMap:
    if len(numbers) % 2 or len(numbers) > 2 * MAX_EXTENTS:
        raise ValueError(f"the map of a sparse file in it is cut off, or has more than {MAX_EXTENTS} parts")
    extents = tuple(Extent(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True))
    return SparseMap(parse_size(size), extents)
