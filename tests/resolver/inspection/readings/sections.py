"""ELF files with named sections, for what is found by them."""

import struct
from collections.abc import Mapping

from tests.resolver.inspection.elves import Made


def with_sections(made: Made, contents: Mapping[str, bytes]) -> bytes:
    """A 64-bit little-endian file with these sections behind what it says itself; each begins at a multiple of 16."""
    data = bytearray(made.bytes())
    names = b"\0" + b"".join(name.encode() + b"\0" for name in contents) + b".shstrtab\0"
    records = [bytes(64)]
    for name, content in {**contents, ".shstrtab": names}.items():
        data += bytes(-len(data) % 16)
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        records.append(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, len(data), len(content), 0, 0, 1, 0))
        data += content
    data += bytes(-len(data) % 16)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<HHH", data, 58, 64, len(records), len(records) - 1)
    return bytes(data) + b"".join(records)
