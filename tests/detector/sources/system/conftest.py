"""What the tests of this source share: small ELF files, as libraries and programs written in Go are."""

import struct
from collections.abc import Callable, Mapping, Sequence

import pytest

VERSION_DEFINITIONS = 0x6FFFFFFD
_PROGRAM_DATA = 1
_NAMES = 3


@pytest.fixture(scope="session")
def make_elf() -> Callable[..., bytes]:
    """``make_elf(sections, versions)`` gives the bytes of a library."""
    return _make_elf


@pytest.fixture(scope="session")
def make_versions() -> Callable[..., tuple[bytes, bytes]]:
    """``make_versions(names)`` gives a table of names and the version definitions that use it."""
    return _make_versions


@pytest.fixture(scope="session")
def make_go_program() -> Callable[[str], bytes]:
    """``make_go_program(info)`` gives the bytes of a program with this list of modules and settings."""
    return lambda info: _make_elf({".go.buildinfo": _make_build_info(info)})


@pytest.fixture(scope="session")
def make_build_info() -> Callable[[str], bytes]:
    """``make_build_info(info)`` gives the section ``.go.buildinfo`` alone."""
    return _make_build_info


def _make_elf(
    sections: Mapping[str, bytes] | None = None,
    versions: Sequence[str] = (),
    *,
    machine: int = 62,
    bits: int = 64,
    order: str = "<",
) -> bytes:
    """A shared library with these sections, and with symbols of these versions; machine 62 is x86-64 (<elf.h>)."""
    rows: list[tuple[str, int, bytes, int]] = [("", 0, b"", 0)]
    rows += [(name, _PROGRAM_DATA, data, 0) for name, data in (sections or {}).items()]
    if versions:
        strings, definitions = _make_versions(versions, order)
        rows += [(".dynstr", _NAMES, strings, 0), (".gnu.version_d", VERSION_DEFINITIONS, definitions, len(rows))]
    names = b"".join(name.encode() + b"\0" for name in [*(row[0] for row in rows), ".shstrtab"])
    rows.append((".shstrtab", _NAMES, names, 0))
    head = 64 if bits == 64 else 52
    body, table = b"", b""
    for name, kind, data, link in rows:
        row = struct.Struct(f"{order}IIQQQQIIQQ" if bits == 64 else f"{order}10I")
        position = 0 if not name else names.index(b"\0" + name.encode() + b"\0") + 1
        table += row.pack(position, kind, 0, 0, head + len(body), len(data), link, 0, 1, 0)
        body += data
    identity = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    fields = "HHIQQQIHHHHHH" if bits == 64 else "HHIIIIIHHHHHH"
    entry = 64 if bits == 64 else 40
    rest = struct.pack(
        order + fields, 3, machine, 1, 0, 0, head + len(body), 0, head, 0, 0, entry, len(rows), len(rows) - 1
    )
    return identity + rest + body + table


def _make_versions(versions: Sequence[str], order: str = "<") -> tuple[bytes, bytes]:
    """The table of names, and the chain of version definitions; the first one names the library itself."""
    strings, chain = b"\0", b""
    every = ["libtest.so.1", *versions]
    for number, version in enumerate(every, 1):
        is_last = number == len(every)
        chain += struct.pack(f"{order}HHHHIII", 1, int(number == 1), number, 1, 0, 20, 0 if is_last else 28)
        chain += struct.pack(f"{order}II", len(strings), 0)
        strings += version.encode() + b"\0"
    return strings, chain


def _make_build_info(info: str) -> bytes:
    """As Go 1.18 and newer writes it: two texts behind a header."""
    framed = bytes(16) + info.encode() + bytes(16)
    header = b"\xff Go buildinf:" + bytes([8, 2]) + bytes(16)
    return header + _text(b"go1.22.4") + _text(framed)


def _text(data: bytes) -> bytes:
    length, varint = len(data), b""
    while length >= 0x80:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return varint + bytes([length]) + data
