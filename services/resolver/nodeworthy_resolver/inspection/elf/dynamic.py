"""The dynamic table (gABI, "Dynamic Section") and what its addresses lead to: names of libraries, versions of symbols."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from nodeworthy_resolver.inspection.elf.content import MAX_TEXT_BYTES, Bytes, ElfError, text_of
from nodeworthy_resolver.inspection.elf.records import NeededVersion, Segment, SegmentKind, offset_in
from nodeworthy_resolver.inspection.elf.versions import read_defined_versions, read_needed_versions

_MAX_ENTRIES = 4096
"""Of the table; real ones have 20 to 60, and one for each needed library."""
MAX_NAMES = 64 * 1024 * 1024
"""Bytes of a table of names; the largest C++ libraries have 30 MB."""

NEEDED, STRINGS, SYMBOLS, STRING_BYTES = 1, 5, 6, 10
INIT, SONAME, RPATH, RUNPATH = 12, 14, 15, 29
INIT_ARRAY, INIT_ARRAY_BYTES, PREINIT_ARRAY, PREINIT_ARRAY_BYTES = 25, 27, 32, 33
HASH, GNU_HASH = 4, 0x6FFFFEF5
RELA, RELA_BYTES, REL, REL_BYTES, PLT, PLT_BYTES, PLT_KIND = 7, 8, 17, 18, 23, 2, 20
RELR, RELR_BYTES = 36, 35
_VERNEED, _VERDEF = 0x6FFFFFFE, 0x6FFFFFFC
"""Tags of the dynamic table, from <elf.h>."""


class Dynamic(NamedTuple):
    """The table, and the texts and versions that it leads to."""

    entries: tuple[tuple[int, int], ...] = ()
    needed: tuple[str, ...] = ()
    soname: str = ""
    rpath: str = ""
    runpath: str = ""
    needed_versions: tuple[NeededVersion, ...] = ()
    defined_versions: tuple[str, ...] = ()


def read_dynamic(data: Bytes, segments: tuple[Segment, ...], faults: list[str]) -> Dynamic:
    """The dynamic table of a file; what cannot be read is left empty and told in ``faults``."""
    segment = next((segment for segment in segments if segment.kind == SegmentKind.DYNAMIC), None)
    if segment is None:
        return Dynamic()
    entries = _read_entries(data, segment, faults)
    values = dict(reversed(entries))
    names_at = offset_in(segments, values.get(STRINGS, 0))
    if names_at is None:
        if any(tag == NEEDED for tag, _ in entries):
            faults.append("the names of the dynamic table are not in the file")
        return Dynamic(entries)
    size = min(values.get(STRING_BYTES, 0), MAX_NAMES)
    outside: list[int] = []

    def name(position: int) -> str:
        if position >= size:
            outside.append(position)
            if len(outside) == 1:
                faults.append(f"a name of the dynamic table lies outside its names, at {position}")
            return ""
        return text_of(data.part(names_at + position, min(MAX_TEXT_BYTES, size - position)).tobytes(), 0)

    def versions(tag: int, read: Callable[[Bytes, int, bytes], tuple[_T, ...]]) -> tuple[_T, ...]:
        at = offset_in(segments, values[tag]) if tag in values else None
        if at is None:
            return ()
        try:
            return read(data, at, data.part(names_at, size).tobytes())
        except ElfError as error:
            faults.append(f"its versions of symbols cannot be read: {error}")
            return ()

    return Dynamic(
        entries,
        tuple(filter(None, (name(value) for tag, value in entries if tag == NEEDED))),
        name(values[SONAME]) if SONAME in values else "",
        name(values[RPATH]) if RPATH in values else "",
        name(values[RUNPATH]) if RUNPATH in values else "",
        versions(_VERNEED, read_needed_versions),
        versions(_VERDEF, read_defined_versions),
    )


_T = TypeVar("_T")


def _read_entries(data: Bytes, segment: Segment, faults: list[str]) -> tuple[tuple[int, int], ...]:
    """The entries up to DT_NULL, as the loader reads them."""
    shape = data.shape("WW")
    part = data.part(segment.offset, min(segment.file_size, _MAX_ENTRIES * shape.size))
    entries = []
    for tag, value in shape.iter_unpack(part[: len(part) - len(part) % shape.size]):
        if not tag:
            break
        entries.append((tag, value))
    if len(entries) == _MAX_ENTRIES:
        faults.append(f"its dynamic table has more than {_MAX_ENTRIES} entries")
    return tuple(entries)
