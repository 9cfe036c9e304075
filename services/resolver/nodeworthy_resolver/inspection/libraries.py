"""The list of an image's programs and shared libraries, for the archive of a build."""

import re

from nodeworthy.requirements import Library
from nodeworthy_resolver.inspection.elf import Elf, FileKind
from nodeworthy_resolver.inspection.subject import Subject

_VERSION = re.compile(r"\.so\.([0-9][0-9A-Za-z.]*)$|-([0-9]+(?:\.[0-9]+)+)\.so$")
"""What a file's name says: ``libz.so.1.2.13``, ``libfoo-1.2.so``."""


def list_libraries(subject: Subject) -> tuple[Library, ...]:
    """Every program and library of the image, in the order of their paths."""
    return tuple(
        _describe(path, elf) for path, elf in subject.elves.items() if elf.kind in {FileKind.PROGRAM, FileKind.SHARED}
    )


def _describe(path: str, elf: Elf) -> Library:
    found = _VERSION.search(path)
    versions = sorted({f"{one.library} {one.name}" for one in elf.needed_versions})
    return Library(
        path=path,
        machine=elf.architecture or str(elf.machine),
        name=elf.soname,
        version=(found[1] or found[2]) if found else "",
        needs=elf.needed,
        symbol_versions=tuple(versions),
    )
