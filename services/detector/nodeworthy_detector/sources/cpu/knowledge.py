"""What x86 flags mean: the table in ``x86.json``.

It tells the CPUID bit and the word in /proc/cpuinfo of each of NFD's names. Four of those are read from other bits here
than NFD reads them from, because its detector tests the wrong ones: XSAVE, OSXSAVE, AMXFP8 and FXSROPT.
"""

from pathlib import Path
from typing import Literal

import msgspec

Register = Literal["eax", "ebx", "ecx", "edx"]


class Flag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of NFD's flags."""

    name: str
    bits: tuple[tuple[int, int, Register, int], ...]
    """(leaf, subleaf, register, bit); one of them is enough."""
    every: bool = False
    """All of the bits are needed."""
    needs: tuple[str, ...] = ()
    """Flags that stand earlier in the table, ``vendor:AMD``, ``state:avx`` or ``state:avx512``: without them the bits do
    not count."""
    cpuinfo: str = ""
    """The word in /proc/cpuinfo that says the same; empty if Linux does not print it."""


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One level of the x86-64 psABI; it includes the levels below it."""

    name: str
    adds: frozenset[str]


class Knowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    origin: str
    flags: tuple[Flag, ...]
    levels: tuple[Level, ...]
    vendors: dict[str, str]
    """The letters of leaf 0, or those of a hypervisor, to NFD's name."""

    def vendor(self, letters: str) -> str | None:
        """NFD's name for a vendor; a vendor that NFD does not know goes by its own letters, nobody by a placeholder."""
        return self.vendors.get(letters) or legal(letters) or None

    def levels_of(self, flags: frozenset[str]) -> frozenset[str]:
        """The psABI levels that these flags reach, each only with those below it."""
        reached: set[str] = set()
        if not flags & {"SYSEE", "SYSCALL"}:
            return frozenset()
        for level in self.levels:
            if not level.adds <= flags:
                break
            reached.add(level.name)
        return frozenset(reached)


def legal(text: str) -> str:
    """The text with every run of letters that a label value may not have as one ``_``, and none of ``-_.`` at its ends.

    >>> legal("IBM/S390"), legal("z/VM    6.1.0   ")
    ('IBM_S390', 'z_VM_6.1.0')
    """
    allowed = "-_."
    letters = [letter if letter.isascii() and (letter.isalnum() or letter in allowed) else " " for letter in text]
    return "_".join("".join(letters).split()).strip(allowed)


def load() -> Knowledge:
    """Read the table; 0.3 ms."""
    # Not importlib.resources, whose import alone takes 4 ms.
    return msgspec.json.decode(Path(__file__).with_name("x86.json").read_bytes(), type=Knowledge)


def is_slow_avx(vendor: str | None, family: int, model: int) -> bool:
    """Whether a processor with AVX runs 256-bit instructions in two halves (NFD's ``AVXSLOW``).

    Intel before Haswell (family 6, model 60); AMD before Zen 2 (family 23, model 49).
    """
    if vendor == "Intel":
        return family == 6 and model < 60  # noqa: PLR2004 # docstring
    return vendor == "AMD" and (family, model) < (23, 49)


def is_safe_from_tsa(family: int, model: int) -> bool:
    """Whether an AMD processor cannot have transient scheduler attacks, whatever its bits say.

    Families below 0x19, and 0x1A but for models 0x50 to 0x5F and from 0x80 on (AMD, "Transient scheduler attacks").
    """
    if family < 0x19:  # noqa: PLR2004 # docstring
        return True
    return family == 0x1A and (model <= 0x4F or 0x60 <= model <= 0x7F)  # noqa: PLR2004 # docstring
