import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.cpuinfo import parse_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.hwcap import Capabilities, read_capabilities
from nodeworthy_detector.sources.cpu.other_cpuinfo import (
    NOT_X86,
    decode_arm,
    decode_arm64,
    decode_power,
    decode_s390x,
    parse_control_program,
)
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Faults

HOSTS = Path(__file__).parents[3] / "data" / "hosts"
PROCESSORS: dict[str, Any] = json.loads((HOSTS / "arm-processors.json").read_text(encoding="utf-8"))["processors"]

ARM = """\
processor\t: 0
Features\t: fp asimd aes sha2 crc32 atomics sve gcs
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1
"""

ZVM = """\
vendor_id       : IBM/S390
# processors    : 2
features\t: esan3 zarch stfle msa
processor 0: version = FF,  identification = 000123,  machine = 2817
processor 1: version = FF,  identification = 100123,  machine = 2817
"""


def capabilities(text: str, machine: str) -> Capabilities:
    return read_capabilities(Host(Path("/nowhere")), machine, parse_cpuinfo(text), Faults())


def arm64(text: str) -> Processor:
    return decode_arm64(parse_cpuinfo(text), capabilities(text, "aarch64"))


def s390x(text: str, sysinfo: str | None = None) -> Processor:
    return decode_s390x(parse_cpuinfo(text), capabilities(text, "s390x"), sysinfo)


def power(text: str) -> Processor:
    return decode_power(parse_cpuinfo(text), Capabilities())


def test_arm_flags_are_the_words_in_capitals_and_also_those_that_nfd_drops() -> None:
    assert arm64(ARM).flags == frozenset({"FP", "ASIMD", "AES", "SHA2", "CRC32", "ATOMICS", "SVE", "GCS"})


def test_the_model_of_an_arm_processor_is_made_of_its_midr() -> None:
    found = arm64(ARM)
    assert (found.vendor, found.family, found.model) == ("ARM", "31", str(0xD40 << 4 | 1))
    assert (found.maker, found.name, found.stepping, found.microcode) == ("ARM", "Neoverse-V1", "r1p1", None)


@pytest.mark.parametrize("name", PROCESSORS)
def test_recorded_arm_processors_have_their_names_and_levels(name: str) -> None:
    found = arm64("".join(f"{key} : {value}\n" for key, value in PROCESSORS[name].items() if value))
    assert (found.maker, found.name) == (PROCESSORS[name]["vendor"], PROCESSORS[name]["name"])
    assert (PROCESSORS[name]["highest"] in (found.flags or ())) is (PROCESSORS[name]["highest"] is not None)
    assert not (found.flags or frozenset()) & found.unobserved
    assert (PROCESSORS[name]["untold"] in found.unobserved) is (PROCESSORS[name]["untold"] is not None)


def test_e5_a_cortex_a76_has_a_vendor_a_name_and_its_levels() -> None:
    words = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
    found = arm64(f"Features : {words}\nCPU implementer : 0x41\nCPU part : 0xd0b\n")
    assert (found.maker, found.name) == ("ARM", "Cortex-A76")
    assert {flag for flag in found.flags or () if flag.startswith("ARMv")} == {"ARMv8.1", "ARMv8.2"}


def test_c7_a_machine_of_mixed_cores_has_no_single_model() -> None:
    found = arm64(ARM + "\n" + ARM.replace("0xd40", "0xd41"))
    assert (found.vendor, found.family, found.model, found.name, found.stepping) == ("ARM", "31", None, None, None)
    assert "SVE" in (found.flags or ())


def test_c10_the_part_tells_a_grace_and_not_its_flags() -> None:
    # Two real machines, of which one has sm3, sm4 and svesm4 and the other paca, pacg, rng and bti.
    part = "CPU implementer : 0x41\nCPU part : 0xd4f\nFeatures : fp asimd sve2 sveaes "
    assert arm64(part + "sm3 sm4 svesm4\n").name == arm64(part + "paca pacg rng bti\n").name == "Neoverse-V2"


def test_flags_that_a_program_is_told_count_where_the_file_is_not_there() -> None:
    told = Capabilities(frozenset({"atomics", "asimdrdm", "crc32"}), frozenset({"ATOMICS", "ASIMDRDM", "CRC32"}))
    assert "ARMv8.1" in (decode_arm64(parse_cpuinfo(""), told).flags or ())
    assert decode_arm64(parse_cpuinfo(""), Capabilities()) == NOT_X86


def test_a_32_bit_arm_processor_has_flags_and_a_name() -> None:
    text = (
        "Features : half thumb neon vfpv4\n"
        "CPU implementer : 0x41\nCPU variant : 0x0\nCPU part : 0xc07\nCPU revision : 5\n"
    )
    found = decode_arm(parse_cpuinfo(text), capabilities(text, "armv7l"))
    assert (found.maker, found.name, found.stepping) == ("ARM", "Cortex-A7", "r0p5")
    assert found.flags == frozenset({"HALF", "THUMB", "NEON", "VFPv4"})
    assert (found.vendor, found.family, found.model) == (None, None, None)


@pytest.mark.parametrize(
    ("cpu", "revision", "name", "stepping"),
    [
        # archspec-json, tests/targets: bgq-rhel6-power7, linux-centos7-power8le, linux-rhel8-power9, linux-unknown-power10
        ("POWER7 (architected), altivec supported", "2.1 (pvr 003f 0201)", "POWER7", "2.1"),
        ("POWER8NVL (raw), altivec supported", "1.0 (pvr 004c 0100)", "POWER8NVL", "1.0"),
        ("POWER9, altivec supported", "2.2 (pvr 004e 1202)", "POWER9", "2.2"),
        ("POWER10, altivec supported", "17.0 (pvr 0080 1100)", "POWER10", "17.0"),
    ],
)
def test_power_processors_have_a_name_and_a_revision(cpu: str, revision: str, name: str, stepping: str) -> None:
    found = power(f"processor : 0\ncpu : {cpu}\nrevision : {revision}\n")
    assert (found.maker, found.name, found.stepping) == ("IBM", name, stepping)
    assert (found.vendor, found.family, found.model, found.flags) == (None, None, None, None)


def test_l13_a_processor_that_does_not_say_what_it_is_has_no_name() -> None:
    assert power("cpu : e6500, altivec supported\nrevision : 2.0\n") == NOT_X86


def test_l14_the_vendor_and_machine_of_ibm_z() -> None:
    found = s390x(ZVM)
    assert (found.vendor, found.family, found.model) == ("IBM_S390", "000123", "2817")
    assert (found.maker, found.name) == ("IBM", "z196")
    assert found.flags == frozenset({"ESAN3", "ZARCH", "STFLE", "MSA"})
    assert found.hypervisor is None


def test_l13_without_family_and_model_there_is_no_placeholder() -> None:
    found = s390x("vendor_id : IBM/S390\n")
    assert (found.vendor, found.family, found.model, found.name) == ("IBM_S390", None, None, None)


def test_l13_nothing_of_arm_and_power_tells_whether_there_is_a_hypervisor() -> None:
    found = arm64("CPU implementer : 0x41\nFeatures : fp asimd\n")
    assert (found.vendor, found.hypervisor, NOT_X86.hypervisor) == ("ARM", None, None)


@pytest.mark.parametrize(
    ("sysinfo", "hypervisor"),
    [
        ("VM00 Name: GUEST1\nVM00 Control Program: z/VM    6.1.0   \n", "z_VM_6.1.0"),
        ("VM00 Control Program: KVM/Linux\n", "KVM_Linux"),
        ("LPAR Number: 1\nLPAR Characteristics: Shared\n", "none"),
        ("", "none"),
    ],
)
def test_l15_the_control_program_is_the_hypervisor(sysinfo: str, hypervisor: str) -> None:
    assert parse_control_program(sysinfo) == hypervisor


@given(st.text(), st.text())
def test_any_text_is_decoded(text: str, sysinfo: str) -> None:
    arm64(text)
    s390x(text, sysinfo)
    power(text)
    decode_arm(parse_cpuinfo(text), capabilities(text, "armv7l"))


@given(st.dictionaries(st.sampled_from(["Features", "CPU implementer", "CPU part", "CPU variant", "cpu"]), st.text()))
def test_any_values_are_decoded(values: dict[str, str]) -> None:
    text = "".join(f"{key} : {value}\n" for key, value in values.items())
    arm64(text)
    power(text)
