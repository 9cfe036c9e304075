"""Symbols (gABI, "Symbol Table"): those of the loader, and those that were not stripped.

Without sections, nothing says how many dynamic symbols there are but their hash tables (gABI, "Hash Table"; GNU's as
binutils writes it: buckets, then chains whose last number is odd).
"""

from nodeworthy_resolver.inspection.elf import dynamic
from nodeworthy_resolver.inspection.elf.content import Bytes, Content, ElfError
from nodeworthy_resolver.inspection.elf.records import Elf, Symbol

_MAX_SYMBOLS = 2_000_000
"""Of one table: the largest C++ libraries export 200,000; unstripped ones hold a million."""
_STATIC, _DYNAMIC = 2, 11
"""SHT_SYMTAB and SHT_DYNSYM."""


def read_dynamic_symbols(content: Content, elf: Elf) -> tuple[Symbol, ...]:
    """Imports and exports; the first one is empty, so that an index is the one that relocations give.

    Raises:
        ElfError: the table is not there whole, or too long.
    """
    data = Bytes(content, elf.order, elf.bits)
    at, names_at = elf.offset_of(elf.value(dynamic.SYMBOLS)), elf.offset_of(elf.value(dynamic.STRINGS))
    if at is None or names_at is None:
        return ()
    names = data.part(names_at, min(elf.value(dynamic.STRING_BYTES), dynamic.MAX_NAMES)).tobytes()
    return _read(data, at, _count(data, elf), names)


def read_static_symbols(content: Content, elf: Elf) -> tuple[Symbol, ...]:
    """The symbols of .symtab, local ones too; empty where the file was stripped.

    Raises:
        ElfError: the table is not there whole, or too long.
    """
    table = next((section for section in elf.sections if section.kind == _STATIC), None)
    # Sections are counted from 1 here, as the empty first one is left out.
    if table is None or not 0 < table.link <= len(elf.sections):
        return ()
    data = Bytes(content, elf.order, elf.bits)
    texts = elf.sections[table.link - 1]
    names = data.part(texts.offset, min(texts.size, dynamic.MAX_NAMES)).tobytes()
    return _read(data, table.offset, table.size // _entry_bytes(data), names)


def _entry_bytes(data: Bytes) -> int:
    return 24 if data.bits == 64 else 16  # noqa: PLR2004 # Elf64_Sym and Elf32_Sym


def _read(data: Bytes, offset: int, count: int, names: bytes) -> tuple[Symbol, ...]:
    if count > _MAX_SYMBOLS:
        raise ElfError(f"{count} symbols")
    size = count * _entry_bytes(data)
    part = data.part(offset, size)
    if len(part) < size:
        raise ElfError("the file ends before its symbols do")
    found = []
    find = names.find
    wide = data.bits == 64  # noqa: PLR2004 # the class
    for record in data.shape("IBBHQQ" if wide else "IIIBBH").iter_unpack(part):
        if wide:
            name, info, _, section, address, length = record
        else:
            name, address, length, info, _, section = record
        end = find(b"\0", name)
        text = names[name:end].decode("utf-8", "surrogateescape") if end > name else ""
        found.append(Symbol(text, address, length, info & 15, info >> 4, section))
    return tuple(found)


def _count(data: Bytes, elf: Elf) -> int:
    table = next((section for section in elf.sections if section.kind == _DYNAMIC), None)
    if table is not None and table.address == elf.value(dynamic.SYMBOLS):
        return table.size // _entry_bytes(data)
    if (at := elf.offset_of(elf.value(dynamic.HASH))) is not None:
        # s390x and Alpha write their hash tables in words of eight bytes.
        wide = elf.architecture == "s390x"
        return data.numbers("2Q" if wide else "2I", at)[1]
    if (at := elf.offset_of(elf.value(dynamic.GNU_HASH))) is not None:
        return _count_hashed(data, at)
    return 0


def _count_hashed(data: Bytes, offset: int) -> int:
    """One more than the last symbol of GNU's table: the end of the chain that begins last."""
    bucket_count, first, bloom_words, _ = data.numbers("4I", offset)
    buckets_at = offset + 16 + bloom_words * data.bits // 8
    size = 4 * bucket_count
    part = data.part(buckets_at, size)
    if bucket_count > _MAX_SYMBOLS or len(part) < size:
        raise ElfError("the file ends before its hash table does")
    last: int = max(data.shape(f"{bucket_count}I").unpack(part), default=0)
    if last < first:
        return first
    for index in range(last, _MAX_SYMBOLS):
        if data.numbers("I", buckets_at + size + 4 * (index - first))[0] & 1:
            return index + 1
    raise ElfError(f"more than {_MAX_SYMBOLS} symbols")
