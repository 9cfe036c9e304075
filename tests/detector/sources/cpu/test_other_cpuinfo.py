import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.cpuinfo import parse_cpuinfo
from nodeworthy_detector.sources.cpu.other_cpuinfo import (
    NOT_X86,
    decode_arm64,
    decode_s390x,
    implementer,
    parse_control_program,
)

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


def test_arm_flags_are_the_words_that_nfd_knows() -> None:
    assert decode_arm64(parse_cpuinfo(ARM)).flags == frozenset(
        ["FP", "ASIMD", "AES", "SHA2", "CRC32", "ATOMICS", "SVE"]
    )


def test_the_model_of_an_arm_processor_is_made_of_its_midr() -> None:
    found = decode_arm64(parse_cpuinfo(ARM))
    assert (found.vendor, found.family, found.model) == ("ARM", "31", str(0xD40 << 4 | 1))


def test_c7_a_machine_of_mixed_cores_has_no_single_model() -> None:
    found = decode_arm64(parse_cpuinfo(ARM + "\n" + ARM.replace("0xd40", "0xd41")))
    assert (found.vendor, found.family, found.model) == ("ARM", "31", None)
    assert "SVE" in (found.flags or ())


@pytest.mark.parametrize(
    ("code", "vendor"),
    [("0x41", "ARM"), ("0x51", "Qualcomm"), ("0x61", "0x61"), ("0x1000", None), ("x", None), (None, None)],
)
def test_implementers(code: str | None, vendor: str | None) -> None:
    assert implementer(code) == vendor


def test_l14_the_vendor_and_machine_of_ibm_z() -> None:
    found = decode_s390x(parse_cpuinfo(ZVM), None)
    assert (found.vendor, found.family, found.model) == ("IBM_S390", "000123", "2817")
    assert found.flags == frozenset({"ESAN3", "ZARCH", "STFLE", "MSA"})
    assert found.hypervisor is None


def test_l13_without_family_and_model_there_is_no_placeholder() -> None:
    found = decode_s390x(parse_cpuinfo("vendor_id : IBM/S390\n"), None)
    assert (found.vendor, found.family, found.model) == ("IBM_S390", None, None)


def test_l13_nothing_of_arm_and_power_tells_whether_there_is_a_hypervisor() -> None:
    arm = decode_arm64(parse_cpuinfo("CPU implementer : 0x41\nFeatures : fp asimd\n"))
    assert (arm.vendor, arm.hypervisor, NOT_X86.hypervisor) == ("ARM", None, None)


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
    decode_arm64(parse_cpuinfo(text))
    decode_s390x(parse_cpuinfo(text), sysinfo)
    implementer(text)
