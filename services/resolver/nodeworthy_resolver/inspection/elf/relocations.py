"""Relocations, and the functions that run before a program's own (gABI, "Relocation", "Initialization and Termination")."""

from collections.abc import Iterator

from nodeworthy_resolver.inspection.elf import dynamic
from nodeworthy_resolver.inspection.elf.content import Bytes, Content
from nodeworthy_resolver.inspection.elf.records import Elf, Relocation

_MAX_BYTES = 256 * 1024 * 1024
"""Of one table of relocations; those of the largest programs have 100 MB."""
_MAX_INITIALIZERS = 16384
"""Functions of DT_INIT_ARRAY; the largest C++ programs have some thousands."""
_RELATIVE = {"386": 8, "amd64": 8, "amd64p32": 8, "arm": 23, "arm64": 1027, "riscv64": 3, "loong64": 3}
_RELATIVE |= {"ppc64le": 22, "ppc64": 22, "s390x": 12}
"""R_…_RELATIVE by architecture (<elf.h>)."""


def read_relocations(content: Content, elf: Elf) -> Iterator[Relocation]:
    """What the loader fills, table by table; tables end where the file ends. Packed relative ones (RELR) are not told."""
    data = Bytes(content, elf.order, elf.bits)
    tables = [
        (dynamic.RELA, dynamic.RELA_BYTES, True, False),
        (dynamic.REL, dynamic.REL_BYTES, False, False),
        (dynamic.PLT, dynamic.PLT_BYTES, elf.value(dynamic.PLT_KIND) == dynamic.RELA, True),
    ]
    wide = elf.bits == 64  # noqa: PLR2004 # the class
    for tag, size_tag, has_addend, is_lazy in tables:
        at = elf.offset_of(elf.value(tag)) if elf.value(tag) else None
        if at is None:
            continue
        shape = data.shape(("WWq" if wide else "WWi") if has_addend else "WW")
        part = data.part(at, min(elf.value(size_tag), _MAX_BYTES))
        for record in shape.iter_unpack(part[: len(part) - len(part) % shape.size]):
            info = record[1]
            symbol, kind = (info >> 32, info & 0xFFFFFFFF) if wide else (info >> 8, info & 0xFF)
            yield Relocation(record[0], kind, symbol, record[2] if has_addend else 0, is_lazy)


def read_initializers(content: Content, elf: Elf) -> tuple[int, ...]:
    """The addresses of the functions that the loader calls before anything else of the file, in their order.

    DT_PREINIT_ARRAY, DT_INIT, DT_INIT_ARRAY. A file that is loaded at any address may hold zeros there, which relocations
    fill: they are looked up. A static program's own arrays are found by their sections.
    """
    data = Bytes(content, elf.order, elf.bits)
    arrays = [
        _array(elf, dynamic.PREINIT_ARRAY, dynamic.PREINIT_ARRAY_BYTES, ".preinit_array"),
        _array(elf, dynamic.INIT_ARRAY, dynamic.INIT_ARRAY_BYTES, ".init_array"),
    ]
    filled = _filled(content, elf, [array for array in arrays if array])
    first, last = ([] if array is None else _functions(data, elf, *array, filled) for array in arrays)
    init = elf.value(dynamic.INIT)
    return (*first, *((init,) if init else ()), *last)


def _array(elf: Elf, tag: int, size_tag: int, name: str) -> tuple[int, int] | None:
    """Address and size in bytes."""
    if elf.value(tag):
        return elf.value(tag), elf.value(size_tag)
    section = elf.section(name)
    return (section.address, section.size) if section and not elf.dynamic else None


def _filled(content: Content, elf: Elf, arrays: list[tuple[int, int]]) -> dict[int, int]:
    relative = _RELATIVE.get(elf.architecture)
    if not arrays or relative is None:
        return {}
    low, high = min(at for at, _ in arrays), max(at + size for at, size in arrays)
    return {
        one.address: one.addend
        for one in read_relocations(content, elf)
        if low <= one.address < high and one.kind == relative and one.addend
    }


def _functions(data: Bytes, elf: Elf, address: int, size: int, filled: dict[int, int]) -> list[int]:
    width = elf.bits // 8
    at = elf.offset_of(address)
    if at is None:
        return []
    shape = data.shape("W")
    part = data.part(at, min(size, _MAX_INITIALIZERS * width))
    values = [value for (value,) in shape.iter_unpack(part[: len(part) - len(part) % width])]
    found = [filled.get(address + width * index, value) for index, value in enumerate(values)]
    # -1 and 0 mark the ends of old .ctors-like arrays.
    return [value for value in found if value not in {0, 2**elf.bits - 1}]
