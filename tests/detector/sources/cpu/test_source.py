"""The source as a whole, on the machine that runs the tests, with py-cpuinfo as an independent witness."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodeworthy.features import FeatureSet, Lookup, SetState, SetStatus
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
