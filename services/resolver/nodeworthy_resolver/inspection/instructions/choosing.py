"""Which files are looked at, in which order, and how sure it is that they run."""

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from nodeworthy.requirements import Sureness
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.subject import Subject

_MODULES = {
    re.compile(r"^(?:python|pypy)[\d.]*$"): re.compile(r"/(?:site|dist)-packages/|/lib-dynload/"),
    re.compile(r"^node(?:js)?$"): re.compile(r"/node_modules/"),
}
"""What an interpreter loads by itself: the name of its program, and the folders of its extension modules."""
_ANY_MODULE = re.compile("|".join(folders.pattern for folders in _MODULES.values()))
_PACKAGE = re.compile(r".*?/(?:(?:site|dist)-packages|node_modules)/(?:@[^/]+/)?[^/]+(?=/)")
_SYSTEM = re.compile(r"^/(?:usr/)?(?:s?bin|lib(?:exec|32|64|x32)?)/")
"""Folders of the distribution: built for its baseline, and mostly not run."""
_HELPERS = re.compile(r"/(?:lib/modules|lib/firmware|usr/lib/debug)/")


class File(NamedTuple):
    """One file to look at."""

    path: str
    elf: Elf
    sureness: Sureness
    role: Role | None
    """``None`` where nothing at the start loads it."""

    @property
    def is_program(self) -> bool:
        """Whether the start executes it."""
        return self.role in {Role.PROGRAM, Role.INTERPRETER}


def started(subject: Subject, sureness: Sureness) -> Iterator[File]:
    """What the start runs so surely, in its order."""
    for one in subject.start.loaded:
        if one.sureness is sureness and one.path in subject.elves:
            yield File(one.path, subject.elves[one.path], sureness, one.role)


def others(subject: Subject) -> list[File]:
    """Extension modules and other programs: those that the started interpreter may load first, the distribution's last."""
    known = {one.path for one in subject.start.loaded}
    modules = _loadable(subject.start.loaded)
    found = []
    for path, elf in subject.elves.items():
        is_module = bool(_ANY_MODULE.search(path))
        if path in known or _HELPERS.search(path) or not (is_module or elf.is_program):
            continue
        is_loadable = any(folders.search(path) for folders in modules)
        rank = 0 if is_loadable else 2 if _SYSTEM.match(path) else 1
        found.append((rank, File(path, elf, Sureness.PROBABLE if is_loadable else Sureness.ADVISORY, None)))
    return [file for _, file in sorted(found, key=lambda one: one[0])]


def owner_of(path: str) -> str:
    """The package whose extension module a file is, as ``/usr/lib/python3/dist-packages/numpy``; of others, the file."""
    found = _PACKAGE.match(path)
    return found.group() if found else path


def _loadable(loaded: tuple[Loaded, ...]) -> list[re.Pattern[str]]:
    names = {posixpath.basename(one.path) for one in loaded if one.role in {Role.PROGRAM, Role.INTERPRETER}}
    return [folders for program, folders in _MODULES.items() if any(program.match(name) for name in names)]
