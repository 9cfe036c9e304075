import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.sources.cpu.knowledge import is_safe_from_tsa, is_slow_avx, legal, load

KNOWN = load()


def test_the_table_has_every_flag_that_a_bit_tells() -> None:
    names = [flag.name for flag in KNOWN.flags]
    assert len(names) == len(set(names)) == 202
    assert "NFD" in KNOWN.origin


def test_what_a_flag_needs_stands_before_it() -> None:
    met = {"state:avx", "state:avx512", "vendor:AMD"}
    for flag in KNOWN.flags:
        assert met.issuperset(flag.needs), flag.name
        met.add(flag.name)


def test_no_two_flags_share_a_word_of_cpuinfo() -> None:
    words = [flag.cpuinfo for flag in KNOWN.flags if flag.cpuinfo]
    assert len(words) == len(set(words))


def test_the_levels_are_made_of_flags_in_the_table() -> None:
    names = {flag.name for flag in KNOWN.flags}
    assert [level.name for level in KNOWN.levels] == ["X86_64_V1", "X86_64_V2", "X86_64_V3", "X86_64_V4"]
    assert all(level.adds <= names for level in KNOWN.levels)


def test_a_level_counts_only_with_those_below_it() -> None:
    all_flags = frozenset[str]().union(*(level.adds for level in KNOWN.levels)) | {"SYSCALL"}
    assert KNOWN.levels_of(all_flags) == {"X86_64_V1", "X86_64_V2", "X86_64_V3", "X86_64_V4"}
    assert KNOWN.levels_of(all_flags - {"SSSE3"}) == {"X86_64_V1"}
    assert KNOWN.levels_of(all_flags - {"SYSCALL"}) == frozenset()


@pytest.mark.parametrize(
    ("vendor", "family", "model", "is_slow"),
    [
        ("Intel", 6, 58, True),
        ("Intel", 6, 60, False),
        ("AMD", 21, 2, True),
        ("AMD", 23, 1, True),
        ("AMD", 23, 49, False),
        ("AMD", 25, 17, False),
        ("Hygon", 24, 0, False),
    ],
)
def test_processors_that_halve_256_bits(vendor: str, family: int, model: int, is_slow: bool) -> None:
    assert is_slow_avx(vendor, family, model) is is_slow


@pytest.mark.parametrize(
    ("family", "model", "is_safe"),
    [(0x17, 1, True), (0x19, 1, False), (0x1A, 2, True), (0x1A, 0x50, False), (0x1A, 0x60, True)],
)
def test_processors_that_cannot_have_transient_scheduler_attacks(family: int, model: int, is_safe: bool) -> None:
    assert is_safe_from_tsa(family, model) is is_safe


def test_l14_a_vendor_with_a_slash_becomes_a_legal_value() -> None:
    assert legal("IBM/S390") == "IBM_S390"
    assert KNOWN.vendor("  Shanghai  ") == "Shanghai"


@given(st.text())
def test_any_text_becomes_legal(text: str) -> None:
    value = legal(text)
    assert value.isascii()
    assert not value or (value[0].isalnum() or value[0] == "_")
