"""What is read of files made for the purpose, in both classes and byte orders, and of broken ones."""

import random
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, abi_tag, isa_needed

from nodeworthy_resolver.inspection.elf import (
    ElfError,
    FileKind,
    NeededVersion,
    find_text,
    read_dynamic_symbols,
    read_elf,
    read_initializers,
    read_relocations,
    read_static_symbols,
)

FULL = Made(
    interpreter="/lib64/ld-linux-x86-64.so.2",
    needed=("libfoo.so.1", "libc.so.6"),
    soname="libbar.so.2",
    rpath="$ORIGIN/../lib",
    runpath="/opt/lib",
    needs={"libc.so.6": ["GLIBC_2.2.5", "?GLIBC_2.34"], "libfoo.so.1": ["FOO_1"]},
    defines=("BAR_1", "BAR_2"),
    imports=("malloc", "?__gmon_start__"),
    exports=("bar",),
    notes=abi_tag(3, 2, 0) + isa_needed(0b111),
)


@pytest.mark.parametrize(
    ("machine", "bits", "order", "name"),
    [
        (62, 64, "<", "amd64"),
        (3, 32, "<", "386"),
        (62, 32, "<", "amd64p32"),
        (183, 64, "<", "arm64"),
        (40, 32, "<", "arm"),
        (21, 64, "<", "ppc64le"),
        (21, 64, ">", "ppc64"),
        (22, 64, ">", "s390x"),
        (243, 64, "<", "riscv64"),
        (258, 64, "<", "loong64"),
        (8, 32, ">", "mips"),
        (8, 64, "<", "mips64le"),
        (9999, 64, "<", ""),
    ],
)
def test_a_file_of_each_machine_class_and_order_says_the_same(machine: int, bits: int, order: str, name: str) -> None:
    notes = b"" if order == ">" else FULL.notes
    data = Made(**{**FULL.__dict__, "machine": machine, "bits": bits, "order": order, "notes": notes}).bytes()
    elf = read_elf(data)
    assert elf is not None
    assert (elf.architecture, elf.bits, elf.order, elf.faults) == (name, bits, order, ())
    assert (elf.interpreter, elf.needed) == ("/lib64/ld-linux-x86-64.so.2", ("libfoo.so.1", "libc.so.6"))
    assert (elf.soname, elf.rpath, elf.runpath) == ("libbar.so.2", "$ORIGIN/../lib", "/opt/lib")
    assert elf.needed_versions == (
        NeededVersion("libc.so.6", "GLIBC_2.2.5", is_weak=False),
        NeededVersion("libc.so.6", "GLIBC_2.34", is_weak=True),
        NeededVersion("libfoo.so.1", "FOO_1", is_weak=False),
    )
    assert elf.defined_versions == ("BAR_1", "BAR_2")
    symbols = read_dynamic_symbols(data, elf)
    assert [one.name for one in symbols if one.is_imported and not one.is_weak] == ["malloc"]
    assert [one.name for one in symbols if one.is_imported and one.is_weak] == ["__gmon_start__"]
    assert [one.name for one in symbols if one.name and not one.is_imported] == ["bar"]
    assert [one.symbol for one in read_relocations(data, elf)] == [1, 2]


def test_the_notes_of_gnu_say_the_oldest_kernel_and_the_needed_level() -> None:
    kernel = read_elf(Made(notes=abi_tag(4, 11, 0)).bytes())
    level = read_elf(Made(notes=isa_needed(0b10)).bytes())
    used = read_elf(Made(notes=isa_needed(0b1111, name=0xC0010002)).bytes())
    assert kernel is not None
    assert level is not None
    assert used is not None
    assert kernel.notes.abi_tag == (0, 4, 11, 0)
    assert (level.notes.isa_needed, level.notes.isa_used) == (0b10, None)
    assert (used.notes.isa_needed, used.notes.isa_used) == (None, 0b1111)


def test_programs_are_told_from_libraries_and_static_ones_from_others() -> None:
    static, library, pie = (
        read_elf(made.bytes()) for made in (Made(kind=2), Made(soname="x"), Made(interpreter="/lib/ld"))
    )
    static_pie = read_elf(Made(tags={0x6FFFFFFB: 0x08000001}).bytes())
    assert static is not None
    assert library is not None
    assert pie is not None
    assert static_pie is not None
    assert [one.is_program for one in (static, library, pie, static_pie)] == [True, False, True, True]
    assert [one.is_static for one in (static, library, pie, static_pie)] == [True, False, False, True]
    assert [one.is_pie for one in (static, library, pie, static_pie)] == [False, False, True, True]
    assert static_pie.binds_now
    assert static.kind is FileKind.PROGRAM


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"#!/bin/sh\n" * 20, b"\x7fELF\x03\x01" + bytes(90)])
def test_what_has_no_header_is_no_elf_file(data: bytes) -> None:
    assert read_elf(data) is None


def test_a_table_that_lies_outside_the_file_is_told_and_harms_nothing_else() -> None:
    data = bytearray(FULL.bytes())
    data[40:48] = (2**62).to_bytes(8, "little")  # e_shoff
    elf = read_elf(bytes(data))
    assert elf is not None
    assert elf.needed == ("libfoo.so.1", "libc.so.6")
    assert len(elf.faults) == 1
    assert "section headers" in elf.faults[0]


def test_a_chain_of_versions_that_never_ends_is_told() -> None:
    needs = {"libc.so.6": ["A"], "libfoo.so.1": ["B"]}
    data = Made(needed=tuple(needs), needs=needs).bytes()
    elf = read_elf(data)
    assert elf is not None
    at = elf.offset_of(elf.value(0x6FFFFFFE))
    assert at is not None
    circular = bytearray(data)
    circular[at + 12 : at + 16] = (2**32 - 32).to_bytes(4, "little")
    broken = read_elf(bytes(circular))
    assert broken is not None
    assert any("versions" in fault for fault in broken.faults)


def test_initializers_are_read_from_the_table_and_where_it_is_empty_from_relocations() -> None:
    table = struct.pack("<QQQ", 0x1000, 0, 2**64 - 1)
    wanted = {12: 0x40, 25: 0, 27: 24, 7: 0, 8: 24}
    data = Made(tags=wanted, tail=table + bytes(24)).bytes()
    elf = read_elf(data)
    assert elf is not None
    at = elf.size - 48
    filled = struct.pack("<QQq", at + 8, 8, 0x2000)
    data = Made(tags={**wanted, 25: at, 7: at + 24}, tail=table + filled).bytes()
    elf = read_elf(data)
    assert elf is not None
    assert read_initializers(data, elf) == (0x40, 0x1000, 0x2000)


def test_a_text_is_found_in_what_is_mapped() -> None:
    assert find_text(memoryview(b"abc.def.def"), b".def") == 3
    assert find_text(memoryview(b"abc.def.def"), b".def", 4) == 7
    assert find_text(memoryview(b"abcXdef"), b".def") == -1


def _read_everything(data: bytes) -> None:
    elf = read_elf(data)
    if elf is None:
        return
    for read in (read_dynamic_symbols, read_static_symbols):
        try:
            read(data, elf)
        except ElfError:
            continue
    for _ in read_relocations(data, elf):
        break
    read_initializers(data, elf)


@given(st.binary(max_size=400), st.sampled_from([b"\x7fELF\x02\x01", b"\x7fELF\x01\x01", b"\x7fELF\x02\x02"]))
@settings(max_examples=300)
def test_no_bytes_behind_a_magic_break_the_reader(data: bytes, magic: bytes) -> None:
    _read_everything(magic + data)


def _smallest_library() -> bytes:
    """A real library of this machine, with sections; the made file where it keeps them elsewhere."""
    found = [path for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64") for path in Path(folder).glob("*.so.*")]
    return min((path.read_bytes() for path in found[:40] if path.is_file()), key=len, default=FULL.bytes())


@pytest.mark.parametrize("seed", range(8))
def test_no_changed_bytes_break_the_reader(seed: int) -> None:
    chance = random.Random(seed)
    originals = (FULL.bytes(), _smallest_library())
    for number in range(200):
        data = bytearray(originals[number % 2])
        for _ in range(chance.randint(1, 6)):
            # The tables stand at the beginning and at the end.
            at = chance.choice([chance.randrange(min(4096, len(data))), chance.randrange(len(data))])
            data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        _read_everything(bytes(data[: chance.choice([len(data), chance.randint(40, len(data))])]))
