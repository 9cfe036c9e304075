"""Core files of Linux: which signal ended a program, where, and which files were mapped there. No debugger is needed.

An ELF file of type ET_CORE (elf(5), core(5)). Its notes of the owner "CORE" hold the kernel's structures; its loaded
segments hold memory, of mapped files by default only the first page, in which their build id stands
(coredump_filter, bit 4)::

    NT_PRSTATUS    struct elf_prstatus: signal at 12, registers at 112; the first one is the thread that crashed
    NT_SIGINFO     siginfo_t: signal at 0, code at 8, address at 16
    NT_FILE        count, page size, count * (start, end, offset in pages), then the names, each with a NUL
"""

import bisect
import itertools
import struct
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from nodeworthy.errors import UsageError

_MACHINES = {62: ("amd64", 112 + 16 * 8), 183: ("arm64", 112 + 32 * 8)}
"""``e_machine`` to Go's name and where NT_PRSTATUS holds the program counter: ``rip`` of user_regs_struct
(arch/x86/include/asm/user_64.h), ``pc`` of user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h)."""

_ET_CORE = 4
_PT_LOAD, _PT_NOTE = 1, 4
_PN_XNUM = 0xFFFF
"""More program headers than the field holds: their number stands in the first section header (elf.h)."""
_PRSTATUS, _PRPSINFO, _SIGINFO, _FILE = 1, 3, 0x53494749, 0x46494C45
_BUILD_ID = 3

_MAX_HEADERS = 200_000
"""Program headers; Linux allows a process 65,530 mappings (vm.max_map_count), Elasticsearch 262,144."""
_MAX_NOTES = 100_000
"""A few for each thread."""
_MAX_NOTE_SEGMENTS = 16
"""Linux writes one."""
_MAX_FILES = 200_000
_CODE_BYTES = 16
"""The longest instruction of x86 has 15 bytes."""


class Mapping(NamedTuple):
    """A part of a file that was mapped."""

    start: int
    end: int
    offset: int
    """Bytes from the beginning of the file."""
    path: str


class Core(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a core file tells of the thread that crashed."""

    machine: str
    """Go's name of the architecture."""
    signal: int
    pc: int
    address: int | None = None
    """Of the memory or instruction that the signal is about."""
    process: str = ""
    file: str = ""
    """The mapped file in which the program counter was; empty where that was no file."""
    offset: int | None = None
    """Of the program counter in that file."""
    build_id: str = ""
    """Of that file, in hexadecimal."""
    code: bytes = b""
    """The bytes at the program counter, where the core holds them."""
    files: tuple[str, ...] = ()
    """Every mapped file once, with its build id behind ``@`` where the core holds it."""


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def read_core(data: memoryview, name: str) -> Core:
    """What a core file tells; ``name`` is for messages.

    Raises:
        UsageError: it is no core file of a 64-bit program on x86 or Arm, or is cut off before its notes.
    """
    try:
        return _Reader(data, name).read()
    except struct.error as error:
        raise _refuse(name, "it is cut off, or its tables point outside of it") from error


class _Reader:
    """One core file; every offset in it may be wrong, and reading past the end is a ``struct.error``."""

    def __init__(self, data: memoryview, name: str) -> None:
        self.data = data
        self.name = name
        head = bytes(data[:6])
        if head[:4] != b"\x7fELF":
            packed = head[:4] in {b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"} or head[:2] == b"\x1f\x8b"
            raise _refuse(name, "it is compressed: unpack it first" if packed else "it does not begin as an ELF file")
        if head[4:5] != b"\x02" or head[5:6] != b"\x01":
            raise _refuse(name, "it is not of a 64-bit little-endian program")
        kind, machine = _unpack("<HH", data, 16)
        if kind != _ET_CORE:
            raise _refuse(name, "it is an ELF file, and no core")
        if machine not in _MACHINES:
            raise _refuse(name, f"it is of ELF machine {machine}; x86-64 and AArch64 are read")
        self.machine, self.pc_at = _MACHINES[machine]
        self.segments = list(self._segments())
        loaded = (one for one in self.segments if one.kind == _PT_LOAD)
        self.memory = sorted(loaded, key=lambda one: one.address)
        self.addresses = [one.address for one in self.memory]

    def read(self) -> Core:
        signal, pc, process = 0, None, ""
        address: int | None = None
        mappings: list[Mapping] = []
        for kind, note in self._notes():
            if kind == _PRSTATUS and pc is None:
                (signal,) = _unpack("<H", note, 12)
                (pc,) = _unpack("<Q", note, self.pc_at)
            elif kind == _SIGINFO and address is None:
                (address,) = _unpack("<Q", note, 16)
            elif kind == _PRPSINFO and not process:
                process = bytes(note[40:56]).partition(b"\0")[0].decode(errors="replace")
            elif kind == _FILE and not mappings:
                mappings = list(_mappings(note))
        if pc is None:
            raise _refuse(self.name, "it holds no state of a thread (NT_PRSTATUS)")
        here = next((one for one in mappings if one.start <= pc < one.end), None)
        return Core(
            machine=self.machine,
            signal=signal,
            pc=pc,
            address=address,
            process=process,
            file=here.path if here else "",
            offset=pc - here.start + here.offset if here else None,
            build_id=self._build_id(_starts(mappings).get(here.path)) if here else "",
            code=self._memory(pc, _CODE_BYTES),
            files=tuple(self._files(mappings)),
        )

    def _segments(self) -> Iterator[_Segment]:
        (table,) = _unpack("<Q", self.data, 32)
        size, count = _unpack("<HH", self.data, 54)
        if count == _PN_XNUM:
            (sections,) = _unpack("<Q", self.data, 40)
            (count,) = _unpack("<I", self.data, sections + 44)
        if size < 56 or count > _MAX_HEADERS:  # noqa: PLR2004 # of Elf64_Phdr
            raise _refuse(self.name, f"it has {count:,} program headers of {size} bytes")
        for number in range(count):
            kind, _, offset, address, _, file_size = _unpack("<IIQQQQ", self.data, table + number * size)
            yield _Segment(kind, offset, address, file_size)

    def _notes(self) -> Iterator[tuple[int, memoryview]]:
        notes = (segment for segment in self.segments if segment.kind == _PT_NOTE)
        for segment in itertools.islice(notes, _MAX_NOTE_SEGMENTS):
            yield from ((kind, note) for owner, kind, note in _walk(self._part(segment)) if owner == b"CORE")

    def _part(self, segment: _Segment) -> memoryview:
        return self.data[segment.offset : segment.offset + segment.size]

    def _memory(self, address: int, size: int) -> bytes:
        """Bytes of the program's memory, as far as the core holds them."""
        place = bisect.bisect_right(self.addresses, address) - 1
        if place < 0:
            return b""
        begin = address - self.memory[place].address
        return bytes(self._part(self.memory[place])[begin : begin + size])

    def _files(self, mappings: list[Mapping]) -> Iterator[str]:
        starts = _starts(mappings)
        for path in dict.fromkeys(one.path for one in mappings):
            build_id = self._build_id(starts.get(path))
            yield f"{path}@{build_id}" if build_id else path

    def _build_id(self, start: int | None) -> str:
        """The build id in the first page of a file that is mapped at an address; empty where the core does not hold it."""
        page = self._memory(start, 4096) if start is not None else b""
        try:
            return _find_build_id(memoryview(page)) if page[:5] == b"\x7fELF\x02" else ""
        except struct.error:
            return ""


def _starts(mappings: list[Mapping]) -> dict[str, int]:
    """Where the beginning of each file is mapped."""
    return {one.path: one.start for one in reversed(mappings) if one.offset == 0}


def _find_build_id(page: memoryview) -> str:
    (table,) = _unpack("<Q", page, 32)
    size, count = _unpack("<HH", page, 54)
    for number in range(min(count, 64)):
        kind, _, offset, _, _, file_size = _unpack("<IIQQQQ", page, table + number * size)
        if kind != _PT_NOTE:
            continue
        for owner, note_kind, note in _walk(page[offset : offset + file_size]):
            if owner == b"GNU" and note_kind == _BUILD_ID:
                return note.hex()
    return ""


def _walk(part: memoryview) -> Iterator[tuple[bytes, int, memoryview]]:
    """Owner, type and description of each note (gABI, "Note Section"; padded to four bytes)."""
    position = 0
    for _ in range(_MAX_NOTES):
        if position + 12 > len(part):
            return
        name_size, size, kind = _unpack("<III", part, position)
        begin = position + 12 + (name_size + 3 & ~3)
        if begin + size > len(part):
            return
        yield bytes(part[position + 12 : position + 12 + name_size]).rstrip(b"\0"), kind, part[begin : begin + size]
        position = begin + (size + 3 & ~3)


def _mappings(note: memoryview) -> Iterator[Mapping]:
    count, page = _unpack("<QQ", note, 0)
    if count > _MAX_FILES:
        return
    names = bytes(note[16 + count * 24 :]).split(b"\0")
    for number in range(min(count, len(names))):
        start, end, offset = _unpack("<QQQ", note, 16 + number * 24)
        yield Mapping(start, end, offset * page, names[number].decode(errors="replace"))


def _unpack(shape: str, data: memoryview, offset: int) -> tuple[int, ...]:
    """Numbers at an offset, which may be any.

    Raises:
        struct.error: they are not there.
    """
    if offset > len(data):
        raise struct.error(f"offset {offset} of {len(data)} bytes")
    return struct.unpack_from(shape, data, offset)


def _refuse(name: str, why: str) -> UsageError:
    return UsageError(
        f"{name} cannot be read as a core file", why=why, todo="give a core file, as of: coredumpctl dump -o FILE"
    )
