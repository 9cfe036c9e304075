"""Conditions that several readings ask: levels of x86-64 and of other architectures, modules that are not loaded."""

from collections.abc import Mapping
from typing import NamedTuple

from nodeworthy.requirements.conditions import has_flags, has_value
from nodeworthy.rules import Operator, Term

Ways = tuple[tuple[Term, ...], ...]
"""Alternatives, one of which has to hold, as in ``match_any``."""

_V2 = ("CX16", "LAHF", "POPCNT", "SSE3", "SSE4", "SSE42", "SSSE3")
_V3 = (*_V2, "AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA3", "LZCNT", "MOVBE")
_V4 = (*_V3, "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512F", "AVX512VL")
X86_FLAGS: Mapping[int, tuple[str, ...]] = {2: _V2, 3: _V3, 4: _V4}
"""What each level adds to the one that every x86-64 CPU has (x86-64 psABI, "Micro-Architecture Levels"), in the flags of
``cpu.cpuid``. OSXSAVE is left out: AVX is there only where the operating system saves its state."""


class Baseline(NamedTuple):
    """What a distribution or a compiler was told to count on."""

    text: str
    """In words, as ``a CPU of level x86-64-v2``."""
    code: str
    """Of the requirement."""
    ways: Ways


def x86_level(level: int) -> Ways:
    """A CPU of this level, 2 to 4: by NFD's flag of the level, or by the flags of which it is made."""
    return ((has_flags("cpu.cpuid", [f"X86_64_V{level}"]),), (has_flags("cpu.cpuid", X86_FLAGS[level]),))


def without_module(name: str) -> Ways:
    """A kernel that has not loaded a module; one without loadable modules has no list of them, only what is built in."""
    sets = ("kernel.loadedmodule", "kernel.enabledmodule")
    return tuple((has_value(one, name, Operator.DOES_NOT_EXIST),) for one in sets)


def _machine(*names: str) -> tuple[Term, ...]:
    return (has_value("system.architecture", "machine", Operator.IN, *names),)


def _word(word: str, flag: str) -> Ways:
    """A hardware capability in Linux's word, or in NFD's flag of it."""
    return ((has_flags("cpu.hwcap", [word]),), (has_flags("cpu.cpuid", [flag]),))


def _power(pattern: str) -> Ways:
    """A POWER processor by its name, which the kernel gives as the mode that it runs in (an LPAR may ask for an older one).

    Not by its capabilities as well: recorded machines do not tell them, and then nothing would be decided.
    """
    return ((has_value("cpu.model", "name", Operator.IN_REGEXP, pattern),),)


_ARM64_ATOMICS = _word("atomics", "ATOMICS")
_ARMV8_2_CRYPTO: Ways = (
    (has_flags("cpu.hwcap", ["aes", "asimdrdm", "atomics", "crc32", "dcpop", "pmull", "sha1", "sha2"]),),
    (has_flags("cpu.cpuid", ["AES", "ASIMDRDM", "ATOMICS", "CRC32", "DCPOP", "PMULL", "SHA1", "SHA2"]),),
)

BASELINES: Mapping[str, Baseline] = {
    **{
        f"x86-64-v{level}": Baseline(f"a CPU of level x86-64-v{level}", "x86-64-level", x86_level(level))
        for level in X86_FLAGS
    },
    "power9": Baseline("a CPU of POWER9 or later", "power-isa", _power("^POWER(9|1[0-9])")),
    "power10": Baseline("a CPU of POWER10 or later", "power-isa", _power("^POWER1[0-9]")),
    "z13": Baseline("a CPU of z13 or later", "z-facility", _word("vx", "VX")),
    "z14": Baseline("a CPU of z14 or later", "z-facility", _word("vxe", "VXE")),
    "z15": Baseline("a CPU of z15 or later", "z-facility", _word("vxe2", "VXE2")),
    # RVA23U64 has the vector extension; what else it has no set of facts tells.
    "rva23": Baseline("a RISC-V CPU of profile RVA23", "riscv-profile", ((has_flags("cpu.hwcap", ["v"]),),)),
    "armv7": Baseline("an Armv7 CPU or later", "arm-version", (_machine("armv7l", "armv8l", "aarch64"),)),
    "armv6": Baseline("an Armv6 CPU or later", "arm-version", (_machine("armv6l", "armv7l", "armv8l", "aarch64"),)),
    "armv8.2-crypto": Baseline("an Armv8.2 CPU with cryptography", "arm64-features", _ARMV8_2_CRYPTO),
    "arm64-lse": Baseline("an Armv8.1 CPU, for its atomic instructions", "arm64-features", _ARM64_ATOMICS),
}
"""By the names that the tables use."""
