"""Where the functions of a file begin and end.

Unwind tables tell it best: they stay in stripped files (LSB, ".eh_frame_hdr"; DWARF 4, 6.4.1). Then symbols; a file that
has neither is told nothing of its functions.

::

    .eh_frame_hdr: version 1 | encodings of eh_frame_ptr, fde_count, table | eh_frame_ptr | fde_count | (first, FDE) ...
    FDE: length 4 | distance back to its CIE 4 | first instruction | bytes of instructions | ...
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from nodeworthy_resolver.inspection.elf import Content, Elf, Symbol
from nodeworthy_resolver.inspection.elf.records import Segment, SegmentKind

Borders = tuple[tuple[int, int], ...]
"""Addresses (first, behind the last) of functions, ascending, none in another."""

_MAX_FUNCTIONS = 2_000_000
_MAX_SEGMENTS = 16
"""Executable segments; programs have one or two."""
_TABLE = b"\x01\x1b\x03\x3b"
"""Version 1; eh_frame_ptr relative and of four bytes, the count of four, the table relative to the section: what ld, gold,
lld and mold write."""
_RELATIVE_4 = frozenset({0x1B, 0x0B, 0x03})
"""Encodings of addresses with four bytes, behind which the size has four bytes too: DW_EH_PE_pcrel | sdata4 and the like."""
_FROM_HERE = 0x1B
"""DW_EH_PE_pcrel | DW_EH_PE_sdata4: counted from where the address stands."""
_HEAD = struct.Struct("<ii")
_DESCRIPTION = struct.Struct("<IIiI")
_FUNCTION = 2


def executable_segments(elf: Elf) -> tuple[Segment, ...]:
    """Where the code of a file is."""
    return tuple(islice((segment for segment in elf.loads() if segment.is_executable), _MAX_SEGMENTS))


def find_functions(content: Content, elf: Elf, symbols: Iterable[Symbol]) -> Borders:
    """The functions of a little-endian file, from its unwind table and its symbols; empty where it has neither."""
    found = dict(_unwound(memoryview(content), elf))
    for symbol in symbols:
        if symbol.kind == _FUNCTION and symbol.section and symbol.size:
            found.setdefault(symbol.address, symbol.address + symbol.size)
    return tuple(_apart(sorted(found.items()), executable_segments(elf)))


def _apart(borders: Iterable[tuple[int, int]], code: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Those in executable segments, each ended where the next begins."""
    before: tuple[int, int] | None = None
    for first, end in borders:
        if not any(one.address <= first < end <= one.address + one.file_size for one in code):
            continue
        if before and before[0] < first:
            yield before[0], min(before[1], first)
        before = (first, end)
    if before:
        yield before


def _unwound(view: memoryview, elf: Elf) -> Iterator[tuple[int, int]]:
    header = next((segment for segment in elf.segments if segment.kind == SegmentKind.EH_FRAME), None)
    if header is None or bytes(view[header.offset : header.offset + 4]) != _TABLE:
        yield from _listed(view, elf)
        return
    at = header.offset
    try:
        (count,) = struct.unpack_from("<I", view, at + 8)
        table = view[at + 12 : at + 12 + 8 * min(count, _MAX_FUNCTIONS)]
    except struct.error:
        return
    encodings: dict[int, int] = {}
    for first, description in _HEAD.iter_unpack(table[: len(table) & ~7]):
        offset = elf.offset_of(header.address + description)
        if offset is None or not 0 <= offset <= len(view) - _DESCRIPTION.size:
            continue
        _, back, _, size = _DESCRIPTION.unpack_from(view, offset)
        common = offset + 4 - back
        if common not in encodings:
            encodings[common] = _encoding(view, common)
        if encodings[common] in _RELATIVE_4 and size:
            yield header.address + first, header.address + first + size


def _listed(view: memoryview, elf: Elf) -> Iterator[tuple[int, int]]:
    """Without a table, as in static programs: the section is read from its begin to its end."""
    section = elf.section(".eh_frame")
    if section is None:
        return
    encodings: dict[int, int] = {}
    offset, end = section.offset, min(section.offset + section.size, len(view) - _DESCRIPTION.size)
    for _ in range(_MAX_FUNCTIONS):
        if not section.offset <= offset < end:
            return
        length, back, first, size = _DESCRIPTION.unpack_from(view, offset)
        if length in {0, 0xFFFFFFFF}:
            return
        common = offset + 4 - back
        if back and common not in encodings:
            encodings[common] = _encoding(view, common)
        if back and encodings[common] == _FROM_HERE and size:
            address = section.address + (offset + 8 - section.offset) + first
            yield address, address + size
        offset += 4 + length


def _encoding(view: memoryview, common: int) -> int:
    """How a CIE says that addresses are written: length 4 | id 4 | version 1 | letters, 0 | alignments | register | R."""
    if not 0 <= common < len(view) - 32:
        return 0xFF
    data = bytes(view[common + 9 : common + 64])
    end = data.find(b"\0")
    letters = data[: max(end, 0)]
    if not letters.startswith(b"z"):
        return 0xFF
    position = end + 1
    for _ in range(4):  # code alignment, data alignment, return register, length of what follows: LEB128 each
        while position < len(data) and data[position] & 0x80:
            position += 1
        position += 1
    for letter in letters[1:]:
        if position >= len(data):
            return 0xFF
        if letter == ord("R"):
            return data[position]
        # P: one byte of encoding and a pointer, mostly of four bytes; L: one byte of encoding; S, B: nothing.
        position += {ord("P"): 5, ord("L"): 1}.get(letter, 0)
    return 0xFF
