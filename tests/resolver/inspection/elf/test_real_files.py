"""Libraries of other machines, as Debian's cross compilers bring them."""

from typing import NamedTuple

import pytest
from tests.resolver.inspection.real_files import debian

from nodeworthy_resolver.inspection.elf import has_text, read_dynamic_symbols, read_elf, read_initializers

_POOL = "pool/main/c/cross-toolchain-base"


class Library(NamedTuple):
    """One libc of Debian, and what readelf says of it."""

    package: str
    sha256: str
    folder: str
    loader: str
    architecture: str
    kernel: tuple[int, int, int, int]
    symbols: int
    initializers: int


LIBRARIES = (
    Library(
        f"{_POOL}/libc6-armhf-cross_2.36-8cross1_all.deb",
        "bd4c250aef23a6145ad2749f7a54e0dca1c13bd520a34a8b3ba831284da93dc3",
        "/usr/arm-linux-gnueabihf/lib",
        "ld-linux-armhf.so.3",
        "arm",
        (0, 3, 2, 0),
        3095,
        2,
    ),
    Library(
        f"{_POOL}-ports/libc6-riscv64-cross_2.36-8cross1_all.deb",
        "93f10d4bb0f279812121194e7dbdb61b14a70065d9cd6f25de4b08899a878195",
        "/usr/riscv64-linux-gnu/lib",
        "ld-linux-riscv64-lp64d.so.1",
        "riscv64",
        (0, 4, 15, 0),
        2914,
        2,
    ),
    Library(
        f"{_POOL}/libc6-s390x-cross_2.36-8cross1_all.deb",
        "d1680ee6344fca9fa4995dbed2bab82a96d464a8f78ff29c4438995d8fa792d0",
        "/usr/s390x-linux-gnu/lib",
        "ld64.so.1",
        "s390x",
        (0, 3, 2, 0),
        3241,
        2,
    ),
)


@pytest.mark.parametrize("library", LIBRARIES, ids=[library.architecture for library in LIBRARIES])
def test_the_libc_of_another_machine_is_read_whole(library: Library) -> None:
    files = debian(library.package, library.sha256)
    content = files[f"{library.folder}/libc.so.6"]
    elf = read_elf(content)
    assert elf is not None
    assert (elf.architecture, elf.soname, elf.needed, elf.faults) == (
        library.architecture,
        "libc.so.6",
        (library.loader,),
        (),
    )
    assert elf.notes.abi_tag == library.kernel
    assert {"GLIBC_2.34", "GLIBC_2.36"} <= set(elf.defined_versions)
    assert len(read_dynamic_symbols(content, elf)) == library.symbols
    assert len(read_initializers(content, elf)) == library.initializers


def test_build_attributes_tell_what_debian_counts_on() -> None:
    arm, riscv = (debian(one.package, one.sha256)[f"{one.folder}/libc.so.6"] for one in LIBRARIES[:2])
    arm_elf, riscv_elf = read_elf(arm), read_elf(riscv)
    assert arm_elf is not None
    assert riscv_elf is not None
    said = arm_elf.attributes
    assert (said.arm_arch, said.arm_profile, said.arm_thumb, said.arm_vfp_args) == (10, "A", 2, 1)
    assert riscv_elf.attributes.riscv_arch == "rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0_zmmul1p0"


def test_glibc_2_36_no_longer_holds_the_text_of_old_kernels() -> None:
    library = LIBRARIES[0]
    loader = debian(library.package, library.sha256)[f"{library.folder}/{library.loader}"]
    assert not has_text(loader, b"FATAL: kernel too old")
