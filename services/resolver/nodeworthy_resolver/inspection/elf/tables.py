"""Program headers and section headers (gABI, chapters 4 and 5)."""

from nodeworthy_resolver.inspection.elf.content import Bytes, ElfError, text_of
from nodeworthy_resolver.inspection.elf.records import Section, Segment

_MAX_SEGMENT_BYTES = 65536
"""Of the table of program headers, as the kernel takes it (fs/binfmt_elf.c, load_elf_phdrs)."""
_MAX_SECTIONS = 16384
"""Programs have some 40; object files of large programs thousands."""
_MAX_NAMES = 1024 * 1024
"""Bytes of the table of section names."""
_EXTENDED = 0xFFFF
"""SHN_XINDEX: the number stands in the first section header."""


def read_segments(data: Bytes, offset: int, entry_bytes: int, count: int) -> tuple[Segment, ...]:
    """The program headers.

    Raises:
        ElfError: the table is not there whole, or the kernel would not take it.
    """
    shape = data.shape("IIQQQQQQ" if data.bits == 64 else "IIIIIIII")  # noqa: PLR2004 # the class
    if not count:
        return ()
    if entry_bytes != shape.size or count * shape.size > _MAX_SEGMENT_BYTES:
        raise ElfError(f"{count} program headers of {entry_bytes} bytes")
    part = data.part(offset, count * shape.size)
    if len(part) < count * shape.size:
        raise ElfError("the file ends before its program headers do")
    records = shape.iter_unpack(part)
    if data.bits == 64:  # noqa: PLR2004 # the class
        return tuple(Segment(kind, flags, at, address, *rest) for kind, flags, at, address, _, *rest in records)
    return tuple(
        Segment(kind, flags, at, address, size, memory, align)
        for kind, at, address, _, size, memory, flags, align in records
    )


def read_sections(data: Bytes, offset: int, entry_bytes: int, count: int, names_index: int) -> tuple[Section, ...]:
    """The section headers with their names, without the empty first one.

    Raises:
        ElfError: the table is not there whole, or too long.
    """
    shape = data.shape("IIQQQQIIQQ" if data.bits == 64 else "IIIIIIIIII")  # noqa: PLR2004 # the class
    if not offset:
        return ()
    if entry_bytes != shape.size:
        raise ElfError(f"section headers of {entry_bytes} bytes")
    first = data.numbers("IIQQQQIIQQ" if data.bits == 64 else "IIIIIIIIII", offset)  # noqa: PLR2004 # the class
    count = count or first[5]
    names_index = first[6] if names_index == _EXTENDED else names_index
    if count > _MAX_SECTIONS:
        raise ElfError(f"{count} sections")
    part = data.part(offset, count * shape.size)
    if len(part) < count * shape.size:
        raise ElfError("the file ends before its section headers do")
    records = list(shape.iter_unpack(part))
    table = records[names_index] if names_index < len(records) else None
    names = data.part(table[4], min(table[5], _MAX_NAMES)).tobytes() if table else b""
    return tuple(
        Section(text_of(names, name), kind, flags, address, at, size, link)
        for name, kind, flags, address, at, size, link, *_ in records[1:]
    )
