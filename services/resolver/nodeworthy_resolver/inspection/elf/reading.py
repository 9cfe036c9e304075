"""Reading an ELF file: the header, and the tables that it leads to (gABI, chapters 4 and 5).

What the loader needs is found as it finds it: through segments and the dynamic table. Sections are taken where they are;
a stripped or broken table of sections changes nothing else.
"""

from nodeworthy_resolver.inspection.elf.attributes import parse_attributes
from nodeworthy_resolver.inspection.elf.content import Bytes, Content, ElfError
from nodeworthy_resolver.inspection.elf.dynamic import Dynamic, read_dynamic
from nodeworthy_resolver.inspection.elf.machines import architecture_of
from nodeworthy_resolver.inspection.elf.notes import read_notes
from nodeworthy_resolver.inspection.elf.records import Attributes, Elf, FileKind, Section, Segment, SegmentKind
from nodeworthy_resolver.inspection.elf.tables import read_sections, read_segments

_MAGIC = b"\x7fELF"
_HEADER_BYTES = {32: 52, 64: 64}
_ARM, _RISCV = 40, 243
_NO_BITS, _INSTRUCTIONS = 8, 4
"""SHT_NOBITS and SHF_EXECINSTR."""
_ATTRIBUTES = 0x70000003
"""The type of the section of attributes, SHT_ARM_ATTRIBUTES and SHT_RISCV_ATTRIBUTES alike; of the segment too (RISC-V)."""


def read_elf(content: Content) -> Elf | None:
    """What an ELF file says; ``None`` where the bytes are none, or end before the header does.

    Tables that cannot be read are left empty, with one sentence each in ``faults``.
    """
    view = memoryview(content)
    if len(view) < _HEADER_BYTES[32] or view[:4] != _MAGIC or view[4] not in {1, 2} or view[5] not in {1, 2}:
        return None
    data = Bytes(view, "<" if view[5] == 1 else ">", 32 * view[4])
    if len(view) < _HEADER_BYTES[data.bits]:
        return None
    kind, machine, _, entry, segments_at, sections_at, flags, _, *table = data.numbers("HHIWWWIHHHHHH", 16)
    faults: list[str] = []
    segments: tuple[Segment, ...] = ()
    sections: tuple[Section, ...] = ()
    try:
        segments = read_segments(data, segments_at, table[0], table[1])
    except ElfError as error:
        faults.append(f"its program headers cannot be read: {error}")
    try:
        sections = read_sections(data, sections_at, *table[2:])
    except ElfError as error:
        faults.append(f"its section headers cannot be read: {error}")
    file_kind = FileKind(kind) if kind <= FileKind.CORE else FileKind.OTHER
    if any(section.kind == _NO_BITS and section.flags & _INSTRUCTIONS for section in sections):
        # objcopy --only-keep-debug leaves the headers of what it takes out: nothing that they lead to is there.
        file_kind = FileKind.DEBUG
    dynamic = Dynamic() if file_kind is FileKind.DEBUG else read_dynamic(data, segments, faults)
    return Elf(
        machine=machine,
        architecture=architecture_of(machine, data.bits, data.order, flags),
        bits=data.bits,
        order=data.order,
        kind=file_kind,
        flags=flags,
        entry=entry,
        size=len(view),
        segments=segments,
        sections=sections,
        interpreter="" if file_kind is FileKind.DEBUG else _read_interpreter(data, segments),
        dynamic=dynamic.entries,
        needed=dynamic.needed,
        soname=dynamic.soname,
        rpath=dynamic.rpath,
        runpath=dynamic.runpath,
        notes=read_notes(data, segments),
        needed_versions=dynamic.needed_versions,
        defined_versions=dynamic.defined_versions,
        attributes=_read_attributes(data, machine, segments, sections),
        faults=tuple(faults),
    )


def _read_interpreter(data: Bytes, segments: tuple[Segment, ...]) -> str:
    """PT_INTERP: of several, the first, as the kernel takes it."""
    found = next((segment for segment in segments if segment.kind == SegmentKind.INTERPRETER), None)
    return data.text(found.offset) if found else ""


def _read_attributes(
    data: Bytes, machine: int, segments: tuple[Segment, ...], sections: tuple[Section, ...]
) -> Attributes:
    if machine not in {_ARM, _RISCV}:
        return Attributes()
    for section in sections:
        if section.kind == _ATTRIBUTES:
            return parse_attributes(data, data.part(section.offset, section.size))
    for segment in segments:
        if machine == _RISCV and segment.kind == _ATTRIBUTES:
            return parse_attributes(data, data.part(segment.offset, segment.file_size))
    return Attributes()
