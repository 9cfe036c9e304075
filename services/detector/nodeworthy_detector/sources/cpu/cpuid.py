"""What the CPUID instruction of one x86 processor answered, as plain data.

Sources of the layout: Intel SDM volume 2, instruction CPUID; AMD APM volume 3, appendix E.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

_EXTENDED = 0x8000_0000
_HYPERVISOR = 0x4000_0000


class Registers(NamedTuple):
    """The four answers of one leaf."""

    eax: int = 0
    ebx: int = 0
    ecx: int = 0
    edx: int = 0


_NOTHING = Registers()


class CpuidTable(msgspec.Struct, frozen=True):
    """Answers by (leaf, subleaf), and XCR0: the register states that the kernel saves for programs."""

    answers: Mapping[tuple[int, int], Registers]
    xcr0: int = 0

    def registers(self, leaf: int, subleaf: int = 0) -> Registers:
        """One leaf; zeros beyond the highest that the processor has, where it would answer anything."""
        if leaf > self.highest(leaf):
            return _NOTHING
        return self.answers.get((leaf, subleaf), _NOTHING)

    def highest(self, leaf: int) -> int:
        """The highest leaf of the range that ``leaf`` is in; hypervisors do not agree on theirs, so it is not limited."""
        if leaf < _HYPERVISOR:
            return self.answers.get((0, 0), _NOTHING).eax
        if leaf < _EXTENDED:
            return _EXTENDED - 1
        return self.answers.get((_EXTENDED, 0), _NOTHING).eax

    def has(self, leaf: int, subleaf: int, register: str, bit: int) -> bool:
        """Whether one bit is set."""
        value: int = getattr(self.registers(leaf, subleaf), register)
        return bool(value >> bit & 1)

    def vendor(self) -> str:
        """The 12 letters of leaf 0, as ``GenuineIntel``."""
        found = self.registers(0)
        return signature(found.ebx, found.edx, found.ecx)

    def hypervisor(self) -> str:
        """The letters by which the hypervisor names itself, as ``KVMKVMKVM``."""
        found = self.registers(_HYPERVISOR)
        return signature(found.ebx, found.ecx, found.edx)

    def family(self) -> int:
        """The family with its extension, which counts when the base family is 15."""
        eax = self.registers(1).eax
        base = eax >> 8 & 0xF
        return base + (eax >> 20 & 0xFF) if base == 0xF else base  # noqa: PLR2004 # docstring

    def model(self) -> int:
        """The model with its extension, which counts when the base family is 6 or 15."""
        eax = self.registers(1).eax
        base = eax >> 4 & 0xF
        return base | (eax >> 16 & 0xF) << 4 if eax >> 8 & 0xF in {6, 0xF} else base


def signature(*words: int) -> str:
    """The text in some registers, four letters each, without the NULs at its end.

    >>> signature(0x756E6547, 0x49656E69, 0x6C65746E)
    'GenuineIntel'
    """
    data = b"".join((word & 0xFFFF_FFFF).to_bytes(4, "little") for word in words)
    return data.rstrip(b"\0").decode("latin-1")
