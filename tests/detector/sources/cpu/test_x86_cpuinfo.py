import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.cpuinfo import Cpuinfo, parse_cpuinfo
from nodeworthy_detector.sources.cpu.knowledge import load
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.cpu.x86_cpuinfo import decode_cpuinfo, drop_uneven

KNOWN = load()

HOSTS = Path(__file__).parents[3] / "data" / "hosts"
PROCESSORS: dict[str, Any] = json.loads((HOSTS / "x86-processors.json").read_text(encoding="utf-8"))["processors"]


def processor(flags: str, vendor: str = "GenuineIntel", family: int = 6, model: int = 143, **more: str) -> Processor:
    block = {"vendor_id": vendor, "cpu family": str(family), "model": str(model), "flags": flags}
    block |= {name.replace("_", " "): value for name, value in more.items()}
    return decode_cpuinfo(Cpuinfo((block,)), KNOWN)


def recorded(name: str) -> Processor:
    found = PROCESSORS[name]
    return processor(found["flags"], found["vendor_id"], int(found["cpu family"]), int(found["model"]))


def level(found: Processor) -> int:
    levels = {flag for flag in found.flags or () if flag.startswith("X86_64_V")}
    assert levels == {f"X86_64_V{number}" for number in range(1, len(levels) + 1)}
    return len(levels)


@pytest.mark.parametrize("name", PROCESSORS)
def test_c4_levels_are_cumulative_and_as_archspec_has_them(name: str) -> None:
    assert level(recorded(name)) == PROCESSORS[name]["level"]


def test_c1_a_virtual_machine_without_sse4_is_level_1() -> None:
    found = processor(
        "fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pse36 clflush mmx fxsr sse sse2 ht syscall nx lm "
        "rep_good nopl xtopology eagerfpu pni cx16 x2apic hypervisor lahf_lm"
    )
    assert level(found) == 1
    v2 = next(known for known in KNOWN.levels if known.name == "X86_64_V2")
    assert v2.adds - (found.flags or frozenset()) == {"POPCNT", "SSE4", "SSE42", "SSSE3"}


def test_flags_that_nfd_takes_from_amd_alone_are_no_flags_of_hygon() -> None:
    """As the path that executes CPUID has it: both have to say the same of one processor."""
    flags = "fpu tsc cx8 cmov mmx fxsr sse sse2 syscall lm svm sev sev_es"
    hygon, amd = processor(flags, "HygonGenuine", 24, 1), processor(flags, "AuthenticAMD", 25, 1)
    assert (amd.flags or frozenset()) >= {"SVM", "SEV", "SEV_ES"}
    assert (hygon.flags or frozenset()) & {"SVM", "SEV", "SEV_ES"} == {"SVM"}
    assert not hygon.unobserved & {"SEV", "SEV_ES"}


def test_c2_a_k10_has_part_of_level_2_and_is_level_1() -> None:
    found = recorded("linux-scientific7-k10")
    assert {"POPCNT", "CX16", "LAHF", "SSE3"} <= (found.flags or set())
    assert level(found) == 1


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("pni", "SSE3"),
        ("abm", "LZCNT"),
        ("lahf_lm", "LAHF"),
        ("sse4_1", "SSE4"),
        ("sep", "SYSEE"),
        ("avx512_bf16", "AVX512BF16"),
    ],
)
def test_c5_linux_words_have_other_names(word: str, flag: str) -> None:
    assert flag in (processor(f"fpu {word}").flags or ())
    assert flag not in (processor("fpu").flags or ())


def test_flags_are_those_of_every_processor() -> None:
    info = parse_cpuinfo(
        "processor: 0\nvendor_id: GenuineIntel\nflags: fpu sse avx2\n\n"
        "processor: 1\nvendor_id: GenuineIntel\nflags: fpu sse\n"
    )
    assert {"X87", "SSE"} == (decode_cpuinfo(info, KNOWN).flags or set()) & {"X87", "SSE", "AVX2"}
    assert drop_uneven(frozenset({"X87", "AVX2", "FP256"}), info, KNOWN) == {"X87", "FP256"}


def test_a_level_that_some_processor_misses_is_dropped_too() -> None:
    all_flags = frozenset[str]().union(*(known.adds for known in KNOWN.levels)) | {"SYSCALL"}
    words = {flag.name: flag.cpuinfo for flag in KNOWN.flags}
    big = " ".join(words[flag] or "fpu" for flag in all_flags)
    little = " ".join(words[flag] or "fpu" for flag in all_flags if not flag.startswith("AVX512"))
    info = parse_cpuinfo(f"flags: {big}\n\nflags: {little}\n")
    kept = drop_uneven(all_flags | KNOWN.levels_of(all_flags), info, KNOWN)
    assert "X86_64_V3" in kept
    assert "X86_64_V4" not in kept


def test_no_flag_is_both_told_and_not_told() -> None:
    for name in PROCESSORS:
        found = recorded(name)
        assert not (found.flags or frozenset()) & found.unobserved


def test_what_linux_has_no_word_for_is_not_told() -> None:
    found = recorded("linux-unknown-sapphirerapids")
    assert {"AVX10", "AVX10_VERSION", "FP256", "AMXFP16", "PMU_FIXEDCOUNTER_CYCLES"} <= found.unobserved
    assert not {"AVX512F", "AVX512ER", "SSE4A", "XSAVE", "OSXSAVE", "X86_64_V4"} & found.unobserved


def test_what_needs_something_that_is_not_there_is_known_not_to_be_there() -> None:
    assert not {"SEV_64BIT", "IBSOPSAM", "AMXFP16", "SBPB"} & recorded("linux-rhel7-haswell").unobserved
    assert {"IBSOPSAM", "SBPB"} <= recorded("linux-rocky8.5-zen4").unobserved


@pytest.mark.parametrize(
    ("flags", "vendor", "siblings", "cores", "state"),
    [
        ("fpu ht", "GenuineIntel", "8", "4", "there"),
        ("fpu ht", "GenuineIntel", "4", "4", "not told"),
        ("fpu ht", "HygonGenuine", "8", "4", "not there"),
        ("fpu", "GenuineIntel", "8", "4", "not there"),
    ],
)
def test_htt_is_told_by_siblings(flags: str, vendor: str, siblings: str, cores: str, state: str) -> None:
    found = processor(flags, vendor, siblings=siblings, cpu_cores=cores)
    states = {"there": "HTT" in (found.flags or ()), "not told": "HTT" in found.unobserved}
    assert [name for name, holds in states.items() if holds] == ([] if state == "not there" else [state])


def test_words_that_linux_shows_for_reasons_of_its_own_are_not_trusted() -> None:
    intel, amd = processor("fpu ibrs ssbd"), processor("fpu ibrs ssbd", "AuthenticAMD", 0x17, 1)
    assert {"SPEC_CTRL_SSBD"} == {"IBRS", "SPEC_CTRL_SSBD"} & (intel.flags or set())
    assert {"IBRS"} == {"IBRS", "SPEC_CTRL_SSBD"} & (amd.flags or set())
    assert "SPEC_CTRL_SSBD" in amd.unobserved
    assert "CETSS" in processor("fpu").unobserved
    assert "CETSS" in (processor("fpu user_shstk").flags or ())


def test_vendor_family_and_model() -> None:
    found = recorded("linux-rocky8.5-zen4")
    assert (found.vendor, found.family, found.model, found.hypervisor) == ("AMD", "25", "17", "none")
    assert processor("fpu hypervisor").hypervisor is None
    assert processor("fpu", "  Shanghai  ").vendor == "Shanghai"


def test_the_name_stepping_and_microcode_are_those_of_all_processors() -> None:
    block = "vendor_id: AuthenticAMD\nmodel name: AMD EPYC 9654 96-Core Processor\nstepping: 1\nmicrocode: 0xa10110d\n"
    found = decode_cpuinfo(parse_cpuinfo(block), KNOWN)
    assert (found.maker, found.name) == ("AMD", "AMD EPYC 9654 96-Core Processor")
    assert (found.stepping, found.microcode) == ("1", "0xa10110d")
    mixed = decode_cpuinfo(parse_cpuinfo(block + "\n" + block.replace("0xa10110d", "0xa101148")), KNOWN)
    assert (mixed.name, mixed.microcode) == ("AMD EPYC 9654 96-Core Processor", None)
    assert decode_cpuinfo(parse_cpuinfo("vendor_id: X\nmodel name: unknown\n"), KNOWN).name is None


def test_l13_nothing_is_known_of_an_empty_file() -> None:
    assert decode_cpuinfo(parse_cpuinfo(""), KNOWN) == Processor()


def test_resource_director_technology_in_linux_words() -> None:
    everything = "cqm cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local rdt_a cat_l3 cat_l2 mba"
    names = {"RDTMON", "RDTCMT", "RDTMBM", "RDTL3CA", "RDTL2CA", "RDTMBA"}
    assert processor(everything).rdt == frozenset(names)
    assert processor(everything, "AuthenticAMD", 25, 17).rdt == frozenset(names - {"RDTMBA"})
    assert processor("cat_l3 mba").rdt == frozenset()


def test_c14_whether_sgx_is_on_is_not_told_by_its_word() -> None:
    assert processor("fpu").sgx_epc == 0
    assert processor("fpu sgx").sgx_epc is None


@given(st.lists(st.dictionaries(st.sampled_from(["flags", "vendor_id", "cpu family", "model", "siblings"]), st.text())))
def test_any_blocks_are_decoded(blocks: list[dict[str, str]]) -> None:
    info = Cpuinfo(tuple(blocks))
    found = decode_cpuinfo(info, KNOWN)
    assert not (found.flags or frozenset()) & found.unobserved
    drop_uneven(found.flags or frozenset(), info, KNOWN)
