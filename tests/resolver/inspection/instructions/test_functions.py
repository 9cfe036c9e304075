"""Borders of functions: as pyelftools reads the same unwind tables, and on broken files."""

import io
import random
from itertools import pairwise

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from tests.resolver.inspection.instructions.programs import built, needs_gcc, read_program

from nodeworthy_resolver.inspection.elf import read_dynamic_symbols, read_elf, read_static_symbols
from nodeworthy_resolver.inspection.instructions.functions import Borders, find_functions

pytestmark = needs_gcc


def borders_of(content: bytes, *, with_symbols: bool = False) -> Borders:
    elf = read_elf(content)
    assert elf is not None
    symbols = (*read_dynamic_symbols(content, elf), *read_static_symbols(content, elf)) if with_symbols else ()
    return find_functions(content, elf, symbols)


@pytest.mark.parametrize("options", ["-O2 -static -s", "-O2 -static-pie", "-O2"])
def test_unwind_tables_are_read_as_pyelftools_does(options: str) -> None:
    content = built("options", options)
    frames = ELFFile(io.BytesIO(content)).get_dwarf_info().EH_CFI_entries()
    told = {one["initial_location"] for one in frames if isinstance(one, FDE) and one["address_range"]}

    assert {first for first, _ in borders_of(content)} == told


def test_stripped_files_keep_their_functions() -> None:
    assert len(borders_of(built("options", "-O2 -s"))) >= 2


def test_files_without_unwind_tables_are_told_by_symbols() -> None:
    options = "-O2 -fno-asynchronous-unwind-tables -Wl,--no-ld-generated-unwind-info"
    content = built("directly", options)

    elf = read_elf(content)
    assert elf is not None
    fast = next(one for one in read_static_symbols(content, elf) if one.name == "fast")
    assert (fast.address, fast.address + fast.size) in borders_of(content, with_symbols=True)


def test_functions_do_not_overlap() -> None:
    found = borders_of(built("options", "-O2 -static"), with_symbols=True)

    assert all(one[1] <= other[0] for one, other in pairwise(found))


def test_broken_files_are_read_without_an_error() -> None:
    choose = random.Random(7)
    good = built("options", "-O2")
    for _ in range(60):
        broken = bytearray(good)
        for _ in range(12):
            broken[choose.randrange(64, len(broken))] = choose.randrange(256)
        cut = bytes(broken[: choose.randrange(64, len(broken))] if choose.random() < 0.3 else broken)
        if read_elf(cut):
            read_program(cut)
