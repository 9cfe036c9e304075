"""Damaged copies of files, the same ones for the same number: a few changes each, most where a reader takes numbers from."""

import random
import struct

from nodeworthy_resolver.inspection.elf import Elf, read_elf

_NUMBERS = (0, 1, 2, 7, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, (1 << 64) - 8)
"""What damaged tables hold, and where sums run over."""


def mutate(data: bytes, number: int) -> bytes:
    """One damaged copy of an ELF file."""
    chance = random.Random(number)
    changed = bytearray(data)
    places = _telling(read_elf(data))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        start, size = chance.choice(places) if places and chance.random() < 0.8 else (0, len(changed))
        at = min(start + chance.randrange(max(size, 1)), len(changed) - 1)
        _change(changed, at, chance)
    if chance.random() < 0.05:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)


def _change(changed: bytearray, at: int, chance: random.Random) -> None:
    """A byte, a word, or a piece from elsewhere of the file."""
    kind = chance.randrange(4)
    if kind == 0:
        changed[at] = chance.randrange(256)
        return
    if kind == 1:
        changed[at] ^= 1 << chance.randrange(8)
        return
    at -= at % 8
    if kind == 2:
        new = struct.pack("<Q", chance.choice(_NUMBERS))[: chance.choice((2, 4, 8))]
    else:
        other = chance.randrange(len(changed))
        new = bytes(changed[other : other + chance.choice((8, 24, 64))])
    changed[at : at + len(new)] = new[: max(len(changed) - at, 0)]


def _telling(elf: Elf | None) -> list[tuple[int, int]]:
    """Where the headers and tables of a file stand: offset and size."""
    if elf is None:
        return []
    wide = elf.bits == 64
    headers = [(0, 64), (64 if wide else 52, len(elf.segments) * (56 if wide else 32))]
    tables = [(one.offset, min(one.file_size, 4096)) for one in elf.segments if one.kind != 1]
    return [*headers, *tables, *((one.offset, min(one.size, 1 << 16)) for one in elf.sections if one.kind != 1)]
