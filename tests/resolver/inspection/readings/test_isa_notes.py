"""Levels and extensions that files declare."""

import struct

import pytest
from tests.resolver.inspection.elves import Made, isa_needed, prepared
from tests.resolver.inspection.nodes import machine, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy import platforms
from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.isa_notes import read_isa_notes, riscv_extensions
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

LOADER, MUSL = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"
V2 = FeatureSet(flags=frozenset({"X86_64_V1", "X86_64_V2", "SSE3", "SSE4", "SSE42", "SSSE3", "POPCNT", "CX16", "LAHF"}))
PLAIN = FeatureSet(flags=frozenset({"X86_64_V1", "SSE3"}))


def glibc(version: str) -> dict[str, bytes | str]:
    banner = f"GNU C Library (Debian) stable release version {version}.\0".encode()
    return {
        LOADER: Made(soname="ld-linux-x86-64.so.2").bytes(),
        "/lib64/libc.so.6": Made(soname="libc.so.6", tail=banner).bytes(),
    }


def app(bits: int, loader: str = LOADER, needed: str = "libc.so.6", name: int = 0xC0008002) -> bytes:
    return Made(interpreter=loader, needed=(needed,), notes=isa_needed(bits, name)).bytes()


def read(files: dict[str, bytes | str], platform: str = "linux/amd64") -> Found:
    config = ImageConfig(("/app",), platform=platforms.parse(platform))
    return read_isa_notes(prepared(MemoryTree(files), config))


def test_glibc_from_2_33_on_checks_the_needed_level() -> None:
    (requirement,) = read({**glibc("2.33"), "/app": app(0b11)}).requirements
    assert (requirement.sureness, requirement.text) == (Sureness.CERTAIN, "a CPU of level x86-64-v2")
    assert outcome(requirement, machine("amd64", cpu_cpuid=V2)) is Outcome.TRUE
    assert outcome(requirement, machine("amd64", cpu_cpuid=PLAIN)) is Outcome.FALSE


def test_earlier_glibc_and_musl_do_not_look() -> None:
    musl: dict[str, bytes | str] = {MUSL: Made(soname="libc.so", tail=b"musl libc (x86_64)\0\x001.2.4\0").bytes()}
    for files in ({**glibc("2.32"), "/app": app(0b11)}, {**musl, "/app": app(0b11, MUSL, "libc.so")}):
        found = read(files)
        assert (found.requirements, [one.code for one in found.information]) == ((), ["isa-note-unheeded"])


@pytest.mark.parametrize(("bits", "name"), [(0b1, 0xC0008002), (0b1111, 0xC0010002), (0, 0xC0008002)])
def test_the_baseline_and_what_is_only_used_ask_nothing(bits: int, name: int) -> None:
    assert read({**glibc("2.36"), "/app": app(bits, name=name)}).requirements == ()


def test_the_highest_level_of_all_libraries_counts_and_one_that_nothing_loads_is_advisory() -> None:
    files = {**glibc("2.36"), "/app": app(0b11), "/opt/plugin.so": Made(notes=isa_needed(0b1111)).bytes()}
    hwcaps = {**files, "/lib64/glibc-hwcaps/x86-64-v4/libz.so": Made(notes=isa_needed(0b1111)).bytes()}
    found = {one.sureness: one.text for one in read(hwcaps).requirements}
    assert found == {
        Sureness.CERTAIN: "a CPU of level x86-64-v2",
        Sureness.ADVISORY: "a CPU of level x86-64-v4",
    }


ARM_START, THUMB_2_START, THUMB_START = bytes.fromhex("00b0a0e3"), bytes.fromhex("4ff0000b"), bytes.fromhex("00f001f8")
"""``mov fp, #0`` of Armv6 and of Debian's armhf, and ``bl`` of Thumb before Thumb-2."""


def arm(arch: int, thumb: int, start: bytes = ARM_START, soname: str = "") -> bytes:
    values = b"\x05x\0" + bytes([6, arch, 9, thumb])
    whole = b"\1" + (5 + len(values)).to_bytes(4, "little") + values
    attributes = b"A" + (10 + len(whole)).to_bytes(4, "little") + b"aeabi\0" + whole
    content = bytearray(
        Made(machine=40, bits=32, kind=2, tail=start, soname=soname).with_section(0x70000003, attributes)
    )
    struct.pack_into("<I", content, 24, content.index(start) + (start != ARM_START))
    return bytes(content)


@pytest.mark.parametrize(
    ("arch", "thumb", "start", "platform", "sureness"),
    [
        (10, 2, THUMB_2_START, "linux/arm/v6", Sureness.CERTAIN),
        (10, 2, ARM_START, "linux/arm/v6", Sureness.PROBABLE),
        (10, 2, THUMB_START, "linux/arm/v6", Sureness.PROBABLE),
        (10, 1, ARM_START, "linux/arm/v6", Sureness.PROBABLE),
        (14, 2, THUMB_2_START, "linux/arm/v7", Sureness.PROBABLE),
        (10, 2, THUMB_2_START, "linux/arm/v7", None),
        (6, 1, ARM_START, "linux/arm/v6", None),
    ],
)
def test_arm_code_of_a_later_version_than_claimed_asks_for_it(
    arch: int, thumb: int, start: bytes, platform: str, sureness: Sureness | None
) -> None:
    found = read({"/app": arm(arch, thumb, start)}, platform).requirements
    assert [one.sureness for one in found] == ([sureness] if sureness else [])
    if arch == 10 and found:
        assert outcome(found[0], machine("arm", "armv6l")) is Outcome.FALSE
        assert outcome(found[0], machine("arm", "armv7l")) is Outcome.TRUE


def test_a_library_may_hold_code_of_a_later_version_that_is_chosen_at_run_time_but_libc_may_not() -> None:
    loader = "/lib/ld-linux-armhf.so.3"
    files: dict[str, bytes | str] = {
        loader: arm(6, 1, soname="ld-linux-armhf.so.3"),
        "/lib/libgcrypt.so.20": arm(14, 2, soname="libgcrypt.so.20"),
        "/lib/libc.so.6": arm(10, 2, soname="libc.so.6"),
        "/app": Made(machine=40, bits=32, kind=2, interpreter=loader, needed=("libgcrypt.so.20", "libc.so.6")).bytes(),
    }
    found = {one.evidence[0].file: one.sureness for one in read(files, "linux/arm/v6").requirements}
    assert found == {"/lib/libgcrypt.so.20": Sureness.ADVISORY, "/lib/libc.so.6": Sureness.CERTAIN}


def riscv(arch: str) -> bytes:
    values = b"\x05" + arch.encode() + b"\0"
    whole = b"\1" + (5 + len(values)).to_bytes(4, "little") + values
    attributes = b"A" + (10 + len(whole)).to_bytes(4, "little") + b"riscv\0" + whole
    return Made(machine=243, kind=2).with_section(0x70000003, attributes)


def test_riscv_code_with_vectors_asks_for_them_and_other_extensions_stay_open() -> None:
    plain = read({"/app": riscv("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0")}, "linux/riscv64")
    assert (plain.requirements, plain.unexplored) == ((), ())
    vector = read({"/app": riscv("rv64i2p1_m2p0_v1p0_zve32f1p0_zvl128b1p0")}, "linux/riscv64")
    (requirement,) = vector.requirements
    assert (requirement.sureness, vector.unexplored) == (Sureness.PROBABLE, ())
    with_v = machine("riscv64", cpu_hwcap=FeatureSet(flags=frozenset("imafdcv")))
    without = machine("riscv64", cpu_hwcap=FeatureSet(flags=frozenset("imafdc")))
    assert [outcome(requirement, one) for one in (with_v, without)] == [Outcome.TRUE, Outcome.FALSE]
    (other,) = read({"/app": riscv("rv64i2p1_m2p0_zba1p0")}, "linux/riscv64").unexplored
    assert (other.decides, "zba" in other.why) == (True, True)


@pytest.mark.parametrize(
    ("arch", "extensions"),
    [
        ("rv64i2p1_m2p0_zba1p0", {"i", "m", "zba"}),
        ("rv64imafdc", {"i", "m", "a", "f", "d", "c"}),
        ("rv64gcv_zvl128b", {"g", "c", "v", "zvl128b"}),
        ("", set()),
    ],
)
def test_extensions_are_told_with_and_without_versions(arch: str, extensions: set[str]) -> None:
    assert riscv_extensions(arch) == extensions
