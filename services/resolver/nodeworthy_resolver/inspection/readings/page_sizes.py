"""Page sizes: whether the segments of programs and libraries can be mapped with pages of 4, 16 and 64 KiB.

For every PT_LOAD, ``(p_vaddr - p_offset) mod page`` has to be 0: mmap(2) takes whole pages only. The kernel refuses a
program otherwise (EINVAL), glibc a library ("ELF load command address/offset not page-aligned"). glibc up to 2.34 also
wants ``p_align mod page`` to be 0 and the first rule for ``p_align`` (elf/dl-load.c, ``_dl_map_object_from_fd``). musl does
not look and maps the wrong bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nodeworthy.requirements import Defect, Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_value
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.elf import Elf, FileKind, Segment
from nodeworthy_resolver.inspection.readings.findings import weaker
from nodeworthy_resolver.inspection.readings.libcs import GLIBC, MUSL, Libc, running_libc
from nodeworthy_resolver.inspection.readings.machines import is_sample
from nodeworthy_resolver.inspection.subject import Outcome, Subject

PAGE_SIZES = (4096, 16384, 65536)
"""Bytes; what Linux offers on arm64 (arch/arm64/Kconfig), LoongArch and MIPS, and, but for 16 KiB, on Power."""

_SEVERAL = frozenset({"arm64", "arm", "ppc64le", "ppc64", "loong64", "mips", "mipsle", "mips64", "mips64le"})
"""Architectures whose kernels are built with pages of several sizes; all others have 4 KiB."""
_LAST_STRICT = (2, 34)
"""The last glibc that looks at ``p_align``; from 2.35 on only the page counts (elf/dl-load.c)."""
_TOLD = 5
"""Files that are named as evidence."""


class _Misfit(NamedTuple):
    path: str
    segment: Segment
    sureness: Sureness
    why: str


def read_page_sizes(subject: Subject) -> Outcome:
    """The page sizes with which the files can be mapped; with none of them, the file is broken."""
    libc = running_libc(subject)
    misfits = {size: list(_misfits(subject, libc, size)) for size in PAGE_SIZES}
    defects = tuple(_defect(one) for one in misfits[PAGE_SIZES[0]])
    broken = {one.path for one in misfits[PAGE_SIZES[0]]}
    requirements = []
    for sureness in (Sureness.CERTAIN, Sureness.PROBABLE):
        found = {
            size: [one for one in misfits[size] if one.sureness is sureness and one.path not in broken]
            for size in PAGE_SIZES[1:]
        }
        if any(found.values()):
            requirements.append(_requirement(found, sureness))
    doubts = tuple(
        Unexplored(f"whether what starts loads {one.path}", f"it cannot be loaded: {one.why}")
        for one in misfits[PAGE_SIZES[0]]
        if one.sureness is not Sureness.CERTAIN and not is_sample(one.path)
    )
    return Outcome(tuple(requirements), defects, unexplored=doubts[:_TOLD])


def _misfits(subject: Subject, libc: Libc | None, size: int) -> Iterator[_Misfit]:
    """The files that cannot be mapped with pages of a size: each with its first segment."""
    roles = {one.path: one.role for one in subject.start.loaded}
    main = next((subject.elves[path].machine for path in roles if path in subject.elves), None)
    for path, elf in subject.elves.items():
        if elf.kind not in {FileKind.PROGRAM, FileKind.SHARED}:
            continue
        if size != PAGE_SIZES[0] and elf.architecture not in _SEVERAL:
            continue
        sureness = subject.start.sureness(path)
        if sureness is None and main not in {None, elf.machine}:
            continue
        by_loader = roles.get(path) not in {Role.PROGRAM, Role.INTERPRETER, Role.LOADER}
        if by_loader and libc is not None and libc.kind == MUSL:
            sureness = weaker(Sureness.PROBABLE, sureness)
        is_strict = by_loader and libc is not None and libc.kind == GLIBC and libc.numbers[:2] <= _LAST_STRICT
        found = first_misfit(elf, size, is_strict=is_strict)
        if found is not None:
            yield _Misfit(path, found[0], sureness or Sureness.PROBABLE, found[1])


def first_misfit(elf: Elf, size: int, *, is_strict: bool) -> tuple[Segment, str] | None:
    """The first segment that pages of a size in bytes do not fit, and why; ``is_strict``: by glibc's rule up to 2.34."""
    for segment in elf.loads():
        if not segment.file_size:
            continue
        distance = segment.address - segment.offset
        if is_strict and segment.align % size:
            return segment, f"p_align {segment.align:#x} is no multiple of {size:#x}"
        if distance % (max(segment.align, 1) if is_strict else size):
            return segment, f"p_vaddr {segment.address:#x} and p_offset {segment.offset:#x} differ within a page"
    return None


def _defect(one: _Misfit) -> Defect:
    return Defect(
        code="segments-misaligned",
        text=f"{one.path} can be mapped on no node: {one.why}",
        effect=Effect.DOES_NOT_START,
        sureness=one.sureness,
        evidence=(_evidence(one),),
        remedy="strip before patchelf or auditwheel, not after; take the file of an intact package",
    )


def _evidence(one: _Misfit) -> Evidence:
    return Evidence(one.path, one.why, one.segment.offset, rule="(p_vaddr - p_offset) mod page = 0 for every PT_LOAD")


def _requirement(found: dict[int, list[_Misfit]], sureness: Sureness) -> Requirement:
    fitting = [size for size in PAGE_SIZES if not found.get(size)]
    misfits = {one.path: one for ones in found.values() for one in ones}
    return Requirement(
        code="page-size",
        text=f"memory pages of {' or '.join(f'{size // 1024} KiB' for size in fitting)}",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_features=(has_value("memory.page", "size", Operator.IN, *map(str, fitting)),),
        evidence=tuple(map(_evidence, list(misfits.values())[:_TOLD])),
        remedy="link with -z max-page-size=65536, or patchelf --page-size 65536; a kernel with pages of 4 KiB",
    )
