import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.detector.conftest import Plant

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.cpuinfo import Cpuinfo, parse_cpuinfo, read_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.address import read_address, x86_widths
from nodeworthy_detector.sources.cpu.hwcap import Capabilities
from nodeworthy_detector.sources.reading import Answer, Faults

CONFIG = "usr/src/linux/.config"


def read(host: Host, machine: str, cpuinfo: str = "", auxv: dict[int, int] | None = None) -> Answer:
    return read_address(host, machine, parse_cpuinfo(cpuinfo), Capabilities(auxv=auxv or {}), Faults())


@pytest.mark.parametrize(
    ("sizes", "flags", "widths"),
    [
        ("46 bits physical, 48 bits virtual", "fpu", (48, 46)),
        ("52 bits physical, 57 bits virtual", "fpu la57", (57, 52)),
        ("52 bits physical, 57 bits virtual", "fpu", (48, 52)),
        ("36 bits physical, 32 bits virtual", "fpu", (32, 36)),
        ("many", "fpu", (None, None)),
    ],
)
def test_x86_processors_tell_both_and_the_kernel_may_use_fewer(
    sizes: str, flags: str, widths: tuple[int | None, int | None]
) -> None:
    assert x86_widths(parse_cpuinfo(f"flags : {flags}\naddress sizes : {sizes}\n")) == widths


def test_what_is_known_is_written_and_the_rest_is_unobserved(plant: Plant) -> None:
    host = plant({"proc/": ""})
    both = read(host, "x86_64", "flags : fpu\naddress sizes : 46 bits physical, 48 bits virtual\n")
    assert both == FeatureSet(attributes={"virtual_bits": "48", "physical_bits": "46"})
    riscv = read(host, "riscv64", "mmu : sv39\n")
    assert riscv == FeatureSet(attributes={"virtual_bits": "39"}, unobserved=frozenset({"physical_bits"}))
    assert isinstance(read(host, "x86_64"), SetStatus)


@pytest.mark.parametrize(("option", "bits"), [("39", "39"), ("48", "48"), ("52", "48")])
def test_an_arm_kernel_is_built_for_a_width(plant: Plant, option: str, bits: str) -> None:
    host = plant({CONFIG: f"CONFIG_ARM64_VA_BITS={option}\n", "proc/sys/kernel/osrelease": "6.1.0\n"})
    found = read(host, "aarch64")
    assert found == FeatureSet(attributes={"virtual_bits": bits}, unobserved=frozenset({"physical_bits"}))


def test_an_arm_program_sees_the_width_by_where_its_stack_is(plant: Plant) -> None:
    found = read(plant({"proc/": ""}), "aarch64", auxv={25: 0x0000_FFFF_F3A1_2B48})
    assert isinstance(found, FeatureSet)
    assert (found.attributes or {})["virtual_bits"] == "48"


def test_a_damaged_option_tells_nothing(plant: Plant) -> None:
    assert isinstance(read(plant({CONFIG: "CONFIG_ARM64_VA_BITS=x\n"}), "aarch64"), SetStatus)


def test_no_program_on_this_machine_has_an_address_beyond_the_width() -> None:
    info = read_cpuinfo(Host(Path("/")))
    found = read_address(Host(Path("/")), os.uname().machine, info, Capabilities(), Faults())
    if isinstance(found, FeatureSet) and "virtual_bits" in (found.attributes or {}):
        highest = max(int(line.split("-", 1)[0], 16) for line in Path("/proc/self/maps").read_text().splitlines()[:-1])
        assert highest.bit_length() <= int((found.attributes or {})["virtual_bits"])


@given(
    st.dictionaries(st.sampled_from(["flags", "address sizes", "mmu"]), st.text()),
    st.sampled_from(["x86_64", "riscv64"]),
)
def test_any_blocks_are_read(block: dict[str, str], machine: str) -> None:
    read_address(Host(Path("/nowhere")), machine, Cpuinfo((block,)), Capabilities(), Faults())
