from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.system.elf import (
    newest_version,
    parse_header,
    parse_sections,
    parse_versions,
    read_elf,
    read_versions,
)

Plant = Callable[[Mapping[str, str | bytes]], Host]
MakeElf = Callable[..., bytes]

GLIBC = ("GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.36", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR")


@pytest.mark.parametrize(("bits", "order"), [(64, "<"), (64, ">"), (32, "<"), (32, ">")])
def test_the_versions_of_symbols_are_read_in_every_class_and_byte_order(
    plant: Plant, make_elf: MakeElf, bits: int, order: str
) -> None:
    host = plant({"lib/libc.so.6": make_elf(versions=GLIBC, bits=bits, order=order)})
    elf = read_elf(host, "lib/libc.so.6")
    assert elf is not None
    assert read_versions(host, elf) == GLIBC


def test_a_library_without_versions_has_none(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"lib/x.so": make_elf({".text": b"code"})})
    elf = read_elf(host, "lib/x.so")
    assert elf is not None
    assert read_versions(host, elf) == ()


def test_a_section_is_found_by_its_name(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"lib/x.so": make_elf({".text": b"code", ".go.buildinfo": b"info"})})
    elf = read_elf(host, "lib/x.so")
    assert elf is not None
    section = elf.find(host, ".go.buildinfo")
    assert section is not None
    assert elf.read(host, section) == b"info"
    assert elf.find(host, ".buildinfo") is None


def test_the_c_library_of_this_machine_has_the_version_that_it_says_of_itself() -> None:
    import platform

    name, version = platform.libc_ver()
    place = next(Path("/lib/x86_64-linux-gnu").glob("libc.so.6"), None) or next(Path("/lib64").glob("libc.so.6"), None)
    if name != "glibc" or place is None:
        pytest.skip("this machine runs no glibc for x86-64")
    elf = read_elf(Host(Path("/")), str(place))
    assert elf is not None
    assert newest_version(read_versions(Host(Path("/")), elf), "GLIBC") == version


@pytest.mark.parametrize(
    ("names", "prefix", "newest"),
    [
        (GLIBC, "GLIBC", "2.36"),
        (("GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.13"), "GLIBCXX", "3.4.30"),
        (("GLIBC_PRIVATE", "GLIBC_", "GLIBC_2.", "GLIBC_²"), "GLIBC", None),
        ((), "GLIBC", None),
    ],
)
def test_the_newest_version_is_the_highest_number(names: tuple[str, ...], prefix: str, newest: str | None) -> None:
    assert newest_version(names, prefix) == newest


def test_what_is_no_elf_file_is_told_and_what_is_not_there_is_not(plant: Plant) -> None:
    host = plant({"usr/lib64/libc.so.6": "/* GNU ld script */ GROUP ( /lib64/libc.so.6 )" + " " * 64})
    with pytest.raises(HostReadError, match="is no ELF file"):
        read_elf(host, "usr/lib64/libc.so.6")
    assert read_elf(host, "usr/lib64/libm.so.6") is None


def test_a_table_that_points_behind_the_file_is_an_empty_one(plant: Plant, make_elf: MakeElf) -> None:
    data = bytearray(make_elf(versions=GLIBC))
    data[40:48] = b"\xff" * 8
    host = plant({"lib/libc.so.6": bytes(data)})
    elf = read_elf(host, "lib/libc.so.6")
    assert elf is not None
    assert elf.sections == ()
    assert read_versions(host, elf) == ()


def test_a_chain_of_versions_that_leads_to_itself_ends(make_versions: Callable[..., tuple[bytes, bytes]]) -> None:
    names, chain = make_versions(("A_1", "A_2"))
    loop = bytearray(chain)
    loop[16:20] = (2**32 - 28).to_bytes(4, "little")  # back by one, in 32 bits
    assert parse_versions("<", bytes(loop), names) == ()


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_a_library_gives_versions_or_an_error_of_the_host(
    plant: Plant, make_elf: MakeElf, data: st.DataObject
) -> None:
    content = bytearray(make_elf(versions=GLIBC))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from((0, 1, 0x7F, 0xFF)))
    host = plant({"lib/libc.so.6": bytes(content[: data.draw(st.integers(0, len(content)))])})
    try:
        elf = read_elf(host, "lib/libc.so.6")
    except HostReadError:
        return
    assert elf is not None
    assert len(read_versions(host, elf)) <= 1024
    elf.find(host, ".dynstr")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_read(first: bytes, second: bytes) -> None:
    header = parse_header(first)
    if header is not None:
        parse_sections(header, second)
    assert len(parse_versions("<", first, second)) <= 1024
