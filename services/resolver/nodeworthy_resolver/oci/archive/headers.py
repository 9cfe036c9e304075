"""Headers of a tar archive: 512 bytes each, and the records that stand before some of them; pure.

POSIX.1-2017, pax, "pax Interchange Format" and "ustar Interchange Format"; GNU's long names and binary numbers are those
of GNU tar's manual, "Basic Tar Format".
"""

from typing import NamedTuple

BLOCK = 512

REGULAR = frozenset({b"0", b"\0", b"7"})
"""Files; 7 is a contiguous one, which everybody stores alike."""
EXTENSION = frozenset({b"x", b"g", b"L", b"K"})
"""Headers about the next member: pax records, global pax records, GNU's long name and long link name."""
SPARSE = b"S"
"""GNU's sparse files: the header is followed by more blocks of their map while a byte says so."""
WITHOUT_DATA = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
"""Links, devices, folders and pipes: whatever their size field says, nothing follows."""

_MAX_SIZE = 1 << 62
_MAX_DIGITS = 20
"""Of a length or size in pax records: more than any file has."""


class Header(NamedTuple):
    """One header."""

    name: str
    size: int
    kind: bytes
    goes_on: bool
    """Whether blocks of a sparse map follow."""
    mode: int = 0
    """The permission bits."""
    target: str = ""
    """Of a link."""


def parse_header(block: bytes) -> Header:
    """The header in a block.

    Raises:
        ValueError: its checksum is wrong, so that it is none, or a number in it cannot be read.
    """
    stated = parse_number(block[148:156])
    if sum(block[:148]) + sum(block[156:]) + 8 * ord(" ") != stated:
        raise ValueError("a header has a wrong checksum")
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    size, mode = parse_number(block[124:136]), parse_number(block[100:108]) & 0o7777
    return Header(name, size, block[156:157], block[482] != 0, mode, _text(block[157:257]))


def _text(field: bytes) -> str:
    """Names that are not UTF-8 carry surrogate escapes (PEP 383)."""
    return field.partition(b"\0")[0].decode(errors="surrogateescape")


def parse_number(field: bytes) -> int:
    r"""``0000644\\0`` in octal, or, with the first bit set, a big-endian number (GNU).

    Raises:
        ValueError: it is neither, or larger than any file.
    """
    if field[0] & 0x80:
        number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:])
    else:
        digits = field.strip(b"\0 ")
        if digits.translate(None, b"01234567"):
            raise ValueError("a number in a header is not octal")
        number = int(digits or b"0", 8)
    if number > _MAX_SIZE:
        raise ValueError("a number in a header is out of range")
    return number


def parse_records(data: bytes) -> dict[str, str]:
    r"""Pax records: ``25 path=blobs/sha256/...\\n``, each with its own length in front.

    Raises:
        ValueError: they are not so.
    """
    records = {}
    while data:
        digits, space, _ = data[: _MAX_DIGITS + 1].partition(b" ")
        if not space or not digits.isdigit():
            raise ValueError("a pax record has no length")
        length = int(digits)
        record = data[len(digits) + 1 : length]
        key, equals, value = record.partition(b"=")
        if length > len(data) or not equals or not value.endswith(b"\n"):
            raise ValueError("a pax record is not as long as it says")
        records[key.decode(errors="replace")] = value[:-1].decode(errors="surrogateescape")
        data = data[length:]
    return records


def parse_size(text: str) -> int:
    """A size in pax records.

    Raises:
        ValueError: it is none.
    """
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        raise ValueError("a size in a pax record is no number")
    return int(text)
