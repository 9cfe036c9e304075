"""The architecture that a machine's kernel runs: its name, word size and byte order."""

import os
import re

import msgspec

from nodeworthy import platforms
from nodeworthy_detector.cpuinfo import Cpuinfo, read_cpuinfo
from nodeworthy_detector.hostfs import Host, HostReadError

_MACHINES = {
    "x86_64": (64, "little"),
    "i386": (32, "little"),
    "i486": (32, "little"),
    "i586": (32, "little"),
    "i686": (32, "little"),
    "aarch64": (64, "little"),
    "aarch64_be": (64, "big"),
    "arm": (32, "little"),
    "armv5tel": (32, "little"),
    "armv6l": (32, "little"),
    "armv7l": (32, "little"),
    "armv8l": (32, "little"),
    "ppc64le": (64, "little"),
    "ppc64": (64, "big"),
    "ppc": (32, "big"),
    "s390x": (64, "big"),
    "s390": (32, "big"),
    "riscv64": (64, "little"),
    "riscv32": (32, "little"),
    "loongarch64": (64, "little"),
    "sparc64": (64, "big"),
    "ia64": (64, "little"),
}
"""What ``uname -m`` says, to word size and byte order."""

_ELF_MACHINES = {
    (3, 1, 1): "i686",
    (62, 2, 1): "x86_64",
    (40, 1, 1): "arm",
    (183, 2, 1): "aarch64",
    (183, 2, 2): "aarch64_be",
    (20, 1, 2): "ppc",
    (21, 2, 1): "ppc64le",
    (21, 2, 2): "ppc64",
    (22, 1, 2): "s390",
    (22, 2, 2): "s390x",
    (243, 1, 1): "riscv32",
    (243, 2, 1): "riscv64",
    (258, 2, 1): "loongarch64",
    (43, 2, 2): "sparc64",
    (50, 2, 1): "ia64",
}
"""(e_machine, class, data) of an ELF header to ``uname -m``; numbers from the ELF specification and <elf.h>."""

_ELF_HEADER_BYTES = 20

_PROGRAMS = ("usr/bin/sh", "bin/sh", "usr/bin/busybox", "bin/busybox", "usr/lib/systemd/systemd", "lib/systemd/systemd")
"""Programs that nearly every root has, in the order in which they are looked at."""


_OF_RELEASE = re.compile(
    r"[.-](?:(x86_64|aarch64|ppc64le|ppc64|s390x|riscv64|loongarch64|i686)|(amd64|arm64|powerpc64le))(?:\+\S*)?$"
)
"""The end of a kernel's release: of Fedora, RHEL and their like, as ``5.14.0-427.el9.ppc64le``, or of Debian."""

_DEBIAN_NAMES = {"amd64": "x86_64", "arm64": "aarch64", "powerpc64le": "ppc64le"}


class Architecture(msgspec.Struct, frozen=True):
    """What ``machine`` means: everything else follows from it."""

    machine: str
    """The kernel's name, as ``uname -m`` says it: ``x86_64``, ``aarch64``."""

    @property
    def name(self) -> str:
        """Go's name, which images use: ``amd64``, ``arm64``."""
        return platforms.normalize("linux", self.machine).architecture

    @property
    def bits(self) -> str | None:
        """``64`` or ``32``; ``None`` for a machine that this table does not know."""
        known = _MACHINES.get(self.machine)
        return str(known[0]) if known else None

    @property
    def endianness(self) -> str | None:
        """``little`` or ``big``; ``None`` for a machine that this table does not know."""
        known = _MACHINES.get(self.machine)
        return known[1] if known else None


def read_architecture(host: Host) -> Architecture | None:
    """The architecture of the host's kernel; ``None`` if nothing tells it.

    Asked in this order: the kernel itself (/proc/sys/kernel/arch, since Linux 6.1; ``uname`` of this machine), the shape of
    /proc/cpuinfo, the root's own programs. A 64-bit kernel may run a root of 32-bit programs, so these come last; only the
    byte order is theirs to tell. Where even they are not there, many distributions name it in the kernel's release. A file
    that cannot be read only means that the next one is asked.
    """
    machine = _read_kernel(host) or _read_elsewhere(host)
    return Architecture(machine) if machine else None


def _read_kernel(host: Host) -> str | None:
    try:
        machine = host.read_value("proc/sys/kernel/arch")
    except HostReadError:
        machine = None
    if machine and machine.isascii() and machine.replace("_", "").isalnum():
        return machine
    return os.uname().machine if host.is_this_machine else None


def _read_elsewhere(host: Host) -> str | None:
    shape, program = _read_cpuinfo_shape(host), _read_programs(host)
    if shape is None or program is None:
        return shape or program or _read_release(host)
    kernel, built_for = Architecture(shape), Architecture(program)
    is_swapped = kernel.bits == built_for.bits and kernel.endianness != built_for.endianness
    return program if is_swapped else shape


def _read_release(host: Host) -> str | None:
    try:
        return parse_release_machine(host.read_value("proc/sys/kernel/osrelease") or "")
    except HostReadError:
        return None


def parse_release_machine(release: str) -> str | None:
    """The machine that ends a kernel's release (``uname -r``); ``None`` where a distribution leaves it out."""
    found = _OF_RELEASE.search(release)
    return (found[1] or _DEBIAN_NAMES[found[2]]) if found else None


def _read_programs(host: Host) -> str | None:
    for path in _PROGRAMS:
        try:
            header = host.read_start(path, _ELF_HEADER_BYTES)
        except HostReadError:
            continue
        machine = parse_elf_machine(header or b"")
        if machine:
            return machine
    return None


def parse_elf_machine(header: bytes) -> str | None:
    """The machine that a program was built for, out of the first 20 bytes of its ELF header; ``None`` if it has none.

    Bytes 4 and 5 are the class (2 is 64-bit) and the byte order (1 is little), bytes 18 and 19 the machine.
    """
    if len(header) < _ELF_HEADER_BYTES or header[:4] != b"\x7fELF" or header[5] not in {1, 2}:
        return None
    machine = int.from_bytes(header[18:20], "little" if header[5] == 1 else "big")
    return _ELF_MACHINES.get((machine, header[4], header[5]))


def _read_cpuinfo_shape(host: Host) -> str | None:
    try:
        info = read_cpuinfo(host)
    except HostReadError:
        return None
    return None if info is None else machine_of(info)


_ARM_NAME = re.compile(r"\((v[4-7][a-z]*)\)")
"""The end of the line ``model name : ARMv6-compatible processor rev 7 (v6l)`` of a 32-bit kernel: version, byte order."""


def machine_of(info: Cpuinfo) -> str | None:
    """The machine whose kernel writes a /proc/cpuinfo of this shape; ``None`` where several do.

    A processor that can run 64-bit code may run a 32-bit kernel, which alone checks for old bugs and prints ``fdiv_bug``
    (Linux, arch/x86/kernel/cpu/proc.c).
    """
    flags = info.words("flags")
    if flags is not None and "fpu" in flags:
        return "x86_64" if "lm" in flags and not info.values("fdiv_bug") else "i686"
    if info.only("CPU architecture") == "8" and "asimd" in (info.words("Features") or ()):
        return "aarch64"
    if arm := _ARM_NAME.search(info.only("model name") or info.only("Processor") or ""):
        return f"arm{arm[1]}"
    if (info.only("vendor_id") or "").startswith("IBM/S390"):
        return "s390x"
    for prefix, machine in (("rv64", "riscv64"), ("rv32", "riscv32")):
        if (info.only("isa") or "").startswith(prefix):
            return machine
    return "loongarch64" if (info.only("CPU Family") or "").startswith("Loongson-64bit") else None
