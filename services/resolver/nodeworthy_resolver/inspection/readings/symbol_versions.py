"""Versions of symbols that files beside the start need and the image's libraries do not define.

What runs at the start is linked as the loader does it (closure/). The other programs and libraries of an image are held
against the libraries of the same name and machine, wherever those stand: a version that none of them has is missing on every
node, once the file is used.
"""

from collections.abc import Mapping

from nodeworthy.requirements import Defect, Sureness, Unexplored
from nodeworthy_resolver.inspection.closure import faults
from nodeworthy_resolver.inspection.elf import Elf, FileKind, NeededVersion
from nodeworthy_resolver.inspection.elf.versions import newest_of_kind
from nodeworthy_resolver.inspection.readings.machines import is_sample
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_Key = tuple[int, int, str, str]
"""Machine, bits, byte order, name of the library."""
_MAX_TOLD = 20
"""Defects of one image; one stage built on another release gives one for each of its files."""


def read_symbol_versions(subject: Subject) -> Outcome:
    """Defects of files that nothing says to run, so never certain."""
    libraries: dict[_Key, list[tuple[str, Elf]]] = {}
    for path, elf in subject.elves.items():
        if elf.soname:
            libraries.setdefault(_key(elf, elf.soname), []).append((path, elf))
    defects: list[Defect] = []
    for path, elf in subject.elves.items():
        if elf.kind not in {FileKind.PROGRAM, FileKind.SHARED} or is_sample(path):
            continue
        if subject.start.sureness(path) is not None:
            continue
        for version, library, defined in _missing(elf, libraries):
            newest = newest_of_kind(defined, version.name)
            defects.append(faults.version_missing(path, version, library, newest, Sureness.PROBABLE))
        if len(defects) >= _MAX_TOLD:
            break
    told = tuple(defects[:_MAX_TOLD])
    doubts = tuple(Unexplored("whether what starts uses a file that cannot be used", one.text) for one in told)
    return Outcome(defects=told, unexplored=doubts)


def _key(elf: Elf, name: str) -> _Key:
    return elf.machine, elf.bits, elf.order, name


def _missing(
    elf: Elf, libraries: Mapping[_Key, list[tuple[str, Elf]]]
) -> list[tuple[NeededVersion, str, tuple[str, ...]]]:
    """Of each library the newest version that no file of its name defines: with that file's path and versions."""
    absent: dict[str, list[NeededVersion]] = {}
    for version in elf.needed_versions:
        offered = libraries.get(_key(elf, version.library), ())
        if version.is_weak or not offered or any(not one.defined_versions for _, one in offered):
            continue
        if not any(version.name in one.defined_versions for _, one in offered):
            absent.setdefault(version.library, []).append(version)
    found = []
    for name, versions in absent.items():
        path, library = libraries[_key(elf, name)][0]
        worst = newest_of_kind([version.name for version in versions])
        found.append((next(v for v in versions if v.name == worst), path, library.defined_versions))
    return found
