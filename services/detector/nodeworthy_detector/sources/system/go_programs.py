"""The version of a program written in Go, which its build leaves in it (Go, debug/buildinfo); nothing is executed."""

import re

from nodeworthy.formats.go_builds import FLAGS_AT, HEADER_BYTES, INLINE, MAGIC, parse_list, read_texts
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.system.elf import read_elf

_SECTION = ".go.buildinfo"
_MAX_SECTION_BYTES = 256 * 1024
"""Kubernetes' programs, with the most modules, have 40 kB."""

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
    return parse_go_version(elf.read(host, section, _MAX_SECTION_BYTES))


def parse_go_version(data: bytes) -> str | None:
    """The version in a section ``.go.buildinfo``: what the linker was told, else the main module's tag.

    What builds with Go before 1.18 have noted lies elsewhere, and is not looked for.
    """
    if not data.startswith(MAGIC) or len(data) <= HEADER_BYTES or not data[FLAGS_AT] & INLINE:
        return None
    build = parse_list(read_texts(data)[1])
    linked = _LINKED.search(build.settings.get("-ldflags", ""))
    found = linked or (None if _PSEUDO.search(build.version) else _TAGGED.match(build.version))
    return found[1] if found else None
