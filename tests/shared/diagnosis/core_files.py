"""Core files as Linux writes them, small enough for a test (fs/binfmt_elf.c, elf_core_dump())."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

PAGE = 4096
X86_64, AARCH64 = 62, 183
_REGISTERS = {X86_64: (27 * 8, 16 * 8), AARCH64: (34 * 8, 32 * 8)}
"""Bytes of the registers, and where the program counter is among them."""


class MappedFile(NamedTuple):
    """A file that was mapped, and the first page that the core keeps of it."""

    path: str
    start: int
    end: int
    offset: int = 0
    page: bytes = b""


def make_core(
    pc: int,
    files: Sequence[MappedFile],
    *,
    machine: int = X86_64,
    signal: int = 4,
    process: bytes = b"app",
    is_numbered_apart: bool = False,
) -> bytes:
    """A core file; with ``is_numbered_apart`` the number of its program headers stands in a section header."""
    size, place = _REGISTERS[machine]
    registers = bytearray(size)
    struct.pack_into("<Q", registers, place, pc)
    status = struct.pack("<iiihxx", signal, 0, 0, signal) + bytes(96) + bytes(registers) + bytes(8)
    table = struct.pack("<QQ", len(files), PAGE)
    table += b"".join(struct.pack("<QQQ", one.start, one.end, one.offset // PAGE) for one in files)
    table += b"".join(one.path.encode() + b"\0" for one in files)
    notes = b"".join(
        make_note(b"CORE\0", kind, content)
        for kind, content in (
            (1, status),
            (3, bytes(40) + process.ljust(16, b"\0") + bytes(80)),
            (0x53494749, struct.pack("<iiixxxxQ", signal, 0, 2, pc) + bytes(104)),
            (0x46494C45, table),
        )
    )
    loads = [one for one in files if one.page]
    count = 1 + len(loads)
    begin = 64 + 56 * count + (64 if is_numbered_apart else 0)
    headers = struct.pack("<IIQQQQQQ", 4, 0, begin, 0, 0, len(notes), 0, 4)
    body, position = notes, begin + len(notes)
    for one in loads:
        headers += struct.pack("<IIQQQQQQ", 1, 5, position, one.start, 0, len(one.page), one.end - one.start, PAGE)
        body += one.page
        position += len(one.page)
    section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, count, 0, 0) if is_numbered_apart else b""
    number = 0xFFFF if is_numbered_apart else count
    sections = 64 + 56 * count if is_numbered_apart else 0
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 4, machine, 1, 0, 64, sections, 0, 64, 56, number, 64, 0, 0)
    return head + headers + section + body


def make_note(owner: bytes, kind: int, content: bytes) -> bytes:
    """A note, padded to four bytes."""
    padded = [part + bytes(-len(part) % 4) for part in (owner, content)]
    return struct.pack("<III", len(owner), len(content), kind) + padded[0] + padded[1]


def make_page(build_id: bytes) -> bytes:
    """The first page of an ELF file with a build id."""
    note = make_note(b"GNU\0", 3, build_id)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, X86_64, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return (head + struct.pack("<IIQQQQQQ", 4, 4, 120, 120, 0, len(note), len(note), 4) + note).ljust(PAGE, b"\0")
