"""Names of the machines that ELF headers tell."""

_ARCHITECTURES = {
    (3, 32, "<"): "386",
    (62, 64, "<"): "amd64",
    (62, 32, "<"): "amd64p32",
    (40, 32, "<"): "arm",
    (40, 32, ">"): "armbe",
    (183, 64, "<"): "arm64",
    (183, 64, ">"): "arm64be",
    (20, 32, ">"): "ppc",
    (21, 64, "<"): "ppc64le",
    (21, 64, ">"): "ppc64",
    (22, 32, ">"): "s390",
    (22, 64, ">"): "s390x",
    (243, 32, "<"): "riscv",
    (243, 64, "<"): "riscv64",
    (258, 64, "<"): "loong64",
    (8, 64, ">"): "mips64",
    (8, 64, "<"): "mips64le",
    (43, 64, ">"): "sparc64",
    (2, 32, ">"): "sparc",
}
"""(e_machine, bits, byte order) to Go's names (go/build, known architectures); numbers from <elf.h>."""

_MIPS = 8
_MIPS_N32 = 0x20
"""EF_MIPS_ABI2: 64-bit registers and 32-bit pointers."""

_NAMES = {
    50: "Itanium",
    15: "PA-RISC",
    42: "SuperH",
    0x9026: "Alpha",
    4: "68000",
    247: "BPF",
    252: "C-SKY",
    190: "CUDA",
    224: "AMD GPU",
}
"""Machines without a name of Go's (<elf.h>; 190 is NVIDIA's, 224 AMD's)."""


def architecture_of(machine: int, bits: int, order: str, flags: int) -> str:
    """Go's name of an architecture; empty where it has none."""
    if machine == _MIPS and bits == 32:  # noqa: PLR2004 # the class
        base = "mips64p32" if flags & _MIPS_N32 else "mips"
        return base + ("le" if order == "<" else "")
    return _ARCHITECTURES.get((machine, bits, order), "")


def machine_name(machine: int, architecture: str) -> str:
    """The machine as a person calls it: Go's name, another known one, or the number."""
    return architecture or _NAMES.get(machine, f"ELF machine {machine}")
