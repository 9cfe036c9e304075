"""Allocators that were built for one size of pages."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.real_files import debian
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Requirement, Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.allocators import read_allocators
from nodeworthy_resolver.inspection.readings.page_of_jemalloc import find_page_size
from nodeworthy_resolver.inspection.subject import ImageConfig

ARM64 = 183
MESSAGE = b"<jemalloc>: Unsupported system page size\n\0"
SHIFTED = 1 << 22


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def compare(pages: int) -> int:
    """``cmp x0, #pages, lsl #12``."""
    return 0xF100001F | SHIFTED | pages << 10


def program(code: list[int], text: bytes = MESSAGE) -> bytes:
    """Instructions, then the message; the file is mapped from address 0 on, and all of it lies in one page."""
    start = len(Made(machine=ARM64, kind=2, tail=bytes(8)).bytes()) - 8
    at = start + 4 * (len(code) + 2)
    address = [0x90000000, 0x91000000 | at << 10]
    filled = [address[0] if word == ADDRESS else word for word in code]
    place = filled.index(address[0]) + 1
    filled[place:place] = [address[1]]
    padding = [0xD503201F] * (len(code) + 2 - len(filled))
    return Made(machine=ARM64, kind=2, tail=words(*filled, *padding) + text).bytes()


ADDRESS, NOP = -1, 0xD503201F
HIGHER, LOWER_OR_SAME = 8, 9


def jump(condition: int, instructions: int) -> int:
    return 0x54000000 | (instructions & 0x7FFFF) << 5 | condition


def jumping_to(pages: int) -> bytes:
    return program([compare(pages), jump(HIGHER, 3), NOP, NOP, ADDRESS, NOP])


def jumping_over(pages: int) -> bytes:
    return program([compare(pages), jump(LOWER_OR_SAME, 4), ADDRESS, NOP, NOP])


def found_size(data: bytes) -> int | None:
    elf = read_elf(data)
    assert elf is not None
    return find_page_size(elf, memoryview(data), data.find(MESSAGE[:20]))


@pytest.mark.parametrize(("pages", "size"), [(1, 4096), (4, 16384), (16, 65536), (3, None)])
def test_the_page_is_what_the_kernel_s_is_compared_with(pages: int, size: int | None) -> None:
    assert found_size(jumping_to(pages)) == size
    assert found_size(jumping_over(pages)) == size


def test_code_of_another_shape_has_no_answer() -> None:
    assert found_size(program([compare(1), NOP, ADDRESS, NOP])) is None


def only(data: bytes) -> Requirement:
    (requirement,) = read_allocators(prepared(MemoryTree({"/app": data}), ImageConfig(("/app",)))).requirements
    return requirement


def page(size: int) -> dict[str, dict[str, str]]:
    return {"memory.page": {"size": str(size)}}


@pytest.mark.parametrize(
    ("pages", "node_page", "met"),
    [(1, 4096, True), (1, 16384, False), (4, 16384, True), (4, 4096, True), (4, 65536, False)],
)
def test_smaller_pages_are_fine_and_larger_ones_are_not(pages: int, node_page: int, *, met: bool) -> None:
    requirement = only(jumping_to(pages))
    assert requirement.sureness is Sureness.CERTAIN
    assert outcome(requirement, node(page(node_page))) is (Outcome.TRUE if met else Outcome.FALSE)


def test_a_build_for_the_largest_pages_asks_for_nothing() -> None:
    subject = prepared(MemoryTree({"/app": jumping_to(16)}), ImageConfig(("/app",)))
    assert read_allocators(subject).requirements == ()


def test_where_the_page_cannot_be_read_it_is_probable() -> None:
    requirement = only(program([NOP, ADDRESS, NOP]))
    assert requirement.sureness is Sureness.PROBABLE
    assert outcome(requirement, node(page(16384))) is Outcome.FALSE


def test_on_x86_there_is_one_size_only() -> None:
    subject = prepared(MemoryTree({"/app": Made(kind=2, tail=MESSAGE).bytes()}), ImageConfig(("/app",)))
    assert read_allocators(subject).requirements == ()


def test_tcmalloc_on_arm64_wants_48_bits() -> None:
    requirement = only(Made(machine=ARM64, kind=2, tail=b"\0MmapAligned() failed - unable to allocate\0").bytes())
    assert requirement.sureness is Sureness.PROBABLE
    assert outcome(requirement, node({"cpu.address": {"virtual_bits": "39"}})) is Outcome.FALSE
    assert outcome(requirement, node({"cpu.address": {"virtual_bits": "48"}})) is Outcome.TRUE


def test_debian_builds_for_64_kib() -> None:
    package = debian(
        "pool/main/j/jemalloc/libjemalloc2_5.3.0-1_arm64.deb",
        "866eba7688ec5cbb98200a05540c4909df6320557371b634b5d394cd32b9f252",
    )
    assert found_size(package["/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"]) == 65536


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_any_instructions_have_an_answer_or_none(code: list[int]) -> None:
    data = Made(machine=ARM64, kind=2, tail=words(*code) + MESSAGE).bytes()
    assert found_size(data) in {None, 4096, 8192, 16384, 65536}
