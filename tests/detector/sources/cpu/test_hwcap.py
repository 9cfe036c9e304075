import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.detector.conftest import Plant

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.cpuinfo import Cpuinfo, parse_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.hwcap import (
    Capabilities,
    bit_names,
    flag_names,
    hwcap_set,
    parse_auxv,
    read_capabilities,
    words_of_bits,
)
from nodeworthy_detector.sources.reading import Faults

HOSTS = Path(__file__).parents[3] / "data" / "hosts"
KNOWN: dict[str, Any] = json.loads((HOSTS / "hwcaps.json").read_text(encoding="utf-8"))["architectures"]
MACHINES = {"arm64": "aarch64", "arm32": "armv7l", "ppc64le": "ppc64le", "s390x": "s390x"}
ENTRIES = {"AT_HWCAP": 16, "AT_HWCAP2": 26, "AT_HWCAP3": 29}

BITS = [
    pytest.param(MACHINES[name], ENTRIES[word], *bit, id=f"{name}-{word}-{bit[0]}")
    for name, words in KNOWN.items()
    for word, bits in words.items()
    for bit in bits
]


@pytest.mark.parametrize(("machine", "entry", "bit", "flag", "word"), BITS)
def test_each_bit_has_the_name_that_nfd_gives_it(
    machine: str, entry: int, bit: int, flag: str | None, word: str | None
) -> None:
    words = words_of_bits({entry: 1 << bit}, machine)
    # What NFD drops goes by the same rule: Linux' word in capitals.
    assert flag_names(words, machine) == {flag or (word or "").upper()}
    if word:
        assert words == {word}


def test_no_table_has_more_names_than_a_word_has_bits() -> None:
    for machine in (*MACHINES.values(), "x86_64"):
        assert all(len(names) <= 64 for names in bit_names(machine))
    assert [len(names) for names in bit_names("aarch64")][:2] == [48, 64]
    assert bit_names("sparc64") == bit_names(None) == ()


def vector(entries: dict[int, int]) -> bytes:
    return b"".join(struct.pack("@NN", *entry) for entry in {**entries, 0: 0}.items())


def test_a_power9_tells_its_flags_to_programs_only(plant: Plant) -> None:
    auxv = {16: 0xDC0065C2, 26: 0xAEF00000, 6: 65_536}
    host = plant({"proc/self/auxv": vector(auxv)})
    assert read_capabilities(host, "ppc64le", None, Faults()).words is None
    here = Host(Path(str(host)), is_this_machine=True)
    found = read_capabilities(here, "ppc64le", parse_cpuinfo("cpu : POWER9\n"), Faults())
    assert {"ALTIVEC", "VSX", "ARCH_2_06", "ARCH_3_00", "DARN", "SCV", "IEEE128"} <= (found.flags or set())
    assert "HTM" not in (found.flags or set())
    content = hwcap_set(found, "ppc64le")
    assert isinstance(content, FeatureSet)
    assert content.attributes == {"hwcap": "0xdc0065c2", "hwcap2": "0xaef00000"}
    assert not content.unobserved


def test_the_words_of_a_file_and_the_bits_of_a_program_say_the_same() -> None:
    info = parse_cpuinfo("processor : 0\nFeatures : fp asimd atomics sve2 gcs poe\n")
    bits = {16: 1 | 1 << 1 | 1 << 8 | 1 << 32, 26: 1 << 1 | 1 << 63}
    told = read_capabilities(Host(Path("/nowhere")), "aarch64", info, Faults())
    assert told.words == words_of_bits(bits, "aarch64")
    assert told.flags == frozenset({"FP", "ASIMD", "ATOMICS", "SVE2", "GCS", "POE"})


def test_a_word_that_is_newer_than_the_tables_is_a_word_and_no_flag() -> None:
    info = parse_cpuinfo("Features : fp newthing\n")
    found = read_capabilities(Host(Path("/nowhere")), "aarch64", info, Faults())
    assert (found.words, found.flags) == (frozenset({"fp", "newthing"}), frozenset({"FP"}))


def test_old_arm_words_have_nfds_spelling() -> None:
    info = parse_cpuinfo("Features : half thumb fastmult vfp vfpv3 vfpv3d16 vfpv4 vfpd32 idiva\n")
    found = read_capabilities(Host(Path("/nowhere")), "armv7l", info, Faults())
    assert found.flags == frozenset(
        {"HALF", "THUMB", "FASTMUL", "VFP", "VFPv3", "VFPv3D16", "VFPv4", "VFPD32", "IDIVA"}
    )


def test_the_numbers_of_another_machine_are_unobserved() -> None:
    content = hwcap_set(Capabilities(frozenset({"fp"}), frozenset({"FP"})), "aarch64")
    assert content == FeatureSet(frozenset({"fp"}), {}, unobserved=frozenset({"hwcap", "hwcap2", "hwcap3"}))
    assert isinstance(hwcap_set(Capabilities(), "x86_64"), SetStatus)


def test_this_machine_tells_its_own_words() -> None:
    here = Host(Path("/"))
    machine = os.uname().machine
    found = read_capabilities(here, machine, Cpuinfo(()), Faults())
    content = hwcap_set(found, machine)
    assert isinstance(content, FeatureSet)
    # getauxval(AT_PAGESZ), as sysconf has it too: the vector was read as it is.
    assert found.auxv[6] == os.sysconf("SC_PAGE_SIZE")
    assert int((content.attributes or {})["hwcap"], 16) == found.auxv[16]
    if machine == "x86_64":
        assert {"fpu", "sse2"} <= (content.flags or set())


def test_a_vector_that_cannot_be_read_is_a_fault(plant: Plant) -> None:
    host = plant({"proc/self/auxv/": ""})
    faults = Faults()
    assert not read_capabilities(Host(Path(str(host)), is_this_machine=True), "ppc64le", None, faults).auxv
    assert faults.listed() == ("proc/self/auxv is no regular file",)


@given(st.binary())
def test_any_bytes_are_read_as_a_vector(data: bytes) -> None:
    entries = parse_auxv(data)
    assert 0 not in entries
    for machine in (*MACHINES.values(), "x86_64", None):
        flag_names(words_of_bits(entries, machine), machine)
