"""Core files: signal, program counter, mapped files and build ids, without a debugger; any bytes are safe."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies
from tests.shared.diagnosis.core_files import AARCH64, MappedFile, make_core, make_page

from nodeworthy.diagnosis.cores import read_core
from nodeworthy.errors import UsageError

BUILD_ID = bytes(range(20))
APP = MappedFile("/usr/bin/app", 0x400000, 0x401000, 0, make_page(BUILD_ID))
TEXT = MappedFile("/usr/bin/app", 0x401000, 0x403000, 0x1000)
LIBC = MappedFile("/lib/libc.so.6", 0x7F0000000000, 0x7F0000100000)


def test_the_place_in_the_file_is_told_with_its_build_id() -> None:
    core = read_core(memoryview(make_core(0x401234, (APP, TEXT, LIBC))), "core")
    assert (core.machine, core.signal, core.process) == ("amd64", 4, "app")
    assert (core.file, core.offset, core.build_id) == ("/usr/bin/app", 0x1234, BUILD_ID.hex())
    assert core.address == 0x401234
    assert core.files == (f"/usr/bin/app@{BUILD_ID.hex()}", "/lib/libc.so.6")


def test_arm_has_its_program_counter_elsewhere() -> None:
    core = read_core(memoryview(make_core(0x401010, (APP, TEXT), machine=AARCH64, signal=11)), "core")
    assert (core.machine, core.signal, core.offset) == ("arm64", 11, 0x1010)


def test_memory_at_the_program_counter_is_read_where_it_was_kept() -> None:
    kept = MappedFile("/memfd:jit", 0x500000, 0x501000, 0, b"\xc5\xf5\xfe\xd0" * 8)
    assert read_core(memoryview(make_core(0x500004, (kept,))), "core").code.startswith(b"\xc5\xf5\xfe\xd0")


def test_a_program_counter_in_no_file_is_told_so() -> None:
    core = read_core(memoryview(make_core(0x99, (APP, TEXT))), "core")
    assert (core.file, core.offset, core.build_id) == ("", None, "")


def test_many_program_headers_are_numbered_in_the_section_header() -> None:
    core = read_core(memoryview(make_core(0x401234, (APP, TEXT), is_numbered_apart=True)), "core")
    assert core.offset == 0x1234


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it does not begin as an ELF file"),
        (b"#!/bin/sh\n", "it does not begin as an ELF file"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "it is compressed: unpack it first"),
        (b"\x7fELF\x01\x01" + bytes(60), "it is not of a 64-bit little-endian program"),
        (make_page(BUILD_ID), "it is an ELF file, and no core"),
        (make_core(1, ())[:100], "it is cut off, or its tables point outside of it"),
    ],
)
def test_what_is_no_core_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_core(memoryview(data), "the file")
    assert caught.value.why == why


@given(strategies.integers(0, 1500), strategies.binary(min_size=1, max_size=8))
def test_damaged_cores_are_read_or_refused(place: int, junk: bytes) -> None:
    data = bytearray(make_core(0x401234, (APP, TEXT, LIBC)))
    data[place : place + len(junk)] = junk
    with contextlib.suppress(UsageError):
        read_core(memoryview(bytes(data)), "core")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")
def test_a_core_that_this_kernel_wrote_names_the_trap(tmp_path: Path) -> None:
    (tmp_path / "trap.c").write_text("int main(void) { __builtin_trap(); }\n")
    subprocess.run(["gcc", "-o", "trap", "trap.c"], cwd=tmp_path, check=True)
    subprocess.run(["sh", "-c", "ulimit -c unlimited; ./trap"], cwd=tmp_path, check=False, capture_output=True)
    written = next(tmp_path.glob("core*"), None)
    if written is None:
        pytest.skip("this kernel hands cores to a program (kernel.core_pattern)")
    core = read_core(memoryview(written.read_bytes()), "core")
    assert core.file == str(tmp_path / "trap")
    assert core.offset is not None
    assert core.build_id
    code = (tmp_path / "trap").read_bytes()[core.offset :][:4]
    # ud2 on x86, brk on Arm
    assert (core.signal, code[:2]) == (4, b"\x0f\x0b") or core.machine == "arm64"
