from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.sources.cpu.cpuid import CpuidTable, Registers
from nodeworthy_detector.sources.cpu.knowledge import Flag, load
from nodeworthy_detector.sources.cpu.x86 import decode, leaves

KNOWN = load()

INTEL = (0x756E6547, 0x6C65746E, 0x49656E69)
AMD = (0x68747541, 0x444D4163, 0x69746E65)
HYGON = (0x6F677948, 0x656E6975, 0x6E65476E)

ZEN4 = 0x00A10F11

Bit = tuple[int, int, str, int]
XSAVE, OSXSAVE, AVX = (1, 0, "ecx", 26), (1, 0, "ecx", 27), (1, 0, "ecx", 28)

BROADWELL = {
    (0, 0): Registers(20, 1970169159, 1818588270, 1231384169),
    (0x80000000, 0): Registers(2147483656),
    (1, 0): Registers(198356, 34605056, 2147154879, 3219913727),
    (7, 0): Registers(0, 35399595, 0, 2617247232),
    (13, 1): Registers(1),
    (0x80000001, 0): Registers(0, 0, 289, 739248128),
}
ICELAKE = {
    (0, 0): Registers(20, 1970169159, 1818588270, 1231384169),
    (0x80000000, 0): Registers(2147483656),
    (1, 0): Registers(526017, 68159488, 2147154943, 3219913727),
    (7, 0): Registers(2, 4089423851, 415268830, 4228908816),
    (7, 1): Registers(0, 0, 0, 262144),
    (13, 1): Registers(15, 2440, 14592),
    (0x80000001, 0): Registers(0, 0, 289, 739248128),
    (0x80000002, 0): Registers(1752445233, 1852131104, 1953384736, 1378380901),
    (0x80000003, 0): Registers(1866670121, 1411933554, 1763715405, 825306423),
    (0x80000004, 0): Registers(927413560, 857751584, 1194340398, 31304),
}
"""Recorded by archspec-json (tests/targets: windows-cpuid-broadwell, windows-cpuid-icelake), which leaves XCR0 out."""


def table(
    *bits: Bit, vendor: tuple[int, int, int] = INTEL, eax: int = 0x000806F6, xcr0: int = 0xE7, highest: int = 0x30
) -> CpuidTable:
    """A processor with exactly these bits."""
    answers = {
        (0, 0): Registers(highest, vendor[0], vendor[1], vendor[2]),
        (1, 0): Registers(eax),
        (0x8000_0000, 0): Registers(0x8000_0030),
    }
    for leaf, subleaf, register, bit in bits:
        found = answers.get((leaf, subleaf), Registers())
        answers[leaf, subleaf] = found._replace(**{register: getattr(found, register) | 1 << bit})
    return CpuidTable(answers, xcr0)


def flags(*bits: Bit, xcr0: int = 0xE7) -> frozenset[str]:
    found = decode(table(*bits, xcr0=xcr0), KNOWN).flags
    assert found is not None
    return found


def needed_bits(name: str) -> set[Bit]:
    """All that a flag needs, followed down to bits."""
    states: Mapping[str, set[Bit]] = {"state:avx": {XSAVE, OSXSAVE, AVX}, "state:avx512": {XSAVE, OSXSAVE}}
    if ":" in name:
        return set(states.get(name, set()))
    flag = next(flag for flag in KNOWN.flags if flag.name == name)
    bits: set[Bit] = set(flag.bits if flag.every else flag.bits[:1])
    return bits.union(*(needed_bits(need) for need in flag.needs))


@pytest.mark.parametrize("known", KNOWN.flags, ids=lambda known: known.name)
def test_a_flag_is_raised_by_its_bit_and_by_nothing_else(known: Flag) -> None:
    vendor = AMD if "vendor:AMD" in known.needs else INTEL
    bits = needed_bits(known.name)
    with_bits = decode(table(*bits, vendor=vendor, eax=ZEN4), KNOWN).flags or frozenset()
    without = decode(table(*(bits - set(known.bits)), vendor=vendor, eax=ZEN4), KNOWN).flags or frozenset()
    assert known.name in with_bits
    assert known.name not in without


@pytest.mark.parametrize(
    ("name", "bit"),
    [
        # Bits as the manuals number them (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E).
        ("SSE3", (1, 0, "ecx", 0)),
        ("CX16", (1, 0, "ecx", 13)),
        ("SSE4", (1, 0, "ecx", 19)),
        ("SSE42", (1, 0, "ecx", 20)),
        ("POPCNT", (1, 0, "ecx", 23)),
        ("XSAVE", (1, 0, "ecx", 26)),
        ("OSXSAVE", (1, 0, "ecx", 27)),
        ("SSE2", (1, 0, "edx", 26)),
        ("BMI1", (7, 0, "ebx", 3)),
        ("SHA", (7, 0, "ebx", 29)),
        ("LZCNT", (0x8000_0001, 0, "ecx", 5)),
        ("FXSROPT", (0x8000_0001, 0, "edx", 25)),
        ("SYSCALL", (0x8000_0001, 0, "edx", 11)),
    ],
)
def test_flags_of_the_manuals(name: str, bit: Bit) -> None:
    assert name in flags(bit)


def test_xsave_and_osxsave_are_not_taken_from_sse3() -> None:
    found = flags((1, 0, "ecx", 0), (0xD, 1, "eax", 0))
    assert "SSE3" in found
    assert not {"XSAVE", "OSXSAVE", "XSAVEOPT"} & found


def test_fxsropt_is_not_taken_from_sse() -> None:
    found = flags((1, 0, "edx", 25))
    assert "SSE" in found
    assert "FXSROPT" not in found


def test_amxfp8_is_not_taken_from_protection_keys() -> None:
    avx512: tuple[Bit, ...] = (XSAVE, OSXSAVE, (7, 0, "ebx", 16), (7, 0, "ecx", 3))
    assert "AVX512F" in flags(*avx512)
    assert "AMXFP8" not in flags(*avx512)
    assert "AMXFP8" in flags(*avx512, (7, 0, "edx", 24), (0x1E, 1, "eax", 4))


@pytest.mark.parametrize(
    ("xcr0", "names"), [(0xE7, {"AVX", "AVX2", "AVX512F"}), (0x07, {"AVX", "AVX2"}), (0x03, set())]
)
def test_vector_flags_count_only_if_the_kernel_saves_their_registers(xcr0: int, names: set[str]) -> None:
    found = flags(XSAVE, OSXSAVE, AVX, (7, 0, "ebx", 5), (7, 0, "ebx", 16), xcr0=xcr0)
    assert found & {"AVX", "AVX2", "AVX512F"} == names


def test_a_processor_without_osxsave_has_no_vector_flags() -> None:
    assert not flags(XSAVE, AVX, (7, 0, "ebx", 16)) & {"AVX", "AVX512F", "OSXSAVE"}


def test_flags_of_amd_need_amd() -> None:
    for vendor, is_raised in ((AMD, True), (HYGON, False), (INTEL, False)):
        found = decode(table((0x8000_001F, 0, "eax", 1), vendor=vendor), KNOWN).flags or ()
        assert ("SEV" in found) is is_raised


def test_a_recorded_broadwell_is_level_3() -> None:
    found = decode(CpuidTable(BROADWELL, 0x07), KNOWN)
    assert (found.vendor, found.family, found.model) == ("Intel", "6", "61")
    assert found.flags is not None
    assert {"X86_64_V3", "ADX", "RDSEED", "MOVBE"} <= found.flags
    assert not {"X86_64_V4", "AVX512F", "SHA"} & found.flags


def test_a_recorded_icelake_is_level_4_only_where_the_kernel_saves_its_registers() -> None:
    with_avx512 = decode(CpuidTable(ICELAKE, 0xE7), KNOWN).flags or frozenset()
    without = decode(CpuidTable(ICELAKE, 0x07), KNOWN).flags or frozenset()
    assert {"X86_64_V4", "AVX512VNNI", "GFNI", "VAES"} <= with_avx512
    assert "X86_64_V3" in without
    assert "X86_64_V4" not in without


def test_the_model_has_a_name_a_stepping_and_a_vendor() -> None:
    found = decode(CpuidTable(ICELAKE, 0xE7), KNOWN)
    assert found.name == "11th Gen Intel(R) Core(TM) i7-1185G7 @ 3.00GHz"
    assert (found.maker, found.stepping, found.microcode) == ("Intel", "1", None)
    assert decode(table(), KNOWN).name is None


@pytest.mark.parametrize(
    ("vendor", "leaf_b", "is_raised"), [(INTEL, 2, True), (INTEL, 1, False), (AMD, 2, True), (HYGON, 2, False)]
)
def test_htt_needs_two_threads_in_a_core(vendor: tuple[int, int, int], leaf_b: int, is_raised: bool) -> None:
    found = table((1, 0, "edx", 28), vendor=vendor, eax=0x00A10F11)
    answers = {**found.answers, (0xB, 0): Registers(ebx=leaf_b)}
    assert ("HTT" in (decode(CpuidTable(answers), KNOWN).flags or ())) is is_raised


def test_old_processors_tell_their_threads_elsewhere() -> None:
    zen = table((1, 0, "edx", 28), vendor=AMD, eax=0x00800F12)
    with_threads = CpuidTable({**zen.answers, (0x8000_001E, 0): Registers(ebx=0x100)})
    assert "HTT" in (decode(with_threads, KNOWN).flags or ())
    assert "HTT" not in (decode(zen, KNOWN).flags or ())
    nehalem = table((1, 0, "edx", 28), eax=0x000106A5, highest=0xA)
    leaf_1 = nehalem.registers(1)._replace(ebx=16 << 16)
    answers = {**nehalem.answers, (1, 0): leaf_1, (4, 0): Registers(7 << 26)}
    assert "HTT" in (decode(CpuidTable(answers), KNOWN).flags or ())


@pytest.mark.parametrize(
    ("leaf_a", "names"),
    [
        (Registers(), set()),
        (Registers(eax=5, edx=3), {"INSTRUCTIONS", "CYCLES", "REFCYCLES"}),
        (Registers(eax=5, edx=4), {"INSTRUCTIONS", "CYCLES", "REFCYCLES", "TOPDOWN_SLOTS"}),
        (Registers(eax=5, ebx=0b0001, edx=4), {"CYCLES", "REFCYCLES", "TOPDOWN_SLOTS"}),
        (Registers(eax=1, edx=3), set()),
    ],
)
def test_fixed_performance_counters(leaf_a: Registers, names: set[str]) -> None:
    answers = {**table().answers, (0xA, 0): leaf_a}
    found = decode(CpuidTable(answers), KNOWN).flags or frozenset()
    assert {flag.removeprefix("PMU_FIXEDCOUNTER_") for flag in found if flag.startswith("PMU_")} == names


@pytest.mark.parametrize(
    ("letters", "name"),
    [
        (Registers(0, 0x4B4D564B, 0x564B4D56, 0x4D), "kvm"),
        (Registers(0, 0x7263694D, 0x666F736F, 0x76482074), "msvm"),
        (Registers(0, 0x61774D56, 0x4D566572, 0x65726177), "vmware"),
        (Registers(0, 0x41424344, 0x2F424344, 0), "DCBADCB"),
        (Registers(), "unknown"),
    ],
)
def test_hypervisors_by_their_letters(letters: Registers, name: str) -> None:
    answers = {**table((1, 0, "ecx", 31)).answers, (0x4000_0000, 0): letters}
    assert decode(CpuidTable(answers), KNOWN).hypervisor == name


def test_a_machine_without_the_flag_has_no_hypervisor() -> None:
    assert decode(table(), KNOWN).hypervisor == "none"


def test_tdx_guests_are_known_by_intels_leaf_and_by_hyper_vs() -> None:
    intel = {**table().answers, (0x21, 0): Registers(0, 0x65746E49, 0x20202020, 0x5844546C)}
    hyper_v = {**table().answers, (0x4000_000C, 0): Registers(ebx=0xBE3)}
    assert "TDX_GUEST" in (decode(CpuidTable(intel), KNOWN).flags or ())
    assert "TDX_GUEST" in (decode(CpuidTable(hyper_v), KNOWN).flags or ())
    assert "TDX_GUEST" not in flags()


def test_c14_sgx_without_protected_memory_is_off() -> None:
    assert decode(table((7, 0, "ebx", 2)), KNOWN).sgx_epc == 0


def test_protected_memory_of_sgx_is_summed_to_the_end_of_its_sections() -> None:
    sections = {
        (0x12, 2): Registers(eax=1, ecx=0x05E0_0001, edx=0),
        (0x12, 3): Registers(eax=1, ecx=0x0000_0001, edx=2),
        (0x12, 4): Registers(eax=0),
        (0x12, 5): Registers(eax=1, ecx=0x7000_0000, edx=0),
    }
    found = decode(CpuidTable({**table((7, 0, "ebx", 2)).answers, **sections}), KNOWN)
    assert found.sgx_epc == 0x05E0_0000 + (2 << 32)
    assert decode(CpuidTable({**table().answers, **sections}), KNOWN).sgx_epc == 0


def test_resource_director_technology() -> None:
    everything: tuple[Bit, ...] = (
        (7, 0, "ebx", 12),
        (7, 0, "ebx", 15),
        (0xF, 0, "edx", 1),
        (0xF, 1, "edx", 0),
        (0xF, 1, "edx", 1),
        (0xF, 1, "edx", 2),
        (0x10, 0, "ebx", 1),
        (0x10, 0, "ebx", 2),
        (0x10, 0, "ebx", 3),
    )
    names = {"RDTMON", "RDTCMT", "RDTMBM", "RDTL3CA", "RDTL2CA", "RDTMBA"}
    assert decode(table(*everything), KNOWN).rdt == frozenset(names)
    assert decode(table(*everything[1:]), KNOWN).rdt == frozenset({"RDTL3CA", "RDTL2CA", "RDTMBA"})
    assert decode(table(), KNOWN).rdt == frozenset()


def test_the_version_of_avx10_is_an_attribute() -> None:
    answers = {**table((7, 1, "edx", 19)).answers, (0x24, 0): Registers(ebx=0x0007_0002)}
    found = decode(CpuidTable(answers), KNOWN)
    assert found.attributes == {"AVX10_VERSION": "2"}
    assert {"AVX10", "AVX10_128", "AVX10_256", "AVX10_512"} <= (found.flags or set())
    assert decode(table(), KNOWN).attributes == {}


def test_every_leaf_that_is_looked_at_is_asked_for() -> None:
    class Watching(dict[tuple[int, int], Registers]):
        """Notes every key that is looked for; every answer has all bits."""

        def get(self, key: tuple[int, int], _default: object = None) -> Registers:
            looked_at.add(key)
            return Registers(0xFFFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF)

    looked_at: set[tuple[int, int]] = set()
    decode(CpuidTable(Watching(), 0xE7), KNOWN)
    assert looked_at - {(0, 0), (1, 0), (0x8000_0000, 0)} <= set(leaves(KNOWN))


word = st.integers(0, 2**32 - 1)


@given(st.dictionaries(st.sampled_from(leaves(KNOWN)), st.builds(Registers, word, word, word, word)), word)
def test_any_answers_are_decoded(answers: dict[tuple[int, int], Registers], xcr0: int) -> None:
    answers = {**table().answers, **answers}
    found = decode(CpuidTable(answers, xcr0), KNOWN)
    assert msgspec.json.encode(found)
