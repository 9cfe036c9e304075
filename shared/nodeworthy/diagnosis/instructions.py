"""One instruction at which a program was stopped: what it is as far as no decoder is needed for it.

Deliberate traps are no sign of a missing feature: compilers put them where a program must not go on.
"""

from enum import StrEnum

import msgspec

AMD64 = "amd64"
ARM64 = "arm64"

_X86_TRAPS = (
    (b"\x0f\x0b", "ud2"),
    (b"\x0f\xb9", "ud1"),
    (b"\xcc", "int3"),
    (b"\xf4", "hlt"),
)
"""Intel SDM volume 2: instructions that stop every program on every processor."""


class Kind(StrEnum):
    """What kind of instruction stopped a program."""

    TRAP = "trap"
    """One that is there to stop it: an abort by the program itself."""
    ID_REGISTER = "id-register"
    """arm64's ``mrs`` of an ID register: the kernel has to emulate it, since 4.11 (HWCAP_CPUID)."""
    ORDINARY = "ordinary"
    """One that some processors have."""
    UNKNOWN = "unknown"
    """The bytes were not decoded."""


class Instruction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The instruction at which a program was stopped."""

    machine: str
    """Go's name of the architecture."""
    code: bytes
    """Its first bytes, perhaps with those of the next ones."""
    kind: Kind = Kind.UNKNOWN
    text: str = ""
    """As an assembler writes it."""
    features: tuple[str, ...] = ()
    """Flags of set ``cpu.cpuid`` that it needs."""
    file: str = ""
    offset: int | None = None
    """Bytes from the beginning of the file."""
    source: str = ""
    """Where the bytes are from: the kernel log, Go's message, a core file, the image's file."""

    def __str__(self) -> str:
        told = self.text or f"bytes {self.code[:8].hex(' ')}"
        place = f" at {self.offset:#x} of {self.file}" if self.file and self.offset is not None else ""
        return f"{told}{place}"


def trap_name(code: bytes, machine: str) -> str:
    """The name of a deliberate trap; empty for every other instruction.

    >>> trap_name(bytes.fromhex("0f0b"), "amd64"), trap_name(bytes.fromhex("000038d5"), "arm64")
    ('ud2', '')
    """
    if machine in {AMD64, "386"}:
        return next((name for start, name in _X86_TRAPS if code.startswith(start)), "")
    if machine != ARM64 or len(code) < 4:  # noqa: PLR2004 # bytes of one instruction
        return ""
    word = int.from_bytes(code[:4], "little")
    if word >> 16 == 0:  # UDF, Arm ARM C6.2
        return f"udf #{word:#x}"
    return f"brk #{word >> 5 & 0xFFFF:#x}" if word & 0xFFE0001F == 0xD4200000 else ""  # noqa: PLR2004 # BRK, C6.2


def is_id_register_read(code: bytes, machine: str) -> bool:
    """Whether it is arm64's ``mrs xN, id_…_el1``: op0 3, op1 0, CRn 0 (Arm ARM, C5.2).

    >>> is_id_register_read(bytes.fromhex("000638d5"), "arm64")
    True
    """
    return machine == ARM64 and len(code) >= 4 and int.from_bytes(code[:4], "little") & 0xFFFFF000 == 0xD5380000  # noqa: PLR2004


def recognize(code: bytes, machine: str, *, source: str = "") -> Instruction:
    """What can be said of an instruction by its bytes alone, without a decoder."""
    if trap := trap_name(code, machine):
        return Instruction(machine, code, Kind.TRAP, trap, source=source)
    if is_id_register_read(code, machine):
        return Instruction(machine, code, Kind.ID_REGISTER, "mrs of an ID register", source=source)
    return Instruction(machine, code, source=source)
