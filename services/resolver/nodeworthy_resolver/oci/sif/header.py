r"""The header of a SIF file and the descriptors of what it holds; pure.

The structures of github.com/sylabs/sif, pkg/sif (sif.go, arch.go, descriptor.go), little-endian and packed. A file that
is made executable begins with the line that starts it::

    #!/usr/bin/env run-singularity\n\0 SIF_MAGIC\0 01\0 02\0 ...
"""

import struct
from typing import NamedTuple

MAGIC = b"SIF_MAGIC\0"

_HEADER = struct.Struct("<32s10s3s3s16s8q")
HEADER_BYTES = _HEADER.size
_DESCRIPTOR = struct.Struct("<i?IIIqqqqqqq128s384s")
_PARTITION = struct.Struct("<ii3s")

MAX_DESCRIPTORS = 4096
"""Of one file; 48 is what new files have room for."""
DESCRIPTOR_BYTES = _DESCRIPTOR.size

ARCHITECTURES = {
    "01": "386",
    "02": "amd64",
    "03": "arm",
    "04": "arm64",
    "05": "ppc64",
    "06": "ppc64le",
    "07": "mips",
    "08": "mipsle",
    "09": "mips64",
    "10": "mips64le",
    "11": "s390x",
    "12": "riscv64",
    "13": "loong64",
}
"""Codes to Go's names (arch.go); 00 says "unknown"."""

_PARTITION_TYPE = 0x4004
_ROOT_INDEX_TYPE, _BLOB_TYPE = 0x400A, 0x400B
_PRIMARY = 2
"""The partition with the operating system that runs."""


class SifHeader(NamedTuple):
    """What the header says."""

    architecture: str
    """Go's name; empty where the code is unknown."""
    code: str
    descriptors: int
    """How many there are, used or not."""
    offset: int
    """Where they begin."""


class SifObject(NamedTuple):
    """One thing in the file."""

    offset: int
    size: int
    is_primary: bool = False
    """The file system that runs."""
    architecture: str = ""
    """Of a partition; empty where the code is unknown."""
    is_root_index: bool = False
    """The index of an OCI image inside."""
    digest: str = ""
    """Of a blob of an OCI image inside."""


def parse_header(data: bytes) -> SifHeader:
    """The header in a file's first bytes.

    Raises:
        ValueError: it is no SIF file, one of another version, or its numbers make no sense.
    """
    if len(data) < HEADER_BYTES:
        raise ValueError(f"it has {len(data)} bytes, fewer than a header")
    _, magic, version, code, _, _, _, free, total, offset, *_ = _HEADER.unpack(data[:HEADER_BYTES])
    if magic != MAGIC:
        raise ValueError("it does not say SIF_MAGIC where a SIF file does")
    if version != b"01\0":
        raise ValueError(f"it is of version {_text(version)!r}, and 01 is what can be read")
    if not 0 <= free <= total <= MAX_DESCRIPTORS or offset < HEADER_BYTES:
        raise ValueError("the place or number of its descriptors makes no sense")
    return SifHeader(ARCHITECTURES.get(_text(code), ""), _text(code), total, offset)


def parse_objects(data: bytes) -> tuple[SifObject, ...]:
    """The used ones of the descriptors in some bytes.

    Raises:
        ValueError: one says of itself what cannot be.
    """
    whole = len(data) - len(data) % DESCRIPTOR_BYTES
    return tuple(_parse_object(fields) for fields in _DESCRIPTOR.iter_unpack(data[:whole]) if fields[1])


def _parse_object(
    fields: tuple[int, bool, int, int, int, int, int, int, int, int, int, int, bytes, bytes],
) -> SifObject:
    kind, offset, size, extra = fields[0], fields[5], fields[6], fields[13]
    if offset < 0 or size < 0:
        raise ValueError("a descriptor has a negative place or size")
    if kind == _PARTITION_TYPE:
        _, purpose, code = _PARTITION.unpack_from(extra)
        return SifObject(offset, size, purpose == _PRIMARY, ARCHITECTURES.get(_text(code), ""))
    if kind in {_ROOT_INDEX_TYPE, _BLOB_TYPE}:
        return SifObject(offset, size, is_root_index=kind == _ROOT_INDEX_TYPE, digest=_text(extra))
    return SifObject(offset, size)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("ascii", errors="replace")
