import errno
import os
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.detector.conftest import Plant

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.cpuinfo import parse_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu import compat
from nodeworthy_detector.sources.cpu.compat import parse_ia32_option, read_execution, takes_linux32
from nodeworthy_detector.sources.reading import Faults

CONFIG = "usr/src/linux/.config"
CMDLINE = "proc/cmdline"
VSYSCALL32, COMPAT_BITS = "proc/sys/abi/vsyscall32", "proc/sys/vm/mmap_rnd_compat_bits"
SYSCTLS = {
    "proc/sys/vm/overcommit_memory": "0",
    "proc/sys/fs/file-max": "9223372036854775807",
    "proc/sys/kernel/pid_max": "4194304",
}
WHOLE = "CONFIG_64BIT=y\n"
BUILT_IN = WHOLE + "CONFIG_IA32_EMULATION=y\n"
OFF_BY_DEFAULT = BUILT_IN + "CONFIG_IA32_EMULATION_DEFAULT_DISABLED=y\n"

Runs = str | None


def execution(
    host: Host, machine: str, cpuinfo: str = "", flags: frozenset[str] | None = None
) -> tuple[Mapping[str, str], frozenset[str]]:
    found = read_execution(host, machine, parse_cpuinfo(cpuinfo), flags, Faults())
    return (found.attributes or {}, found.unobserved) if isinstance(found, FeatureSet) else ({}, frozenset())


def said(host: Host, name: str, machine: str, cpuinfo: str = "") -> Runs:
    attributes, unobserved = execution(host, machine, cpuinfo, frozenset({"X87"}))
    assert (name in attributes) is (name not in unobserved)
    return attributes.get(name)


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        ({VSYSCALL32: "1", CMDLINE: "quiet", CONFIG: BUILT_IN}, "true"),
        ({CMDLINE: "quiet", CONFIG: BUILT_IN}, "true"),
        ({VSYSCALL32: "1", CMDLINE: "ia32_emulation=off"}, "false"),
        ({VSYSCALL32: "1", CMDLINE: "ia32_emulation=on", CONFIG: OFF_BY_DEFAULT}, "true"),
        ({VSYSCALL32: "1", CMDLINE: "quiet", CONFIG: OFF_BY_DEFAULT}, "false"),
        ({**SYSCTLS, CMDLINE: "quiet"}, "false"),
        ({**SYSCTLS, CMDLINE: "quiet", CONFIG: BUILT_IN}, None),
        ({"proc/sys/vm/swappiness": "60", CMDLINE: "quiet"}, None),
        ({CMDLINE: "quiet", CONFIG: WHOLE}, "false"),
        # Built in, and what decides whether it is on is not told.
        ({VSYSCALL32: "1", CMDLINE: "quiet"}, None),
        ({VSYSCALL32: "1", CONFIG: BUILT_IN}, None),
        ({CMDLINE: "quiet"}, None),
        ({CMDLINE: "quiet", CONFIG: "CONFIG_NO_HZ_FULL=y\n"}, None),
    ],
)
def test_a_kernel_runs_32_bit_x86_programs_if_built_for_it_and_not_told_otherwise(
    plant: Plant, files: Mapping[str, str], runs: Runs
) -> None:
    assert said(plant(files), "ia32", "x86_64") == runs


@pytest.mark.parametrize(
    ("arguments", "is_on"),
    [
        ("quiet", None),
        ("ia32_emulation=0", False),
        ("ia32_emulation=false ia32_emulation=Y", True),
        ("ia32_emulation=of", False),
        ("ia32_emulation=maybe", None),
        ("ia32_emulation", None),
    ],
)
def test_the_boot_option(arguments: str, is_on: bool | None) -> None:
    assert parse_ia32_option(arguments) is is_on


A76 = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0b\n"
X2 = "processor : 1\nCPU implementer : 0x41\nCPU part : 0xd48\n"
N2 = "processor : 1\nCPU implementer : 0x41\nCPU part : 0xd49\n"
AARCH32 = "sys/devices/system/cpu/aarch32_el0"


@pytest.mark.parametrize(
    ("files", "cpuinfo", "runs"),
    [
        ({COMPAT_BITS: "11"}, A76, "true"),
        ({CONFIG: WHOLE + "CONFIG_COMPAT=y\n"}, A76, "true"),
        ({COMPAT_BITS: "11"}, A76 + "\n" + X2, "false"),
        ({COMPAT_BITS: "11", AARCH32: "0\n"}, A76 + "\n" + X2, "true"),
        ({COMPAT_BITS: "11", AARCH32: "\n"}, A76 + "\n" + X2, "false"),
        ({COMPAT_BITS: "11"}, N2, None),
        ({COMPAT_BITS: "11"}, "", None),
        (SYSCTLS, A76, "false"),
        ({"proc/sys/vm/swappiness": "60"}, A76, None),
        ({CONFIG: WHOLE}, A76, "false"),
        ({}, A76, None),
        ({}, X2, "false"),
    ],
)
def test_32_bit_arm_programs_need_the_kernel_and_every_core(
    plant: Plant, files: Mapping[str, str], cpuinfo: str, runs: Runs
) -> None:
    assert said(plant({"proc/": "", **files}), "aarch32", "aarch64", cpuinfo) == runs


def test_a_32_bit_kernel_runs_32_bit_programs(plant: Plant) -> None:
    host = plant({"proc/": ""})
    assert (said(host, "ia32", "i686"), said(host, "aarch32", "armv7l")) == ("true", "true")


@pytest.mark.parametrize(
    ("answers", "runs"),
    [([0, 0, 8], True), ([0, -errno.EINVAL], False), ([0, -errno.EPERM], None), ([-errno.EPERM], None)],
)
def test_an_arm_kernel_refuses_the_32_bit_personality_where_it_has_none(answers: list[int], runs: bool | None) -> None:
    asked: list[int] = []

    def personality(wanted: int) -> int:
        asked.append(wanted)
        return answers[len(asked) - 1]

    assert takes_linux32(personality) is runs
    assert asked[2:] == ([0] if runs else [])  # what it was before


def test_this_program_keeps_the_personality_that_it_had() -> None:
    call = compat._personality()
    before = call(0xFFFF_FFFF)
    if os.uname().machine == "x86_64":
        assert takes_linux32(call) is True
    assert call(0xFFFF_FFFF) == before


@pytest.mark.parametrize(
    ("flags", "files", "capable", "usable"),
    [
        ({"X87", "VMX"}, {"dev/kvm": ""}, "true", "true"),
        ({"X87", "SVM"}, {"dev/null": ""}, "true", "false"),
        ({"X87"}, {"dev/null": ""}, "false", "false"),
        ({"X87"}, {"dev/kvm": ""}, "true", "true"),
        ({"ESAN3", "SIE"}, {"proc/": ""}, "true", None),  # codespell:ignore sie
        ({"FP"}, {"dev/kvm": ""}, "true", "true"),
        ({"FP"}, {"dev/null": ""}, None, "false"),
    ],
)
def test_virtual_machines_are_possible_by_the_processor_and_usable_by_the_device(
    plant: Plant, flags: set[str], files: Mapping[str, str], capable: Runs, usable: Runs
) -> None:
    attributes, unobserved = execution(plant(files), "riscv64", flags=frozenset(flags))
    assert (attributes.get("kvm.capable"), attributes.get("kvm.usable")) == (capable, usable)
    assert {"kvm.capable", "kvm.usable"} - attributes.keys() == unobserved


def test_a_machine_that_tells_nothing_is_unknown(plant: Plant) -> None:
    found = read_execution(plant({"proc/": ""}), "ppc64le", None, None, Faults())
    assert isinstance(found, SetStatus)
    assert isinstance(read_execution(plant({"proc/": ""}), None, None, None, Faults()), SetStatus)


def test_files_that_cannot_be_read_are_faults_and_no_answer(plant: Plant) -> None:
    faults = Faults()
    host = plant({VSYSCALL32: "1", CONFIG: BUILT_IN, "proc/cmdline/": ""})
    found = read_execution(host, "x86_64", None, frozenset({"X87"}), faults)
    assert isinstance(found, FeatureSet)
    assert "ia32" in found.unobserved
    assert faults.listed() == ("proc/cmdline is no regular file",)


@given(st.text())
def test_any_command_line_is_read(arguments: str) -> None:
    parse_ia32_option(arguments)
