"""The oldest kernel that libraries name in their ABI tag, where the loader of the image still looks at it.

glibc before 2.36 stops with "FATAL: kernel too old" if the kernel is older than its own tag, and passes over a library
whose tag is newer than the kernel ("cannot open shared object file", although it is there):
sysdeps/unix/sysv/linux/dl-osinfo.h and elf/dl-load.c, ``open_verify``. From 2.36 on the tag means nothing. Where the
version of libc is not known, the loader's text tells whether it looks.
"""

from posixpath import basename

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_version
from nodeworthy_resolver.inspection.closure.linking import fits
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.elf import has_text
from nodeworthy_resolver.inspection.readings.findings import Findings, weaker
from nodeworthy_resolver.inspection.readings.libcs import GLIBC, running_libc
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_TEXT = b"FATAL: kernel too old"
_IGNORED_SINCE = (2, 36)
_LINUX = 0
_RUNS_EVERYWHERE = (2, 6, 32)
"""The kernel of RHEL 6, the oldest on which images are run (by Singularity); what asks for less asks for nothing."""

_CHECKED = frozenset({Role.LOADER, Role.LIBRARY, Role.PRELOADED})
"""A program's own tag is not looked at, as the kernel maps it; a static program holds the check itself."""


def read_loading(subject: Subject) -> Outcome:
    """The kernel floor of the libraries that are loaded at the start."""
    findings = Findings()
    is_checked = _is_checked(subject, findings)
    floors: dict[Sureness, tuple[tuple[int, int, int], str]] = {}
    for one in subject.start.loaded:
        floor = _floor(subject, one.path)
        if floor is None or floor <= _RUNS_EVERYWHERE:
            continue
        if (one.role in _CHECKED and is_checked) or _is_checking_static(subject, one, findings):
            sureness = weaker(Sureness.PROBABLE, one.sureness) if _has_copy(subject, one, floor) else one.sureness
            floors[sureness] = max(floors.get(sureness, ((0, 0, 0), "")), (floor, one.path))
    findings.requirements.extend(_requirement(*floor, sureness) for sureness, floor in floors.items())
    return findings.outcome()


def _is_checked(subject: Subject, findings: Findings) -> bool:
    """Whether the loader that runs looks at tags."""
    libc = running_libc(subject)
    if libc is not None:
        return libc.kind == GLIBC and libc.numbers[:2] < _IGNORED_SINCE
    loaders = [one.path for one in subject.start.loaded if one.role is Role.LOADER]
    return any(_checks(subject, path, findings) for path in loaders)


def _floor(subject: Subject, path: str) -> tuple[int, int, int] | None:
    elf = subject.elves.get(path)
    tag = elf.notes.abi_tag if elf else None
    return tag[1:] if tag and tag[0] == _LINUX else None


def _has_copy(subject: Subject, one: Loaded, floor: tuple[int, int, int]) -> bool:
    """Whether a library of the same name asks for less: the loader, having passed over the first, may come to it."""
    if one.role is Role.LOADER:
        return False
    own, name = subject.elves[one.path], basename(one.path)
    others = (path for path, elf in subject.elves.items() if path != one.path and fits(elf, own))
    return any((_floor(subject, path) or (0, 0, 0)) < floor for path in others if basename(path) == name)


def _is_checking_static(subject: Subject, one: Loaded, findings: Findings) -> bool:
    elf = subject.elves[one.path]
    return one.role is Role.PROGRAM and elf.is_static and _checks(subject, one.path, findings)


def _checks(subject: Subject, path: str, findings: Findings) -> bool:
    with findings.content(subject, path) as view:
        return has_text(view, _TEXT)


def _requirement(floor: tuple[int, int, int], path: str, sureness: Sureness) -> Requirement:
    version = ".".join(map(str, floor))
    return Requirement(
        code="kernel-floor",
        text=f"Linux {version} or later",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_features=(has_version("kernel.version", "full", version),),
        evidence=(Evidence(path, f"ABI tag Linux {version}", rule="NT_GNU_ABI_TAG, heeded by glibc before 2.36"),),
        remedy="a newer kernel, or a library without the tag (strip --remove-section=.note.ABI-tag)",
    )
