"""Symbols that no loaded object has: musl looks all of them up at the start and ends with 127 if one is missing.

glibc is not asked: it binds most functions at their first call, and a missing one may never be called.
"""

from itertools import islice
from typing import NamedTuple

from nodeworthy_resolver.inspection.closure.linking import Links
from nodeworthy_resolver.inspection.elf import ElfError, read_dynamic_symbols, read_relocations
from nodeworthy_resolver.inspection.elf.dynamic import PLT_BYTES, REL_BYTES, RELA_BYTES
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree

_ARCHITECTURES = frozenset({"386", "amd64", "arm", "arm64", "ppc64le", "riscv64", "s390x"})
"""Those without symbols that the linker makes up (MIPS has some)."""
_MAX_ENTRIES = 3_000_000
"""Symbols and relocations of one program and its libraries: some seconds of work. Real ones have 100,000."""
_SMALLEST = 8
"""Bytes of the smallest relocation, Elf32_Rel."""


class Unbound(NamedTuple):
    """A symbol that nothing defines."""

    path: str
    name: str


def find_unbound(tree: Tree, links: Links) -> tuple[Unbound, ...]:
    """The symbols that relocations of the loaded objects ask for, not weakly, and that none of them defines.

    Nothing where an object is not known, or its tables cannot be read or are too long.
    """
    if not links.is_complete:
        return ()
    wanted: dict[str, set[str]] = {}
    defined: set[str] = set()
    left = _MAX_ENTRIES
    for one in links.objects.values():
        if one.elf.architecture not in _ARCHITECTURES:
            return ()
        try:
            with tree.map(one.path) as content:
                symbols = read_dynamic_symbols(content, one.elf)
                asked = {found.symbol for found in islice(read_relocations(content, one.elf), left)}
        except (ElfError, NotKeptError):
            return ()
        left -= len(symbols) + sum(one.elf.value(tag) for tag in (RELA_BYTES, REL_BYTES, PLT_BYTES)) // _SMALLEST
        if left <= 0:
            return ()
        imports = (symbols[index] for index in asked if 0 < index < len(symbols))
        wanted[one.path] = {symbol.name for symbol in imports if symbol.is_imported and not symbol.is_weak}
        defined.update(symbol.name for symbol in symbols if symbol.section and symbol.binding)
    return tuple(Unbound(path, name) for path, names in wanted.items() for name in sorted(names - defined))
