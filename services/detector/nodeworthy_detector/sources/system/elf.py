"""ELF files: the sections of one, and the names of the versions that a library offers.

System V ABI, chapter 4 (files and sections), and the Linux Standard Base, "Symbol Versioning", for ``.gnu.version_d``. A
file is never read whole: these tables are a few hundred kilobytes of libraries of megabytes.
"""

import struct
from collections.abc import Sequence

import msgspec

from nodeworthy_detector.architecture import parse_elf_machine
from nodeworthy_detector.hostfs import Host, HostReadError

_HEADER_BYTES = 64
_MAX_SECTIONS = 1024
"""Libraries and programs have some 30; object files of large programs, which nobody installs, more."""

_MAX_TABLE_BYTES = 4 * 1024 * 1024
"""Of one table of names; the largest libstdc++ has 400 kB."""

_VERSION_DEFINITIONS = 0x6FFFFFFD
"""The type of section .gnu.version_d: SHT_GNU_verdef in <elf.h>."""

_FILE_ITSELF = 1
"""The flag of the definition that names the library, not a version: VER_FLG_BASE."""

_MAX_DEFINITIONS = 1024
"""glibc has about 45 versions, libstdc++ 60."""


class Section(msgspec.Struct, frozen=True):
    """One line of the section table: offsets and sizes in bytes."""

    name: int
    kind: int
    offset: int
    size: int
    link: int
    """The number of the section with its names."""


class Header(msgspec.Struct, frozen=True):
    """What of an ELF header leads to the section table."""

    machine: str | None
    """As ``uname -m`` says it."""
    order: str
    """``<`` or ``>``, as module struct writes byte orders."""
    is_64_bit: bool
    offset: int
    count: int
    names: int
    """The number of the section that holds the names of all sections."""

    @property
    def entry_bytes(self) -> int:
        """The size of one line of the table, which the specification fixes for each class."""
        return 64 if self.is_64_bit else 40


class Elf(msgspec.Struct, frozen=True):
    """One ELF file of a host."""

    path: str
    header: Header
    sections: tuple[Section, ...]

    def read(self, host: Host, section: Section, limit: int = _MAX_TABLE_BYTES) -> bytes:
        """The bytes of one section, at most ``limit``.

        Raises:
            HostReadError: the file cannot be read.
        """
        return host.read_part(self.path, section.offset, min(section.size, limit)) or b""

    def find(self, host: Host, name: str) -> Section | None:
        """The section of this name.

        Raises:
            HostReadError: the file cannot be read.
        """
        names = self.read(host, self.sections[self.header.names]) if self.header.names < len(self.sections) else b""
        return next((section for section in self.sections if text_at(names, section.name) == name), None)


def read_elf(host: Host, path: str) -> Elf | None:
    """The file's sections; ``None`` if it is not there.

    Raises:
        HostReadError: it cannot be read, or is no ELF file with sections.
    """
    start = host.read_start(path, _HEADER_BYTES)
    if start is None:
        return None
    header = parse_header(start)
    if header is None:
        raise HostReadError(path, "is no ELF file with sections")
    table = host.read_part(path, header.offset, header.count * header.entry_bytes) or b""
    return Elf(path, header, parse_sections(header, table))


def parse_header(data: bytes) -> Header | None:
    """The header in a file's first 64 bytes; ``None`` if they are no ELF header, or the file has no sections."""
    if len(data) < _HEADER_BYTES or data[:4] != b"\x7fELF" or data[4] not in {1, 2} or data[5] not in {1, 2}:
        return None
    is_64_bit, order = data[4] == 2, "<" if data[5] == 1 else ">"  # noqa: PLR2004 # class and byte order, <elf.h>
    (offset,) = struct.unpack_from(f"{order}Q" if is_64_bit else f"{order}I", data, 40 if is_64_bit else 32)
    entry_bytes, count, names = struct.unpack_from(f"{order}HHH", data, 58 if is_64_bit else 46)
    header = Header(parse_elf_machine(data), order, is_64_bit, offset, count, names)
    return header if entry_bytes == header.entry_bytes and 0 < count <= _MAX_SECTIONS else None


def parse_sections(header: Header, table: bytes) -> tuple[Section, ...]:
    """The lines of the section table that are there whole."""
    shape = struct.Struct(f"{header.order}IIQQQQIIQQ" if header.is_64_bit else f"{header.order}IIIIIIIIII")
    whole = table[: len(table) - len(table) % shape.size]
    return tuple(
        Section(name, kind, offset, size, link)
        for name, kind, _flags, _address, offset, size, link, *_ in shape.iter_unpack(whole)
    )


def read_versions(host: Host, elf: Elf) -> tuple[str, ...]:
    """The versions of its symbols that a library defines, such as ``GLIBC_2.36``.

    Raises:
        HostReadError: the file cannot be read.
    """
    for section in elf.sections:
        if section.kind == _VERSION_DEFINITIONS and section.link < len(elf.sections):
            names = elf.read(host, elf.sections[section.link])
            return parse_versions(elf.header.order, elf.read(host, section), names)
    return ()


def parse_versions(order: str, definitions: bytes, names: bytes) -> tuple[str, ...]:
    """The names of version definitions: a chain of Elf_Verdef (20 bytes), each with an Elf_Verdaux that has its name."""
    found: list[str] = []
    position = 0
    for _ in range(_MAX_DEFINITIONS):
        if position + 20 > len(definitions):
            break
        flags, auxiliary, following = struct.unpack_from(f"{order}2xH8xII", definitions, position)
        if not flags & _FILE_ITSELF and position + auxiliary + 4 <= len(definitions):
            found.append(text_at(names, *struct.unpack_from(f"{order}I", definitions, position + auxiliary)))
        if not following:
            break
        position += following
    return tuple(filter(None, found))


def text_at(names: bytes, position: int) -> str:
    """The text that begins there in a table of names; empty where the table has none."""
    end = names.find(b"\0", position)
    return names[position:end].decode("utf-8", "replace") if end > position else ""


def newest_version(names: Sequence[str], prefix: str) -> str | None:
    """The highest number among names as ``GLIBC_2.36``; others with the prefix (``GLIBC_PRIVATE``) are passed over."""
    numbers = []
    for name in names:
        text = name.removeprefix(f"{prefix}_")
        if text != name and text.isascii() and all(part.isdigit() for part in text.split(".")):
            numbers.append(tuple(int(part[:9]) for part in text.split(".")))
    return ".".join(map(str, max(numbers))) if numbers else None
