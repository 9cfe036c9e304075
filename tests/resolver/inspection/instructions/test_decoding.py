"""Single instructions: those of public cases, and what must never raise a requirement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.inspection.instructions import decode_at

HARMLESS = {
    "f30f1efa": "endbr64",
    "f3480f1ec8": "rdsspq",
    "f30fbcc1": "tzcnt",
    "f390": "pause",
    "0f0d08": "prefetchw",
    "f20fb10f": "cmpxchg",
    "0f1f440000": "nop",
    "0f01d0": "xgetbv",
    "0fa2": "cpuid",
    "660fefc0": "pxor",
    "0faee8": "lfence",
}


@pytest.mark.parametrize(("code", "word"), HARMLESS.items())
def test_harmless_instructions_need_nothing(code: str, word: str) -> None:
    found = decode_at(bytes.fromhex(code), "amd64")

    assert found is not None
    assert word in found.text
    assert (found.features, found.is_trap, found.is_valid) == (frozenset(), False, True)


@pytest.mark.parametrize(
    ("code", "features"),
    [
        ("c5f5fec2", {"AVX2"}),  # vpaddd ymm0, ymm1, ymm2
        ("c5f8104008", {"AVX"}),  # vmovups xmm0, [rax + 8]
        ("c4e2f1b8c2", {"FMA3"}),  # vfmadd231pd
        ("62f1fe486f00", {"AVX512F"}),  # vmovdqu64 zmm0, [rax]
        ("62f17e086f00", {"AVX512F", "AVX512VL"}),  # vmovdqu32 xmm0, [rax]
        ("660f381cc1", {"SSSE3"}),  # pabsb
        ("660f3840c1", {"SSE4"}),  # pmulld
        ("f3480fb8c1", {"POPCNT"}),
        ("c4e2e9f7c1", {"BMI2"}),  # shlx
        ("c4e270f2c1", {"BMI1"}),  # andn
        ("f30fbdc1", {"LZCNT"}),
        ("c4e2635eca", {"AMXINT8"}),  # tdpbssd
        ("0fc7f8", {"RDSEED"}),
    ],
)
def test_x86_features_have_the_names_of_node_facts(code: str, features: set[str]) -> None:
    found = decode_at(bytes.fromhex(code), "amd64")

    assert found is not None
    assert found.features == features


@pytest.mark.parametrize(
    ("code", "architecture"),
    [
        ("0f0b", "amd64"),
        ("0fb9c0", "amd64"),
        ("cc", "amd64"),
        ("00000000", "arm64"),
        ("200020d4", "arm64"),
    ],
)
def test_deliberate_traps_are_told(code: str, architecture: str) -> None:
    found = decode_at(bytes.fromhex(code), architecture)

    assert found is not None
    assert found.is_trap
    assert found.features == frozenset()


def test_bytes_that_are_no_instruction_are_told() -> None:
    found = decode_at(b"\x06\x06\x06\x06", "amd64")

    assert found is not None
    assert not found.is_valid


def test_arm_is_told_by_feature_and_word() -> None:
    found = decode_at(bytes.fromhex("2100e2b8"), "arm64")

    assert found is not None
    assert (found.text, found.features) == ("ATOMICS 0xb8e20021", frozenset({"ATOMICS"}))


@pytest.mark.parametrize(
    ("code", "architecture"), [(b"", "amd64"), (b"\x00\x00", "arm64"), (b"\x0f\x0b\x00\x00", "riscv64")]
)
def test_what_cannot_be_decoded_is_none(code: bytes, architecture: str) -> None:
    assert decode_at(code, architecture) is None


@given(st.binary(max_size=20), st.sampled_from(["amd64", "arm64"]), st.integers(0, 2**64 - 32))
def test_any_bytes_are_decoded_or_not_without_an_error(code: bytes, architecture: str, address: int) -> None:
    found = decode_at(code, architecture, address)

    assert found is None or found.text
