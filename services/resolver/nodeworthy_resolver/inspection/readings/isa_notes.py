"""What files themselves say of the instructions they need: GNU properties, and build attributes of Arm and RISC-V.

The property "ISA needed" is checked by the loader of glibc from 2.33 on ("CPU ISA level is lower than required",
sysdeps/x86/dl-prop.h); "ISA used" is never a requirement, and musl knows neither. Build attributes are the linker's sum over
all object files, so also over those whose code is chosen when the program runs.
"""

import re
from collections.abc import Iterator
from typing import Literal

from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_flags, has_value
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.readings.findings import weaker
from nodeworthy_resolver.inspection.readings.levels import BASELINES, Ways, x86_level
from nodeworthy_resolver.inspection.readings.libcs import GLIBC, running_libc
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import NotKeptError

_FIRST_CHECKING = (2, 33)
"""The first glibc whose loader looks at the property (NEWS of 2.33)."""
_HWCAPS = "/glibc-hwcaps/"
"""Folders of which the loader takes only what the CPU can (ld.so(8))."""
_MAX_LEVEL = 4

_V7, _V8 = 10, 14
"""Tag_CPU_arch of Armv7 and Armv8-A."""
_THUMB_2 = 2
"""Tag_THUMB_ISA_use of code with instructions of 32 bits."""
_FIRST_OF_32_BITS = 0xE800
"""The first half of a Thumb instruction of 32 bits is this or more (Arm Architecture Reference Manual, F3.1)."""
_SECOND_OF_BL = 0xC000
"""Both bits are set in the second half of BL and BLX, which Thumb always had."""
_SINCE_V6 = frozenset({"v5", "v6"})

_RISCV_BASE = frozenset(
    """
    i m a f d c g zicsr zifencei zicntr zihpm zmmul zaamo zalrsc zca zcd ziccif ziccrse ziccamoa zicclsm
    """.split()  # noqa: SIM905 # a list of words reads best as words
)
"""What every 64-bit RISC-V CPU has that runs a distribution: RV64GC with the names of its parts (RVA20U64)."""


def read_isa_notes(subject: Subject) -> Outcome:
    """The levels and extensions that files declare."""
    requirements: list[Requirement] = []
    information: list[Information] = []
    unexplored: list[Unexplored] = []
    level: dict[Sureness, tuple[int, str]] = {}
    libc = running_libc(subject)
    for path, elf in subject.elves.items():
        sureness = subject.start.sureness(path)
        needed = needed_level(elf)
        if needed > 1 and _HWCAPS not in path:
            if libc is not None and (libc.kind != GLIBC or libc.numbers[:2] < _FIRST_CHECKING):
                text = f"{path} says that it needs x86-64-v{needed}, which {libc.kind} {libc.version} does not look at"
                information.append(Information("isa-note-unheeded", text, (_property(path, needed),)))
            else:
                grade = _grade(sureness, is_known=libc is not None)
                level[grade] = max(level.get(grade, (0, "")), (needed, path), key=lambda one: one[0])
        if sureness is not None:
            requirements.extend(_arm(subject, path, elf, sureness))
            _add_riscv(path, elf, sureness, requirements, unexplored)
    requirements[:0] = [_level(needed, path, grade) for grade, (needed, path) in level.items()]
    return Outcome(_distinct(requirements), (), tuple(information), tuple(unexplored))


def _distinct(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    """One for each code and sureness: the same is asked by every library."""
    first = {(one.code, one.text, one.sureness): one for one in reversed(requirements)}
    return tuple(reversed(first.values()))


def needed_level(elf: Elf) -> int:
    """The level of x86-64 that a file's GNU property asks for, 1 to 4; 0 where it asks for none."""
    bits = elf.notes.isa_needed if elf.architecture == "amd64" else None
    return min((bits or 0).bit_length(), _MAX_LEVEL)


def _grade(sureness: Sureness | None, *, is_known: bool) -> Sureness:
    """What runs is certain if its libc is known; what a program may load later is advisory."""
    if sureness is None:
        return Sureness.ADVISORY
    return sureness if is_known else Sureness.PROBABLE


def _property(path: str, level: int) -> Evidence:
    return Evidence(path, f"ISA needed: x86-64-v{level}", rule="GNU property 0xc0008002 (x86-64 psABI)")


def _level(level: int, path: str, sureness: Sureness) -> Requirement:
    return Requirement(
        code="x86-64-level",
        text=f"a CPU of level x86-64-v{level}",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_any=x86_level(level),
        evidence=(_property(path, level),),
        remedy="link it without -z x86-64-vN; in a virtual machine, a CPU type that shows the flags",
    )


def _arm(subject: Subject, path: str, elf: Elf, sureness: Sureness) -> Iterator[Requirement]:
    """32-bit Arm code of a later version than the platform says.

    The linker's sum is over code that is chosen at run time too (libgcrypt of Debian's armhf is "v8"), and an assembler
    counts Thumb-2 in wherever the version has it. Armv7 is certain in libc and the loader, and for a program that begins
    with Thumb-2. Armv8 never is, as 32-bit kernels call its CPUs armv7l too (arch/arm/mm/proc-v7.S).
    """
    arch = elf.attributes.arm_arch or 0
    claimed = subject.config.platform
    if elf.architecture != "arm" or arch < _V7:
        return
    version = "v8" if arch >= _V8 else "v7"
    if claimed is not None and claimed.variant not in (_SINCE_V6 if version == "v7" else _SINCE_V6 | {"v7"}):
        return
    roles = {one.role for one in subject.start.loaded if one.path == path}
    if version == "v8":
        grade = Sureness.ADVISORY if Role.LIBRARY in roles else Sureness.PROBABLE
    elif Role.LOADER in roles or elf.soname.startswith("libc."):
        grade = Sureness.CERTAIN
    else:
        is_compiled_so = Role.LIBRARY not in roles and _begins_with_thumb_2(subject, path, elf)
        grade = Sureness.CERTAIN if is_compiled_so else Sureness.PROBABLE
    ways: Ways = BASELINES["armv7"].ways
    if version == "v8":
        ways = ((has_value("system.architecture", "machine", Operator.IN, "armv8l", "aarch64"),),)
    yield Requirement(
        code="arm-version",
        text=f"an Arm{version} CPU or later",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.CRASHES,
        sureness=weaker(grade, sureness),
        match_any=ways,
        evidence=(Evidence(path, f"Tag_CPU_arch {arch}", rule="build attributes of the Arm ABI"),),
        remedy="a build for the older version: Raspberry Pi OS or Alpine armhf instead of Debian armhf",
    )


def _begins_with_thumb_2(subject: Subject, path: str, elf: Elf) -> bool:
    """Whether the first instruction of a program is one of Thumb-2, as ``mov.w fp, #0`` in crt1.o of Debian's armhf.

    An odd address of the entry means Thumb (ELF for the Arm Architecture, "Program entry point").
    """
    offset = elf.offset_of(elf.entry - 1) if elf.entry % 2 and elf.attributes.arm_thumb == _THUMB_2 else None
    if offset is None:
        return False
    try:
        start = subject.tree.read(path, offset, 4)
    except NotKeptError:
        return False
    if len(start) < 4:  # noqa: PLR2004 # one instruction
        return False
    order: Literal["little", "big"] = "little" if elf.order == "<" else "big"
    first, second = int.from_bytes(start[:2], order), int.from_bytes(start[2:], order)
    return first >= _FIRST_OF_32_BITS and second & _SECOND_OF_BL != _SECOND_OF_BL


def riscv_extensions(arch: str) -> frozenset[str]:
    """The extensions of ``rv64i2p1_m2p0_v1p0_zba1p0``, without versions (RISC-V psABI, "Attributes")."""
    parts = arch.lower().split("_")
    first = re.sub(r"^rv(?:32|64|128)", "", parts[0])
    names = {re.sub(r"[0-9]+p[0-9]+$", "", part) for part in parts[1:]}
    return frozenset(
        {*re.findall(r"[a-z](?=[0-9]+p[0-9]+|[a-z]|$)", re.sub(r"[0-9]+p[0-9]+", "", first)), *names} - {""}
    )


def _add_riscv(
    path: str, elf: Elf, sureness: Sureness, requirements: list[Requirement], unexplored: list[Unexplored]
) -> None:
    """The vector extension has a fact; of other extensions no set of facts tells."""
    if elf.architecture != "riscv64":
        return
    extensions = riscv_extensions(elf.attributes.riscv_arch) - _RISCV_BASE
    if "v" in extensions:
        requirements.append(
            Requirement(
                code="riscv-vector",
                text="a RISC-V CPU with the vector extension",
                layer=Layer.INSTRUCTION_SET,
                effect=Effect.CRASHES,
                sureness=Sureness.PROBABLE if sureness is Sureness.CERTAIN else sureness,
                match_features=(has_flags("cpu.hwcap", ["v"]),),
                evidence=(Evidence(path, elf.attributes.riscv_arch, rule="Tag_RISCV_arch (RISC-V psABI)"),),
                remedy="a build for rv64gc",
            )
        )
    others = sorted(name for name in extensions if name != "v" and not name.startswith("zv"))
    if others and sureness is Sureness.CERTAIN:
        why = f"{path} was built for {', '.join(others)}, and no facts of a node tell these extensions"
        unexplored.append(Unexplored("whether the CPU has all extensions", why))
