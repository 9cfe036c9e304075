"""Build attributes, as compilers write them."""

import struct

import pytest

from nodeworthy_resolver.inspection.elf.attributes import parse_attributes
from nodeworthy_resolver.inspection.elf.content import Bytes


def section(vendor: bytes, values: bytes, order: str = "<") -> bytes:
    whole = bytes([1]) + struct.pack(f"{order}I", 5 + len(values)) + values
    return b"A" + struct.pack(f"{order}I", 4 + len(vendor) + 1 + len(whole)) + vendor + b"\0" + whole


DEBIAN_ARMHF = b"\x05" + b"7-A\0" + bytes([6, 10, 7, ord("A"), 8, 1, 9, 2, 10, 4, 12, 1, 28, 1])
RASPBIAN = b"\x05" + b"6\0" + bytes([6, 6, 8, 1, 9, 1, 10, 2, 28, 1])


@pytest.mark.parametrize(
    ("values", "arch", "thumb", "fp", "simd"), [(DEBIAN_ARMHF, 10, 2, 4, 1), (RASPBIAN, 6, 1, 2, None)]
)
def test_arm_files_say_version_thumb_and_floating_point(
    values: bytes, arch: int, thumb: int, fp: int, simd: int | None
) -> None:
    data = section(b"aeabi", values)
    found = parse_attributes(Bytes(data, "<", 32), memoryview(data))
    assert (found.arm_arch, found.arm_thumb, found.arm_fp, found.arm_simd, found.arm_vfp_args) == (
        arch,
        thumb,
        fp,
        simd,
        1,
    )


def test_riscv_files_say_their_extensions() -> None:
    data = section(b"riscv", b"\x04\x10\x05rv64i2p1_m2p0_v1p0\0\x06\x00")
    found = parse_attributes(Bytes(data, "<", 64), memoryview(data))
    assert found.riscv_arch == "rv64i2p1_m2p0_v1p0"


@pytest.mark.parametrize("end", range(0, 40, 3))
def test_a_section_that_ends_early_says_less_and_never_fails(end: int) -> None:
    data = section(b"aeabi", DEBIAN_ARMHF)[:end]
    assert parse_attributes(Bytes(data, "<", 32), memoryview(data)).arm_arch in {None, 10}
