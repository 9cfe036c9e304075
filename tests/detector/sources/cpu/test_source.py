"""The source as a whole, on the machine that runs the tests, with py-cpuinfo as an independent witness."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Lookup, SetState, SetStatus, Snapshot, encode
from nodeworthy.labels import DefaultLabelSettings, compile_defaults, make_default_labels
from nodeworthy.rules import Expression, Operator, Outcome, Term, compile_term
from nodeworthy_detector.cpuinfo import read_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import CpuSource
from nodeworthy_detector.sources.cpu import knowledge
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.cpu.source import cpuid_set, model_set
from nodeworthy_detector.sources.cpu.x86_cpuinfo import decode_cpuinfo
from nodeworthy_detector.sources.reading import Faults, Reading

HERE = Host(Path("/"))
IS_X86 = os.uname().machine == "x86_64"
CONFIG = "usr/src/linux/.config"

LINUX_DECIDES = {
    "CETIBT": "shown only when the kernel itself uses it",
    "CETSS": "shown only when programs may use it",
    "CPPC": "hidden by a kernel parameter",
    "FRED": "hidden when the kernel does not use it",
    "HLE": "hidden when TSX is switched off",
    "HTT": "the word says that there may be several threads",
    "IBPB": "made up of several bits",
    "IBRS": "made up of several bits",
    "LAM": "hidden as a mitigation",
    "MPX": "Linux gave up its support",
    "PCONFIG": "hidden when firmware left it off",
    "RDRAND": "hidden where its numbers are not random (some AMD processors)",
    "RDSEED": "hidden where its numbers are not random (Zen 5 without new microcode)",
    "RTM": "hidden when TSX is switched off",
    "SEV": "hidden when firmware left it off",
    "SEV_ES": "hidden when firmware left it off",
    "SEV_SNP": "hidden when firmware left it off",
    "SGX": "hidden when firmware left it off",
    "SGXLC": "hidden when firmware left it off",
    "SME": "hidden when firmware left it off",  # codespell:ignore sme
    "SPEC_CTRL_SSBD": "made up of several bits",
    "STIBP": "made up of several bits",
    "TME": "hidden when firmware left it off",
    "VMX": "hidden when firmware left it off",
    "XSAVES": "hidden on processors with an erratum",
}
"""Flags about which CPUID and /proc/cpuinfo may rightly disagree, and why."""


WITNESS_ERRS = {
    "AMD3DNOW": "py-cpuinfo looks at EBX of leaf 0x80000001, where EDX is meant",
    "AMD3DNOWEXT": "as AMD3DNOW",
    "FXSROPT": "as AMD3DNOW",
    "MMXEXT": "as AMD3DNOW",
}
"""Flags that py-cpuinfo 9.0 may see where there are none."""


def flags_here() -> frozenset[str]:
    found = CpuSource().read(HERE).sets["cpu.cpuid"]
    assert isinstance(found, FeatureSet)
    assert found.flags is not None
    return found.flags


def test_cpuid_and_cpuinfo_agree_about_this_machine() -> None:
    if not IS_X86:
        return
    known = knowledge.load()
    info = read_cpuinfo(HERE)
    assert info is not None
    told = decode_cpuinfo(info, known)
    assert told.flags is not None
    assert (flags_here() ^ told.flags) - told.unobserved - LINUX_DECIDES.keys() == set()
    assert len(flags_here() & told.flags) > 20


@pytest.fixture(scope="module")
def witness() -> dict[str, Any]:
    run = subprocess.run([sys.executable, "-m", "cpuinfo", "--json"], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_py_cpuinfo_sees_the_same_flags(witness: dict[str, Any]) -> None:
    if not IS_X86:
        return
    words = set(witness["flags"])
    expected = {flag.name for flag in knowledge.load().flags if flag.cpuinfo and flag.cpuinfo in words}
    assert expected - flags_here() - LINUX_DECIDES.keys() - WITNESS_ERRS.keys() == set()
    assert len(expected) > 20
    assert ("OSXSAVE" in flags_here()) is ("osxsave" in words or "xsave" in words)


def test_py_cpuinfo_sees_the_same_model(witness: dict[str, Any]) -> None:
    if not IS_X86:
        return
    found = CpuSource().read(HERE).sets["cpu.model"]
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    assert found.attributes["vendor_id"] == knowledge.load().vendor(witness["vendor_id_raw"])
    assert found.attributes["family"] == str(witness["family"])
    assert found.attributes["id"] == str(witness["model"])
    assert (found.attributes["hypervisor"] != "none") is ("hypervisor" in witness["flags"])
    assert found.attributes["name"] == witness["brand_raw"]
    assert found.attributes["stepping"] == str(witness["stepping"])
    assert found.attributes["vendor"] == found.attributes["vendor_id"]


def unobserved(reading: Reading) -> frozenset[str]:
    found = reading.sets["cpu.cpuid"]
    assert isinstance(found, FeatureSet)
    return found.unobserved


def test_cpuid_tells_everything_and_cpuinfo_does_not(machines: Path) -> None:
    recorded = CpuSource().read(Host(machines / "linux-rocky8-zen4_gpu" / "root"))
    found = recorded.sets["cpu.cpuid"]
    assert isinstance(found, FeatureSet)
    assert {"AVX10", "AVX10_VERSION"} <= found.unobserved
    told = f"does not tell {len(found.unobserved)} of the flags; they are listed as unobserved"
    assert [fault for fault in recorded.faults if told in fault]
    if IS_X86:
        assert not unobserved(CpuSource().read(HERE))


def test_a_rule_that_asks_for_what_proc_cpuinfo_does_not_tell_is_unknown_and_never_false(machines: Path) -> None:
    content = CpuSource().read(Host(machines / "linux-scientific7-k10" / "root")).sets["cpu.cpuid"]
    assert isinstance(content, FeatureSet)
    found = Lookup(SetState.PRESENT, content, "")

    def outcome(name: str, expression: Expression) -> Outcome:
        return compile_term(Term("cpu.cpuid", {name: expression})).answer(found).outcome

    exists = Expression(Operator.EXISTS)
    assert outcome("SSE4A", exists) is Outcome.TRUE
    assert outcome("AVX512F", exists) is Outcome.FALSE
    assert outcome("AMXFP16", exists) is Outcome.FALSE
    assert outcome("TLB_FLUSH_NESTED", exists) is Outcome.UNKNOWN
    assert outcome("TLB_FLUSH_NESTED", Expression(Operator.DOES_NOT_EXIST)) is Outcome.UNKNOWN
    assert outcome("AVX10_VERSION", Expression(Operator.GE, ("1",))) is Outcome.UNKNOWN


def test_a_mount_of_this_machine_may_be_asked_like_the_machine_itself(machines: Path) -> None:
    root = machines / "linux-rocky8-zen4_gpu" / "root"
    if IS_X86:
        assert not unobserved(CpuSource().read(Host(root, is_this_machine=True)))


def test_c6_flags_of_a_hybrid_machine_are_those_of_all_its_cores(machines: Path) -> None:
    found = CpuSource().read(Host(machines / "linux-debian12-i7_1370p" / "root")).sets["cpu.cpuid"]
    assert isinstance(found, FeatureSet)
    assert found.flags is not None
    assert {"X86_64_V3", "AVXVNNI", "HTT"} <= found.flags
    assert "X86_64_V4" not in found.flags


def of_machine(machines: Path, name: str, set_name: str) -> FeatureSet:
    found = CpuSource().read(Host(machines / name / "root")).sets[set_name]
    assert isinstance(found, FeatureSet)
    return found


def test_c7_a_machine_of_mixed_arm_cores_has_their_common_line_as_flags_and_no_model(machines: Path) -> None:
    name = "linux-ubuntu24.04-dgx_gb10"
    flags = of_machine(machines, name, "cpu.cpuid").flags or frozenset()
    words = of_machine(machines, name, "cpu.hwcap").flags or frozenset()
    assert {flag for flag in flags if not flag.startswith("ARMv")} == {word.upper() for word in words}
    assert {"ARMv8.7", "ARMv9.2"} <= flags
    model = of_machine(machines, name, "cpu.model").attributes
    assert model == {"vendor_id": "ARM", "family": "15", "vendor": "ARM"}
    assert of_machine(machines, name, "cpu.execution").attributes == {"aarch32": "false"}


def test_e5_a_cortex_a76_has_the_labels_of_the_document(machines: Path) -> None:
    reading = CpuSource().read(Host(machines / "linux-debian12-cortex_a76" / "root"))
    sets = {name: content for name, content in reading.sets.items() if isinstance(content, FeatureSet)}
    made = make_default_labels(Snapshot(sets, catalogue=frozenset()), compile_defaults(DefaultLabelSettings()))
    labels = {label.key.removeprefix("feature.node.kubernetes.io/cpu-"): label.value for label in made.labels}
    assert (labels["model.vendor"], labels["model.name"]) == ("ARM", "Cortex-A76")
    # NFD's own: MIDR_EL1 is 0x414fd0b1.
    assert (labels["model.vendor_id"], labels["model.family"], labels["model.id"]) == ("ARM", "79", "53425")
    assert {name for name in labels if name.startswith("cpuid.ARMv")} == {"cpuid.ARMv8.1", "cpuid.ARMv8.2"}
    assert labels["hardware_multithreading"] == "false"


def test_power_and_ibm_z_machines_have_names(machines: Path) -> None:
    power = of_machine(machines, "linux-rhel8-power9", "cpu.model").attributes
    assert power == {"vendor": "IBM", "name": "POWER9", "stepping": "2.2"}
    mainframe = of_machine(machines, "linux-unknown-s390x_zvm", "cpu.model").attributes or {}
    assert (mainframe["vendor_id"], mainframe["vendor"], mainframe["name"]) == ("IBM_S390", "IBM", "z196")


def test_this_machine_tells_its_address_widths_and_its_32_bit_programs() -> None:
    found = CpuSource().read(HERE).sets
    if IS_X86:
        execution, address = found["cpu.execution"], found["cpu.address"]
        assert isinstance(execution, FeatureSet)
        assert isinstance(address, FeatureSet)
        assert "ia32" in {*(execution.attributes or ()), *execution.unobserved}
        assert int((address.attributes or {})["virtual_bits"]) in {48, 57}


FILES = ("proc/cpuinfo", "proc/cmdline", "proc/sysinfo", "proc/self/auxv", "sys/devices/system/cpu/aarch32_el0", CONFIG)

KEYS = "Features|features|flags|vendor_id|model name|CPU implementer|CPU part|CPU variant|address sizes|processor 0|cpu|mmu"
VALUES = "0x41|0xd0b|fp atomics|fpu la57|machine = 2817|46 bits physical, 57 bits virtual|ia32_emulation=|POWER9|sv39"
PARTS = [part.encode() for part in (*KEYS.split("|"), *VALUES.split("|"), " : ", "\n", "\n\n", "CONFIG_ARM64_VA_BITS=")]
DAMAGED = st.lists(st.sampled_from(PARTS) | st.binary(max_size=9), max_size=20).map(b"".join)
"""What the files say, out of order and with anything between."""


@given(st.sampled_from(["x86_64", "aarch64", "armv7l", "ppc64le", "s390x", "riscv64"]), st.data())
def test_any_bytes_in_any_file_give_facts_or_the_reason_why_not(machine: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("proc/sys/kernel/arch", *FILES):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "proc/sys/kernel/arch").write_text(machine, encoding="utf-8")
        for name in FILES:
            (root / name).write_bytes(data.draw(DAMAGED))
        source = CpuSource()
        reading = source.read(Host(root))
        assert reading.sets.keys() == set(source.sets)
        assert not [fault for fault in reading.faults if "reader failed" in fault]
        for name, content in reading.sets.items():
            if isinstance(content, SetStatus):
                assert "its reader failed" not in content.reason, name
            else:
                assert encode(content)


def test_l13_a_processor_of_which_nothing_is_known_has_no_placeholders() -> None:
    for found in (model_set(Processor(), Faults()), cpuid_set(Processor(), Faults())):
        assert isinstance(found, SetStatus)
    known = model_set(Processor(vendor="ARM", flags=frozenset()), Faults())
    assert known == FeatureSet(attributes={"vendor_id": "ARM"}, unobserved=frozenset({"hypervisor"}))


def test_a_virtual_machine_whose_hypervisor_is_not_told_is_a_fault() -> None:
    faults = Faults()
    found = model_set(Processor(vendor="Intel", flags=frozenset({"HYPERVISOR"})), faults)
    assert found == FeatureSet(attributes={"vendor_id": "Intel"}, unobserved=frozenset({"hypervisor"}))
    assert len(faults.listed()) == 1


def test_a_machine_that_tells_that_it_has_no_hypervisor_leaves_nothing_open() -> None:
    found = model_set(Processor(vendor="Intel", flags=frozenset(), hypervisor="none"), Faults())
    assert found == FeatureSet(attributes={"vendor_id": "Intel", "hypervisor": "none"})
