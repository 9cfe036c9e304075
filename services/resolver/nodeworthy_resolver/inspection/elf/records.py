"""The records of an ELF file; none holds its content."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

import msgspec


class FileKind(IntEnum):
    """``e_type``, of those that an image has."""

    OTHER = 0
    OBJECT = 1
    PROGRAM = 2
    """ET_EXEC: a program at fixed addresses."""
    SHARED = 3
    """ET_DYN: a library, or a program at any address (PIE)."""
    CORE = 4
    DEBUG = 5
    """Of the header's own numbers none: the symbols of another file, whose code is not in this one."""


class SegmentKind:
    """``p_type`` (gABI, "Program Header"; GNU's in <elf.h>)."""

    LOAD = 1
    DYNAMIC = 2
    INTERPRETER = 3
    NOTE = 4
    TLS = 7
    EH_FRAME = 0x6474E550
    STACK = 0x6474E551
    RELRO = 0x6474E552
    PROPERTY = 0x6474E553


EXECUTABLE, WRITABLE = 1, 2
"""Bits of ``p_flags``: PF_X and PF_W."""


class Segment(NamedTuple):
    """One program header; offsets, addresses and sizes in bytes."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    align: int

    @property
    def is_executable(self) -> bool:
        """Whether its bytes may be instructions."""
        return bool(self.flags & EXECUTABLE)


def offset_in(segments: Iterable[Segment], address: int) -> int | None:
    """Where in the file the byte of an address is; ``None`` where no loaded segment has it there."""
    for segment in segments:
        if segment.kind == SegmentKind.LOAD and segment.address <= address < segment.address + segment.file_size:
            return segment.offset + address - segment.address
    return None


class Section(NamedTuple):
    """One section header; offsets and sizes in bytes."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class NeededVersion(NamedTuple):
    """A version that a file needs of a library (Elf_Vernaux)."""

    library: str
    """The name under which the library is needed, as ``libc.so.6``."""
    name: str
    """As ``GLIBC_2.34``."""
    is_weak: bool
    """VER_FLG_WEAK: its absence is no error for the loader."""


class Notes(msgspec.Struct, frozen=True):
    """What notes of the owner "GNU" say."""

    abi_tag: tuple[int, int, int, int] | None = None
    """NT_GNU_ABI_TAG: system (0 is Linux), then the oldest kernel, as (0, 3, 2, 0)."""
    build_id: str = ""
    """NT_GNU_BUILD_ID in hexadecimal."""
    isa_needed: int | None = None
    """x86, property 0xc0008002: bit 0 baseline, 1 v2, 2 v3, 3 v4; ``None`` where there is none."""
    isa_used: int | None = None
    """x86, property 0xc0010002, never a requirement."""
    features: int | None = None
    """x86 0xc0000002 (bit 0 IBT, 1 SHSTK), AArch64 0xc0000000 (bit 0 BTI, 1 PAC)."""


class Attributes(msgspec.Struct, frozen=True):
    """Build attributes of 32-bit Arm and RISC-V files."""

    arm_arch: int | None = None
    """Tag_CPU_arch: 6 is v6, 10 v7, 14 v8-A."""
    arm_profile: str = ""
    """Tag_CPU_arch_profile: ``A``, ``R``, ``M``, ``S``; empty where nothing is said."""
    arm_thumb: int | None = None
    """Tag_THUMB_ISA_use: 0 none, 1 Thumb of 16 bits, 2 Thumb-2, which v7 brought to all."""
    arm_fp: int | None = None
    """Tag_FP_arch: 0 none, 2 VFPv2, 3 VFPv3, 4 VFPv3-D16, 5 VFPv4, 6 VFPv4-D16, 7 v8."""
    arm_simd: int | None = None
    """Tag_Advanced_SIMD_arch: 0 none, 1 NEON."""
    arm_vfp_args: int | None = None
    """Tag_ABI_VFP_args: 1 where floats are passed in registers (hard float)."""
    riscv_arch: str = ""
    """Tag_RISCV_arch, as ``rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0``."""


class Symbol(NamedTuple):
    """One symbol."""

    name: str
    address: int
    size: int
    kind: int
    """0 none, 1 object, 2 function, 6 thread-local, 10 STT_GNU_IFUNC."""
    binding: int
    """0 local, 1 global, 2 weak, 10 unique."""
    section: int
    """0: it is imported."""

    @property
    def is_imported(self) -> bool:
        """Whether another file has to have it."""
        return self.section == 0 and bool(self.name)

    @property
    def is_weak(self) -> bool:
        """Whether it may be missing."""
        return self.binding == 2  # noqa: PLR2004 # STB_WEAK

    @property
    def is_indirect(self) -> bool:
        """Whether a resolver function at its address chooses it (STT_GNU_IFUNC)."""
        return self.kind == 10  # noqa: PLR2004 # STT_GNU_IFUNC


class Relocation(NamedTuple):
    """One place that the loader fills."""

    address: int
    kind: int
    """The machine's own number, as R_X86_64_RELATIVE."""
    symbol: int
    """Index in the dynamic symbols; 0 is none."""
    addend: int
    is_lazy: bool
    """Of the procedure linkage table: filled at the first call where nothing asks for all at the start."""


class Elf(msgspec.Struct, frozen=True):
    """One ELF file, without its content."""

    machine: int
    """``e_machine``: 62 x86-64, 3 i386, 183 AArch64, 40 Arm."""
    architecture: str
    """Go's name, as ``amd64``; empty where Go has none."""
    bits: int
    order: str
    """``<`` little-endian, ``>`` big-endian."""
    kind: FileKind
    flags: int
    """``e_flags``."""
    entry: int
    """The address at which a program begins; 0 where there is none."""
    size: int
    """Bytes of the file."""
    segments: tuple[Segment, ...] = ()
    sections: tuple[Section, ...] = ()
    """Without the empty first one; empty where the table was stripped or is broken, which hurts no program."""
    interpreter: str = ""
    """PT_INTERP."""
    dynamic: tuple[tuple[int, int], ...] = ()
    """Tags and values, in order."""
    needed: tuple[str, ...] = ()
    """DT_NEEDED."""
    soname: str = ""
    rpath: str = ""
    """DT_RPATH, as written."""
    runpath: str = ""
    """DT_RUNPATH, as written."""
    notes: Notes = Notes()
    needed_versions: tuple[NeededVersion, ...] = ()
    defined_versions: tuple[str, ...] = ()
    """Without the name of the file itself."""
    attributes: Attributes = Attributes()
    faults: tuple[str, ...] = ()
    """What could not be read, one sentence each."""

    @property
    def is_pie(self) -> bool:
        """Whether it is a program that runs at any address."""
        return self.kind is FileKind.SHARED and bool(self.interpreter or self.value(_FLAGS_1) & _IS_PIE)

    @property
    def is_program(self) -> bool:
        """Whether it is made to be executed: libraries that also have a PT_INTERP, as libc.so.6, count."""
        return self.kind is FileKind.PROGRAM or self.is_pie

    @property
    def is_static(self) -> bool:
        """Whether it is a program that needs no loader."""
        return self.is_program and not self.interpreter

    @property
    def binds_now(self) -> bool:
        """Whether all its symbols are looked up when it is loaded (DT_BIND_NOW, DF_BIND_NOW, DF_1_NOW)."""
        return (
            any(tag == _BIND_NOW for tag, _ in self.dynamic)
            or bool(self.value(_FLAGS) & _IS_BIND_NOW)
            or bool(self.value(_FLAGS_1) & 1)
        )

    def value(self, tag: int) -> int:
        """The value of a tag of the dynamic table; 0 where there is none."""
        return next((value for found, value in self.dynamic if found == tag), 0)

    def loads(self) -> Iterator[Segment]:
        """The segments that are in memory, in order."""
        return (segment for segment in self.segments if segment.kind == SegmentKind.LOAD)

    def section(self, name: str) -> Section | None:
        """The section of this name."""
        return next((section for section in self.sections if section.name == name), None)

    def offset_of(self, address: int) -> int | None:
        """Where in the file the byte of an address is; ``None`` where it is not in the file."""
        return offset_in(self.segments, address)

    def address_of(self, offset: int) -> int | None:
        """At which address the byte of an offset is; ``None`` where it is not in memory."""
        for segment in self.loads():
            if segment.offset <= offset < segment.offset + segment.file_size:
                return segment.address + offset - segment.offset
        return None


_BIND_NOW, _FLAGS, _FLAGS_1 = 24, 30, 0x6FFFFFFB
_IS_BIND_NOW, _IS_PIE = 0x8, 0x08000000
"""DF_BIND_NOW and DF_1_PIE (gABI, "Dynamic Section"; <elf.h>)."""
