"""Features as conditions on a node, and in words."""

from collections.abc import Iterable

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_flags, has_version
from nodeworthy.rules import Term
from nodeworthy_resolver.inspection.instructions.arm64_words import ONLY_OURS
from nodeworthy_resolver.inspection.instructions.x86_features import LEVELS, SILENT

ID_REGISTERS = "CPUID"
"""Arm: the kernel emulates reads of ID registers (HWCAP_CPUID), since Linux 4.11."""
_EMULATED_SINCE = "4.11"

TESTED = frozenset({ID_REGISTERS, "RTM", "MTE", "SVE", "SME", "RDRAND", "RDSEED"})
"""What runtime libraries (glibc, libgcc, libstdc++) hold in ordinary functions behind a test of a variable."""


def requires(
    architecture: str, features: Iterable[str], sureness: Sureness, evidence: Iterable[Evidence]
) -> list[Requirement]:
    """The requirements of some features: one for those of the CPU, one for what the kernel has to do."""
    wanted = frozenset(features)
    by_kernel = wanted & {ID_REGISTERS} if architecture == "arm64" else frozenset[str]()
    silent = wanted & SILENT
    crashing = wanted - by_kernel - silent
    shown = tuple(evidence)
    found = []
    if crashing:
        found.append(_crashing(architecture, crashing, sureness, shown))
    if by_kernel:
        found.append(_emulating(sureness, shown))
    if silent:
        found.append(_silent(silent, shown))
    return found


def _crashing(
    architecture: str, features: frozenset[str], sureness: Sureness, shown: tuple[Evidence, ...]
) -> Requirement:
    level = level_of(features) if architecture == "amd64" else ""
    words = in_words(features)
    return Requirement(
        code="cpu-instructions",
        text=f"a CPU with {words}" + (f" (level {level})" if level else ""),
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.CRASHES,
        sureness=sureness,
        match_features=_terms(architecture, features),
        evidence=shown,
        remedy="run it where the CPU, or the virtual machine's CPU type, has them; or build it for an older CPU (-march=)",
    )


def _terms(architecture: str, features: frozenset[str]) -> tuple[Term, ...]:
    ours = features & ONLY_OURS if architecture == "arm64" else frozenset[str]()
    terms = [has_flags("cpu.cpuid", features - ours)] if features - ours else []
    # NFD drops these capabilities: its facts never show them, whatever the CPU has.
    return (*terms, *([has_flags("cpu.hwcap", {one.lower() for one in ours})] if ours else []))


def _emulating(sureness: Sureness, shown: tuple[Evidence, ...]) -> Requirement:
    return Requirement(
        code="arm64-id-registers",
        text=f"a kernel that lets programs read the CPU's ID registers, as Linux {_EMULATED_SINCE} and later do",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.CRASHES,
        sureness=sureness,
        match_any=(
            (has_flags("cpu.cpuid", [ID_REGISTERS]),),
            (has_version("kernel.version", "full", _EMULATED_SINCE),),
        ),
        evidence=shown,
        remedy="a newer kernel; or a version of the program that asks getauxval(3) first",
    )


def _silent(features: frozenset[str], shown: tuple[Evidence, ...]) -> Requirement:
    return Requirement(
        code="cpu-instructions-silent",
        text=f"a CPU with {in_words(features)}: another one computes something else without a word",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.WRONG_RESULTS,
        sureness=Sureness.ADVISORY,
        match_features=(has_flags("cpu.cpuid", features),),
        evidence=shown,
        remedy="build it for an older CPU (-march=)",
    )


def level_of(features: Iterable[str]) -> str:
    """The lowest x86-64 level that has all of some features, as ``x86-64-v3``; empty where none has, or the first does."""
    left = set(features)
    for name in ("X86_64_V2", "X86_64_V3", "X86_64_V4"):
        left -= LEVELS[name]
        if not left:
            return name.lower().replace("x86_64_", "x86-64-") if features else ""
    return ""


def in_words(features: Iterable[str]) -> str:
    """``AVX, AVX2 and BMI2``."""
    names = sorted(features)
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
