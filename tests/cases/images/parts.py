"""Files of images: programs that start and end, and the C libraries of distributions, small or real.

Programs have true code at their entry, which ends them by exit(0) of their machine; so what is asked of a node comes from
the file's headers alone.
"""

import struct
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.real_files import debian

Files = dict[str, bytes | str]


class Machine(NamedTuple):
    """One machine of ELF files."""

    number: int
    bits: int
    order: str
    loader: str
    """glibc's."""
    musl: str
    folder: str
    """Debian's, of libraries."""
    flags: int
    code: bytes
    """``exit(0)``."""


MACHINES: Mapping[str, Machine] = {
    "amd64": Machine(
        62, 64, "<", "/lib64/ld-linux-x86-64.so.2", "x86_64", "x86_64-linux-gnu", 0, bytes.fromhex("b83c00000031ff0f05")
    ),
    "386": Machine(3, 32, "<", "/lib/ld-linux.so.2", "i386", "i386-linux-gnu", 0, bytes.fromhex("b80100000031dbcd80")),
    "arm64": Machine(
        183,
        64,
        "<",
        "/lib/ld-linux-aarch64.so.1",
        "aarch64",
        "aarch64-linux-gnu",
        0,
        bytes.fromhex("a80b8052000080d2010000d4"),
    ),
    "arm": Machine(
        40,
        32,
        "<",
        "/lib/ld-linux-armhf.so.3",
        "armhf",
        "arm-linux-gnueabihf",
        0x5000400,
        bytes.fromhex("0170a0e30000a0e3000000ef"),
    ),
    "riscv64": Machine(
        243,
        64,
        "<",
        "/lib/ld-linux-riscv64-lp64d.so.1",
        "riscv64",
        "riscv64-linux-gnu",
        5,
        bytes.fromhex("9308d0051305000073000000"),
    ),
    "ppc64le": Machine(
        21,
        64,
        "<",
        "/lib64/ld64.so.2",
        "powerpc64le",
        "powerpc64le-linux-gnu",
        2,
        bytes.fromhex("010000380000603802000044"),
    ),
    "s390x": Machine(
        22, 64, ">", "/lib/ld64.so.1", "s390x", "s390x-linux-gnu", 0, bytes.fromhex("a7290000a71900010a01")
    ),
    "loong64": Machine(
        258,
        64,
        "<",
        "/lib64/ld-linux-loongarch-lp64d.so.1",
        "loongarch64",
        "loongarch64-linux-gnu",
        0x43,
        bytes.fromhex("0b7481030400800300002b00"),
    ),
}
"""By Go's names."""

STATIC_KIND = 2
_ENTRY_AT = 24


_ARM_ATTRIBUTES = 0x70000003


def arm_built_for(arch: int, thumb: int = 2) -> bytes:
    """Build attributes of 32-bit Arm: Tag_CPU_arch (6 is Armv6, 10 Armv7) and Tag_THUMB_ISA_use."""
    values = b"\x05x\0" + bytes([6, arch, 9, thumb])
    whole = b"\1" + (5 + len(values)).to_bytes(4, "little") + values
    return b"A" + (10 + len(whole)).to_bytes(4, "little") + b"aeabi\0" + whole


def made(machine: str, **said: object) -> bytes:
    """A program or library of a machine; the keywords are those of :class:`Made`."""
    one = MACHINES[machine]
    attributes = said.pop("attributes", b"")
    assert isinstance(attributes, bytes)
    code = _THUMB_2_CODE if said.pop("is_thumb", False) else one.code
    whole = {"machine": one.number, "bits": one.bits, "order": one.order, "flags": one.flags, **said}
    return _with_code(Made(**whole), code, attributes)  # type: ignore[arg-type] # the keywords are Made's


_LARGE_PAGES = frozenset({183, 21, 258})
"""Machines whose kernels have pages of up to 64 KiB."""
_THUMB_2_CODE = bytes.fromhex("4ff0000b0127002000df")
"""``mov.w fp, #0``, which Armv6 does not have, then ``exit(0)``."""


def _with_code(file: Made, code: bytes, attributes: bytes = b"") -> bytes:
    """The file, whose entry is this code behind its tail; with Arm's build attributes, if there are any."""
    whole = replace(file, tail=file.tail + code)
    content = bytearray(whole.with_section(_ARM_ATTRIBUTES, attributes) if attributes else whole.bytes())
    letter = "Q" if file.bits == 64 else "I"
    is_thumb = code == _THUMB_2_CODE
    struct.pack_into(file.order + letter, content, _ENTRY_AT, content.rindex(code) + is_thumb)
    if file.machine in _LARGE_PAGES:
        # What linkers give the segments of these machines; the writer's own is for pages of 4 KiB.
        loads = (at for at in range(64, 64 + 56 * 8, 56) if content[at : at + 4] == struct.pack(f"{file.order}I", 1))
        struct.pack_into(f"{file.order}Q", content, next(loads) + 48, 0x10000)
    return bytes(content)


def static(machine: str = "amd64", **said: object) -> bytes:
    """A static program."""
    return made(machine, **{"kind": STATIC_KIND, **said})


def app(machine: str = "amd64", **said: object) -> bytes:
    """A dynamic program for glibc, which needs libc only."""
    return made(machine, **{"interpreter": MACHINES[machine].loader, "needed": ("libc.so.6",), **said})


def musl_app(machine: str = "amd64", **said: object) -> bytes:
    """A dynamic program for musl."""
    one = MACHINES[machine]
    needed = f"libc.musl-{one.musl}.so.1"
    return made(machine, **{"interpreter": f"/lib/ld-musl-{one.musl}.so.1", "needed": (needed,), **said})


def glibc(machine: str = "amd64", version: str = "2.36", tag: bytes = b"", **said: object) -> Files:
    """Loader and C library of a version, in Debian's places."""
    one = MACHINES[machine]
    folder = f"/lib/{one.folder}"
    name = one.loader.rpartition("/")[2]
    banner = f"GNU C Library (Debian GLIBC {version}-1) stable release version {version}.\0".encode()
    defines = ("GLIBC_2.2.5", "GLIBC_2.17", *(f"GLIBC_2.{minor}" for minor in range(18, int(version[2:]) + 1)))
    libc = {"soname": "libc.so.6", "needed": (name,), "defines": defines, "notes": tag, "tail": banner, **said}
    loader = made(machine, soname=name, defines=("GLIBC_2.17",), notes=tag)
    return {f"{folder}/{name}": loader, one.loader: f"-> {folder}/{name}", f"{folder}/libc.so.6": made(machine, **libc)}


def musl(machine: str = "amd64", version: str = "1.2.4", exports: tuple[str, ...] = ("puts", "malloc")) -> Files:
    """Alpine's C library, which is its loader."""
    name = MACHINES[machine].musl
    text = f"musl libc ({name})\0\0{version}\0".encode()
    loader = f"/lib/ld-musl-{name}.so.1"
    library = made(machine, soname=f"libc.musl-{name}.so.1", exports=exports, tail=text)
    return {loader: library, f"/lib/libc.musl-{name}.so.1": f"-> ld-musl-{name}.so.1"}


def library(machine: str = "amd64", name: str = "libssl.so.3", **said: object) -> bytes:
    """A library that needs nothing."""
    return made(machine, soname=name, **said)


def busybox(machine: str = "amd64") -> Files:
    """A static busybox, and the shell that is a link to it."""
    return {"/bin/busybox": static(machine), "/bin/sh": "-> /bin/busybox"}


@cache
def debian_glibc() -> Files:
    """The real loader and C library of Debian 12 for amd64."""
    package = debian(
        "pool/main/g/glibc/libc6_2.36-9+deb12u14_amd64.deb",
        "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf",
    )
    folder = "/lib/x86_64-linux-gnu"
    names = ("ld-linux-x86-64.so.2", "libc.so.6")
    files: Files = {f"{folder}/{name}": package[f"{folder}/{name}"] for name in names}
    return files | {"/lib64/ld-linux-x86-64.so.2": f"-> {folder}/ld-linux-x86-64.so.2"}


@cache
def debian_armhf() -> Files:
    """The real loader and C library of Debian 12 for armhf, compiled for Armv7 and Thumb-2."""
    package = debian(
        "pool/main/c/cross-toolchain-base/libc6-armhf-cross_2.36-8cross1_all.deb",
        "bd4c250aef23a6145ad2749f7a54e0dca1c13bd520a34a8b3ba831284da93dc3",
    )
    return {
        path: package[f"/usr/arm-linux-gnueabihf/lib/{path.rpartition('/')[2]}"]
        for path in ("/lib/ld-linux-armhf.so.3", "/lib/arm-linux-gnueabihf/libc.so.6")
    }


@cache
def debian_musl() -> Files:
    """The real musl 1.2.3 of Debian for amd64, in Alpine's place."""
    package = debian(
        "pool/main/m/musl/musl_1.2.3-1_amd64.deb",
        "4fc1e3d9b579f5c682ca99a4d45aec08d72a2e6b82b4c2e1bbcb7095466ae96d",
    )
    content = package["/lib/x86_64-linux-musl/libc.so"]
    return {"/lib/ld-musl-x86_64.so.1": content, "/lib/libc.musl-x86_64.so.1": "-> ld-musl-x86_64.so.1"}
