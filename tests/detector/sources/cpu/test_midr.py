import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.labels import legal_value
from nodeworthy_detector.sources.cpu import midr


@pytest.mark.parametrize(
    ("code", "nfd", "name"),
    [
        ("0x41", "ARM", "ARM"),
        ("0x51", "Qualcomm", "Qualcomm"),
        ("0x61", "0x61", "Apple"),
        ("0x48", "0x48", "HiSilicon"),
        ("0x99", "0x99", "0x99"),
        ("0x1000", None, None),
        ("x", None, None),
        (None, None, None),
    ],
)
def test_implementers(code: str | None, nfd: str | None, name: str | None) -> None:
    assert midr.vendor_id(code) == nfd
    assert midr.vendor_name(code) == name


@pytest.mark.parametrize(
    ("implementer", "part", "name"),
    [
        ("0x41", "0xd0b", "Cortex-A76"),
        ("0x41", "0xd4f", "Neoverse-V2"),
        ("0x61", "0x032", "Blizzard-M2"),
        ("0x46", "0x001", "A64FX"),
        ("0x46", "0x003", "MONAKA"),
        ("0x51", "0x001", "Oryon-X1"),
        ("0x41", "0xfff", "0xfff"),
        ("0x99", "0x001", "0x001"),
        ("0x41", "0x12345", None),
        ("0x41", None, None),
        ("0x41", "", None),
    ],
)
def test_names_of_cores(implementer: str, part: str | None, name: str | None) -> None:
    assert midr.core_name(implementer, part) == name


def test_c9_a_centriq_is_qualcomms_and_its_unknown_part_stays_a_number() -> None:
    assert midr.vendor_name("0x51") == "Qualcomm"
    assert midr.core_name("0x51", "0xc00") == "0xc00"


def test_every_name_is_a_legal_label_value_as_it_is() -> None:
    implementers = (0x41, 0x42, 0x43, 0x46, 0x48, 0x4E, 0x50, 0x51, 0x61, 0x6D, 0x70, 0xC0)
    names = {midr.core_name(f"{implementer:#x}", f"{part:#x}") for implementer in implementers for part in range(4096)}
    assert {name for name in names if name and legal_value(name) != name} == set()
    assert "Neoverse-N1" in names


@pytest.mark.parametrize(
    ("cores", "runs"),
    [
        (["Cortex-A76", "Cortex-A55"], True),
        (["Cortex-A76", "Cortex-X2"], False),
        (["Cortex-A76", "Neoverse-N2"], None),
        (["Cortex-X2", None], False),
        (["Cortex-A76", None], None),
        ([], None),
    ],
)
def test_32_bit_programs_run_where_every_core_can_run_them(cores: list[str | None], runs: bool | None) -> None:
    assert midr.runs_aarch32(cores) is runs


@given(st.text(), st.text())
def test_any_text_is_read(implementer: str, part: str) -> None:
    midr.vendor_id(implementer)
    midr.vendor_name(implementer)
    midr.core_name(implementer, part)
