"""ELF files: what header, segments, dynamic table, notes, versions, symbols and attributes say. Pure, and safe on any bytes.

Belongs here: the formats and their bounds. Does not belong here: what a file means for an image or a node (closure/,
readings/). ``read_elf`` is cheap, a fifth of a millisecond for a library; symbols and relocations are read on demand.
"""

from nodeworthy_resolver.inspection.elf.content import Content, ElfError
from nodeworthy_resolver.inspection.elf.reading import read_elf
from nodeworthy_resolver.inspection.elf.records import (
    Attributes,
    Elf,
    FileKind,
    NeededVersion,
    Notes,
    Relocation,
    Section,
    Segment,
    Symbol,
)
from nodeworthy_resolver.inspection.elf.relocations import read_initializers, read_relocations
from nodeworthy_resolver.inspection.elf.symbols import read_dynamic_symbols, read_static_symbols
from nodeworthy_resolver.inspection.elf.texts import find_text, has_text

__all__ = [
    "Attributes",
    "Content",
    "Elf",
    "ElfError",
    "FileKind",
    "NeededVersion",
    "Notes",
    "Relocation",
    "Section",
    "Segment",
    "Symbol",
    "find_text",
    "has_text",
    "read_dynamic_symbols",
    "read_elf",
    "read_initializers",
    "read_relocations",
    "read_static_symbols",
]
