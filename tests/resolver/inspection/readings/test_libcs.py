"""C libraries and the processor that a loader insists on."""

import platform
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.real_files import debian
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.levels import X86_FLAGS
from nodeworthy_resolver.inspection.readings.libcs import (
    find_loader_check,
    is_glibc_loader,
    parse_banner,
    read_libcs,
    running_libc,
)
from nodeworthy_resolver.inspection.subject import ImageConfig, Subject

HERE = Path("/lib/x86_64-linux-gnu/libc.so.6")
LOADER = "/lib64/ld-linux-x86-64.so.2"
MESSAGE = b"Fatal glibc error: CPU does not support x86-64-v%d\n\0"
SSE2 = FeatureSet(flags=frozenset({"X86_64_V1", "SSE2"}))
V2 = FeatureSet(flags=frozenset(X86_FLAGS[2]))
V3 = FeatureSet(flags=frozenset({"X86_64_V1", "X86_64_V2", "X86_64_V3", *X86_FLAGS[3]}))


def checking_loader(*levels: int) -> bytes:
    """A loader whose code prints the message with each of these numbers, as GCC compiles it."""
    plain = Made(soname="ld-linux-x86-64.so.2").bytes()
    at = len(Made(soname="ld-linux-x86-64.so.2", tail=b"\xcc" * 8).bytes()) - 8
    assert at >= len(plain) - 8
    code = b"\0" + MESSAGE
    for level in levels:
        call = b"\xbe" + struct.pack("<I", level)
        distance = at + 1 - (at + len(code) + len(call) + 7)
        code += call + b"\x48\x8d\x3d" + struct.pack("<i", distance) + b"\x31\xc0\xe8\0\0\0\0"
    return Made(soname="ld-linux-x86-64.so.2", tail=code).bytes()


def image(loader: bytes, interpreter: str = LOADER) -> Subject:
    banner = b"GNU C Library (GNU libc) stable release version 2.34.\0"
    files: dict[str, bytes | str] = {
        LOADER: loader,
        "/lib64/libc.so.6": Made(soname="libc.so.6", tail=banner).bytes(),
        "/app": Made(interpreter=interpreter, needed=("libc.so.6",) if interpreter else (), kind=2).bytes(),
    }
    return prepared(MemoryTree(files), ImageConfig(("/app",)))


def test_the_level_is_the_highest_number_that_the_loader_prints_its_message_with() -> None:
    (requirement,) = read_libcs(image(checking_loader(2, 3))).requirements
    assert (requirement.text, requirement.sureness) == ("a CPU of level x86-64-v3", Sureness.CERTAIN)
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.FALSE
    assert outcome(requirement, node({})) is Outcome.UNKNOWN


def test_flags_without_a_level_are_enough() -> None:
    (requirement,) = read_libcs(image(checking_loader(2))).requirements
    assert requirement.text == "a CPU of level x86-64-v2"
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.TRUE
    assert outcome(requirement, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE


def test_a_loader_without_the_message_asks_for_nothing() -> None:
    other = Made(soname="ld-linux-x86-64.so.2", tail=b"CPU ISA level is lower than required\0").bytes()
    assert read_libcs(image(other)).requirements == ()


@pytest.mark.parametrize("text", [MESSAGE, b"\0CPU does not support x86-64-v2\n\0"])
def test_a_message_whose_code_has_another_shape_means_the_second_level(text: bytes) -> None:
    (requirement,) = read_libcs(image(Made(soname="ld-linux-x86-64.so.2", tail=text).bytes())).requirements
    assert requirement.text == "a CPU of level x86-64-v2"


def test_a_loader_that_what_starts_does_not_use_is_not_certain() -> None:
    (requirement,) = read_libcs(image(checking_loader(2), interpreter="")).requirements
    assert requirement.sureness is Sureness.PROBABLE


def test_a_static_program_of_go_leaves_the_loader_an_advice() -> None:
    files: dict[str, bytes | str] = {
        LOADER: checking_loader(2),
        "/app": with_sections(Made(kind=2), {".go.buildinfo": b"\xff Go buildinf:"}),
    }
    (requirement,) = read_libcs(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert requirement.sureness is Sureness.ADVISORY


@pytest.mark.parametrize(
    ("machine", "order", "text", "facts", "met"),
    [
        (21, "<", b"CPU lacks ISA 3.00 support (POWER9 or later required)", {"cpu.model": {"name": "POWER8"}}, False),
        (21, "<", b"CPU lacks ISA 3.00 support (POWER9 or later required)", {"cpu.model": {"name": "POWER10"}}, True),
    ],
)
def test_power_is_told_by_its_name(
    machine: int, order: str, text: bytes, facts: dict[str, dict[str, str]], *, met: bool
) -> None:
    loader = Made(machine=machine, order=order, flags=2, soname="ld64.so.2", tail=text).bytes()
    files: dict[str, bytes | str] = {
        "/lib64/ld64.so.2": loader,
        "/app": Made(machine=machine, order=order, flags=2, interpreter="/lib64/ld64.so.2", kind=2).bytes(),
    }
    (requirement,) = read_libcs(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert (requirement.code, requirement.sureness) == ("power-isa", Sureness.CERTAIN)
    assert outcome(requirement, node(facts)) is (Outcome.TRUE if met else Outcome.FALSE)


def test_z_is_told_by_its_facility() -> None:
    loader = Made(machine=22, order=">", tail=b"CPU lacks VXE support (z14 or later required)").bytes()
    elf = read_elf(loader)
    assert elf is not None
    check = find_loader_check(elf, memoryview(loader))
    assert check is not None
    assert check.baseline == "z14"


def test_the_library_that_starts_is_told_apart_from_others() -> None:
    subject = image(checking_loader(2))
    found = running_libc(subject)
    assert found is not None
    assert (found.kind, found.version, found.path) == ("glibc", "2.34", "/lib64/libc.so.6")
    assert [one.name for one in read_libcs(subject).software] == ["glibc"]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("/lib64/ld-linux-x86-64.so.2", True),
        ("/lib/ld-2.31.so", True),
        ("/lib64/ld64.so.1", True),
        ("/lib/ld.so.1", True),
        ("/lib/ld-musl-x86_64.so.1", False),
        ("/lib/libld.so.2", False),
    ],
)
def test_loaders_of_glibc_are_known_by_name(name: str, *, is_one: bool) -> None:
    assert is_glibc_loader(name) is is_one


@given(st.binary(max_size=400))
def test_any_bytes_have_a_banner_or_none(data: bytes) -> None:
    assert parse_banner(memoryview(data), "/lib/libc.so.6") is None or b"C Library" in data or b"musl" in data


def test_musl_of_debian_tells_its_version() -> None:
    package = debian(
        "pool/main/m/musl/musl_1.2.3-1_amd64.deb", "4fc1e3d9b579f5c682ca99a4d45aec08d72a2e6b82b4c2e1bbcb7095466ae96d"
    )
    found = parse_banner(memoryview(package["/lib/x86_64-linux-musl/libc.so"]), "/lib/ld-musl-x86_64.so.1")
    assert found is not None
    assert (found.kind, found.version) == ("musl", "1.2.3")


@pytest.mark.skipif(not HERE.is_file(), reason="this machine has another C library")
def test_this_machine_s_library_tells_its_version() -> None:
    found = parse_banner(memoryview(HERE.read_bytes()), str(HERE))
    assert found is not None
    assert (found.kind, found.version) == ("glibc", platform.libc_ver()[1])
