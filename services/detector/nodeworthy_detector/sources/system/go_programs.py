"""The version of a program written in Go, which its build leaves in it (Go, debug/buildinfo); nothing is executed."""

import re

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.system.elf import read_elf

_SECTION = ".go.buildinfo"
_MAGIC = b"\xff Go buildinf:"
_HEADER_BYTES = 32
_INLINE = 2
"""The flag in byte 15 of a build with Go 1.18 or newer: two texts follow the header."""

_MAX_SECTION_BYTES = 256 * 1024
"""Kubernetes' programs, with the most modules, have 40 kB."""

_FRAME_BYTES = 16
"""The mark before and after the list of modules."""

_PSEUDO = re.compile(r"-(?:0\.)?[0-9]{14}-[0-9a-f]{12}")
"""The end of the version of a commit that has no tag: Go modules reference, "Pseudo-versions"."""

_LINKED = re.compile(r"-X[\s=]*[\"']?[^\s=\"']*\.(?:[Gg]it)?[Vv]ersion=v?([0-9]+(?:\.[0-9]+)+)")
"""A version that the build put into a variable, as ``-X main.version=1.1.12``."""

_TAGGED = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)")


def read_go_version(host: Host, path: str) -> str | None:
    """The version that a program's build has noted; ``None`` if it is not there or noted none.

    Raises:
        HostReadError: it cannot be read, or is no ELF file.
    """
    elf = read_elf(host, path)
    section = elf.find(host, _SECTION) if elf else None
    if elf is None or section is None:
        return None
    return parse_go_version(parse_build_info(elf.read(host, section, _MAX_SECTION_BYTES)))


def parse_build_info(data: bytes) -> str:
    """The list of modules and settings in section ``.go.buildinfo``; empty if there is none, or Go is older than 1.18."""
    if data[: len(_MAGIC)] != _MAGIC or len(data) <= _HEADER_BYTES or not data[15] & _INLINE:
        return ""
    _go, position = _text(data, _HEADER_BYTES)
    info, _ = _text(data, position)
    return info[_FRAME_BYTES:-_FRAME_BYTES].decode("utf-8", "replace")


def _text(data: bytes, position: int) -> tuple[bytes, int]:
    """A text behind its length, which is a varint: seven bits per byte, the lowest first."""
    length = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 35:  # noqa: PLR2004 # the last byte; no length needs more than five
            break
    return data[position : position + length], position + length


def parse_go_version(info: str) -> str | None:
    """The version: what the linker was told, else the main module's tag.

    The text::

        path	github.com/opencontainers/runc
        mod	github.com/opencontainers/runc	(devel)
        build	-ldflags="-X main.gitCommit=v1.1.12-0-g51d5e946 -X main.version=1.1.12"
    """
    module = None
    for line in info.splitlines():
        kind, _, rest = line.partition("\t")
        if kind == "build" and rest.startswith("-ldflags") and (linked := _LINKED.search(rest)):
            return linked[1]
        if kind == "mod":
            version = rest.partition("\t")[2].partition("\t")[0]
            module = None if _PSEUDO.search(version) else _TAGGED.match(version)
    return module[1] if module else None
