import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.architecture import Architecture, machine_of, parse_elf_machine, read_architecture
from nodeworthy_detector.cpuinfo import parse_cpuinfo
from nodeworthy_detector.hostfs import Host

Plant = Callable[[Mapping[str, str | bytes]], Host]


def elf(machine: int, bits: int, order: int) -> bytes:
    number = machine.to_bytes(2, "little" if order == 1 else "big")
    return b"\x7fELF" + bytes([bits, order, 1]) + bytes(11) + number + bytes(44)


def test_this_machine_is_what_uname_says() -> None:
    found = read_architecture(Host(Path("/")))
    assert found is not None
    assert found.machine == os.uname().machine


def test_the_kernel_of_another_root_is_asked_first(plant: Plant) -> None:
    host = plant({"proc/sys/kernel/arch": "riscv64\n", "bin/sh": elf(62, 2, 1)})
    assert read_architecture(host) == Architecture("riscv64")


def test_the_programs_of_a_root_tell_it_through_links(plant: Plant, tmp_path: Path) -> None:
    host = plant({"usr/bin/busybox": elf(183, 2, 1), "bin/": ""})
    (tmp_path / "bin/sh").symlink_to("/usr/bin/busybox")
    assert read_architecture(host) == Architecture("aarch64")


def test_a_64_bit_kernel_may_run_a_root_of_32_bit_programs(plant: Plant) -> None:
    host = plant({"proc/cpuinfo": "flags : fpu lm\n", "bin/sh": elf(3, 1, 1)})
    assert read_architecture(host) == Architecture("x86_64")


def test_the_byte_order_is_that_of_the_programs(plant: Plant) -> None:
    host = plant({"proc/cpuinfo": "Features : fp asimd\nCPU architecture: 8\n", "bin/sh": elf(183, 2, 2)})
    assert read_architecture(host) == Architecture("aarch64_be")


@pytest.mark.parametrize(
    ("header", "machine"),
    [
        (elf(62, 2, 1), "x86_64"),
        (elf(3, 1, 1), "i686"),
        (elf(183, 2, 1), "aarch64"),
        (elf(40, 1, 1), "arm"),
        (elf(21, 2, 1), "ppc64le"),
        (elf(21, 2, 2), "ppc64"),
        (elf(22, 2, 2), "s390x"),
        (elf(243, 2, 1), "riscv64"),
        (elf(258, 2, 1), "loongarch64"),
        (elf(62, 2, 1)[:19], None),
        (elf(62, 2, 3), None),
        (b"#!/bin/sh\n" * 10, None),
        (b"", None),
    ],
)
def test_elf_headers(header: bytes, machine: str | None) -> None:
    assert parse_elf_machine(header) == machine


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("flags : fpu lm", "x86_64"),
        ("flags : fpu sse", "i686"),
        ("fdiv_bug : no\nflags : fpu lm", "i686"),
        ("model name : ARMv6-compatible processor rev 7 (v6l)\nFeatures : half thumb", "armv6l"),
        ("Processor : ARMv7 Processor rev 1 (v7l)\n\nprocessor : 0", "armv7l"),
        ("Features : fp asimd\nCPU architecture: 8", "aarch64"),
        ("vendor_id : IBM/S390", "s390x"),
        ("isa : rv64imafdc", "riscv64"),
        ("CPU Family : Loongson-64bit", "loongarch64"),
        ("cpu : POWER9, altivec supported", None),
    ],
)
def test_shapes_of_cpuinfo(text: str, machine: str | None) -> None:
    assert machine_of(parse_cpuinfo(text)) == machine


@pytest.mark.parametrize(
    ("release", "machine"),
    [
        ("5.14.0-427.13.1.el9_4.ppc64le", "ppc64le"),
        ("6.10.3-200.fc40.aarch64+16k", "aarch64"),
        ("6.1.0-13-amd64", "x86_64"),
        ("5.14.0-284.el9_2.x86_64+rt", "x86_64"),
        ("6.8.0-45-generic", None),
        ("6.1.0-x86_64-custom", None),
        ("", None),
    ],
)
def test_a_kernels_release_tells_it_where_nothing_else_does(plant: Plant, release: str, machine: str | None) -> None:
    text = "processor : 0\ncpu : POWER9 (architected), altivec supported\n"
    found = read_architecture(plant({"proc/sys/kernel/osrelease": f"{release}\n", "proc/cpuinfo": text}))
    assert (found.machine if found else None) == machine


def test_garbage_at_every_place_is_no_architecture(plant: Plant) -> None:
    noise = bytes(range(256)) * 100
    host = plant({"proc/sys/kernel/arch": noise, "usr/bin/sh": noise, "proc/cpuinfo": noise})
    assert read_architecture(host) is None


@pytest.mark.parametrize(
    ("machine", "name", "bits", "endianness"),
    [
        ("x86_64", "amd64", "64", "little"),
        ("aarch64", "arm64", "64", "little"),
        ("s390x", "s390x", "64", "big"),
        ("armv7l", "arm", "32", "little"),
        ("armv5tel", "arm", "32", "little"),
        ("hexagon", "hexagon", None, None),
    ],
)
def test_what_a_machine_name_means(machine: str, name: str, bits: str | None, endianness: str | None) -> None:
    found = Architecture(machine)
    assert (found.name, found.bits, found.endianness) == (name, bits, endianness)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_as_a_header(header: bytes) -> None:
    parse_elf_machine(header)


@given(st.text())
def test_any_text_has_some_shape(text: str) -> None:
    machine_of(parse_cpuinfo(text))
