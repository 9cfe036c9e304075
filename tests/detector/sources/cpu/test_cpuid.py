import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.sources.cpu.cpuid import CpuidTable, Registers, signature


def test_the_vendor_is_spelt_over_three_registers() -> None:
    table = CpuidTable({(0, 0): Registers(1, 0x68747541, 0x444D4163, 0x69746E65)})
    assert table.vendor() == "AuthenticAMD"
    assert signature(0x4B4D564B, 0x564B4D56, 0x4D) == "KVMKVMKVM"


@pytest.mark.parametrize(
    ("eax", "family", "model"),
    [
        (0x000306D4, 6, 61),  # Broadwell
        (0x000806F6, 6, 143),  # Sapphire Rapids
        (0x00100F91, 16, 9),  # K10
        (0x00A10F11, 25, 17),  # Zen 4
        (0x00B00F21, 26, 2),  # Zen 5
        (0x00000F61, 15, 6),  # NetBurst
        (0x00000543, 5, 4),  # Pentium MMX: no extension counts
    ],
)
def test_family_and_model_with_their_extensions(eax: int, family: int, model: int) -> None:
    table = CpuidTable({(0, 0): Registers(1), (1, 0): Registers(eax)})
    assert (table.family(), table.model()) == (family, model)


def test_a_leaf_beyond_the_highest_reads_as_zeros() -> None:
    answers = {(0, 0): Registers(6), (7, 0): Registers(1, 1, 1, 1), (0x8000_0000, 0): Registers(0x8000_0000)}
    table = CpuidTable({**answers, (0x8000_0001, 0): Registers(1, 1, 1, 1)})
    assert table.registers(7) == table.registers(0x8000_0001) == Registers()
    assert not table.has(7, 0, "ebx", 0)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=3))
def test_any_registers_have_a_signature(words: list[int]) -> None:
    assert len(signature(*words)) <= 4 * len(words)
