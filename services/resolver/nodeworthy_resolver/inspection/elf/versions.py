"""Versions of symbols (Linux Standard Base, "Symbol Versioning"): what a file needs and what it defines.

Both tables are chains: each record says how far the next one is, and where its names (auxiliary records) begin.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from nodeworthy_resolver.inspection.elf.content import Bytes, ElfError, text_of
from nodeworthy_resolver.inspection.elf.records import NeededVersion

_MAX_RECORDS = 4096
"""Of one chain; glibc defines some 45 versions, libstdc++ 60."""
_WEAK, _FILE_ITSELF = 2, 1
"""VER_FLG_WEAK and VER_FLG_BASE."""


def read_needed_versions(data: Bytes, offset: int, names: bytes) -> tuple[NeededVersion, ...]:
    """The versions that are needed of libraries: Elf_Verneed (16 bytes) with its Elf_Vernaux (16 bytes)."""
    found: list[NeededVersion] = []
    for at, (_, count, library, auxiliary, _) in _chain(data, "HHIII", offset, 4):
        if len(found) + count > _MAX_RECORDS:
            raise ElfError(f"more than {_MAX_RECORDS} needed versions")
        for _, (_, flags, _, name, _) in islice(_chain(data, "IHHII", at + auxiliary, 4), count):
            found.append(NeededVersion(text_of(names, library), text_of(names, name), bool(flags & _WEAK)))
    return tuple(found)


def read_defined_versions(data: Bytes, offset: int, names: bytes) -> tuple[str, ...]:
    """The versions that a library defines: Elf_Verdef (20 bytes) with the name in its first Elf_Verdaux (8 bytes)."""
    found = []
    for at, (_, flags, _, _, _, auxiliary, _) in _chain(data, "HHHHIII", offset, 6):
        if not flags & _FILE_ITSELF:
            found.append(text_of(names, data.numbers("II", at + auxiliary)[0]))
    return tuple(filter(None, found))


def _chain(data: Bytes, letters: str, offset: int, following: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The records of a chain; ``following`` is the place of the number of bytes to the next one."""
    for _ in range(_MAX_RECORDS):
        record = data.numbers(letters, offset)
        yield offset, record
        if not record[following]:
            return
        offset += record[following]
    raise ElfError(f"a chain of more than {_MAX_RECORDS} versions, at offset {offset}")


def newest_of_kind(names: Sequence[str], like: str = "") -> str:
    """The highest of versions as ``GLIBC_2.34``, of those with the prefix of ``like``; empty where there is none.

    Names without a number, as ``GLIBC_PRIVATE``, count as the lowest.
    """
    prefix = like.rpartition("_")[0]
    kind = [name for name in names if not like or name.rpartition("_")[0] == prefix]
    return max(kind, key=_numbers, default="")


def _numbers(name: str) -> tuple[int, ...]:
    text = name.rpartition("_")[2]
    return tuple(int(part[:9]) for part in text.split(".") if part.isdecimal())
