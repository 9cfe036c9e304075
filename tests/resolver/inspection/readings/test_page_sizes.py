"""Segments against pages of 4, 16 and 64 KiB."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.readings.page_sizes import first_misfit, read_page_sizes
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found


def read(files: dict[str, bytes | str]) -> Found:
    return read_page_sizes(prepared(MemoryTree(files), ImageConfig(("/app",))))


def program(*segments: tuple[int, int, int], machine: int = 183) -> bytes:
    return Made(kind=2, machine=machine, segments=segments).bytes()


@pytest.mark.parametrize(
    ("offset", "address", "align", "sizes"),
    [
        (0, 0x10000, 0x10000, [4096, 16384, 65536]),
        (0x1000, 0x41000, 0x10000, [4096, 16384, 65536]),
        (0x1000, 0x2000, 0x1000, [4096]),
        (0x1000, 0x5000, 0x4000, [4096, 16384]),
        (0x1008, 0x2000, 0x1000, []),
        (0x1000, 0x41000, 3, [4096, 16384, 65536]),
    ],
)
def test_address_and_offset_have_to_agree_within_a_page(
    offset: int, address: int, align: int, sizes: list[int]
) -> None:
    elf = read_elf(program((offset, address, align)))
    assert elf is not None
    assert [size for size in (4096, 16384, 65536) if first_misfit(elf, size, is_strict=False) is None] == sizes


def test_older_glibc_also_looks_at_the_alignment_itself() -> None:
    elf = read_elf(program((0x1000, 0x41000, 0x1000)))
    assert elf is not None
    assert first_misfit(elf, 65536, is_strict=False) is None
    assert first_misfit(elf, 65536, is_strict=True) is not None
    assert first_misfit(elf, 4096, is_strict=True) is None


def test_a_program_for_small_pages_asks_for_them() -> None:
    (requirement,) = read({"/app": program((0x1000, 0x2000, 0x1000))}).requirements
    assert requirement.sureness is Sureness.CERTAIN
    small, large = (node({"memory.page": {"size": size}}) for size in ("4096", "65536"))
    assert outcome(requirement, small) is Outcome.TRUE
    assert outcome(requirement, large) is Outcome.FALSE
    assert outcome(requirement, node({})) is Outcome.UNKNOWN


def test_a_program_for_all_pages_and_one_of_a_machine_with_one_size_ask_nothing() -> None:
    assert read({"/app": program((0x1000, 0x41000, 0x10000))}).requirements == ()
    assert read({"/app": program((0x1000, 0x2000, 0x1000), machine=62)}).requirements == ()


def test_what_fits_no_page_is_a_defect_certain_only_for_what_runs() -> None:
    broken = program((0x1008, 0x2000, 0x1000), machine=62)
    (runs,) = read({"/app": broken}).defects
    (beside,) = read({"/app": program(machine=62), "/lib/numpy.so": broken}).defects
    assert (runs.code, runs.sureness, beside.sureness) == ("segments-misaligned", Sureness.CERTAIN, Sureness.PROBABLE)


def test_a_broken_library_that_may_be_loaded_later_leaves_open_whether_it_is() -> None:
    broken = program((0x1008, 0x2000, 0x1000), machine=62)
    (doubt,) = read({"/app": program(machine=62), "/lib/numpy.so": broken}).unexplored
    assert (doubt.decides, "/lib/numpy.so" in doubt.what) == (True, True)
    assert read({"/app": broken}).unexplored == ()
    assert read({"/app": program(machine=62), "/x/testdata/numpy.so": broken}).unexplored == ()


def test_a_library_that_may_be_loaded_later_is_probable() -> None:
    files: dict[str, bytes | str] = {
        "/app": program(),
        "/opt/sharp.node": Made(machine=183, segments=((0x1000, 0x2000, 1),)).bytes(),
    }
    (requirement,) = read(files).requirements
    assert requirement.sureness is Sureness.PROBABLE
    assert [one.file for one in requirement.evidence] == ["/opt/sharp.node"]
