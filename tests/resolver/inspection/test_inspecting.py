"""The bounds of an inspection: what is left over is said, and never taken for sound or for missing."""

import itertools
import subprocess
from pathlib import Path

from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.instructions.programs import needs_gcc
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection, Unexplored
from nodeworthy.verdicts.inspected import InspectedResult, doubt
from nodeworthy_resolver.inspection.inspecting import inspect_tree
from nodeworthy_resolver.inspection.limits import InspectingLimits
from nodeworthy_resolver.inspection.subject import ImageConfig, Outcome, Subject

CONFIG = ImageConfig(entrypoint=("/zz/app",), platform=Platform("linux", "amd64"))
APP = Made(kind=2).bytes()
LINKED = Made(interpreter="/zz/ld-musl-x86_64.so.1", needed=("libz.so",), rpath="/zz").bytes()
IMAGE: dict[str, bytes | str] = {
    "/zz/app": LINKED,
    "/zz/ld-musl-x86_64.so.1": Made(soname="libc.musl-x86_64.so.1").bytes(),
    "/zz/libz.so": Made(soname="libz.so").bytes(),
}


def told(inspection: Inspection) -> set[tuple[str, bool]]:
    return {(one.what, one.decides) for one in inspection.unexplored}


def test_what_starts_is_found_before_other_files_take_the_room() -> None:
    others: dict[str, bytes | str] = {f"/a/{number}": APP for number in range(5)}
    found = inspect_tree(MemoryTree({**others, **IMAGE}), CONFIG, InspectingLimits(elf_files=3))

    assert found.start == ("/zz/app",)
    assert not found.defects
    assert ("the rest of the ELF files", True) in told(found)


def test_a_started_file_that_can_be_read_only_in_part_decides() -> None:
    broken = Made(kind=2, needed=("libz.so",), tags={5: 0x7FFFFFFF}).bytes()
    found = inspect_tree(MemoryTree({"/zz/app": broken, "/zz/other": broken}), CONFIG)

    assert {("/zz/app", True), ("/zz/other", False)} <= told(found)
    assert doubt(InspectedResult(found, ()))


def test_a_table_that_goes_on_behind_what_is_read_is_told() -> None:
    many = Made(kind=2, needed=[f"lib{number}.so" for number in range(5000)]).bytes()

    assert ("/zz/app", True) in told(inspect_tree(MemoryTree({"/zz/app": many}), CONFIG))


def test_of_many_broken_files_the_first_are_named() -> None:
    broken = Made(needed=("libz.so",), tags={5: 0x7FFFFFFF}).bytes()
    found = inspect_tree(MemoryTree({"/zz/app": APP} | {f"/a/{number:03}": broken for number in range(300)}), CONFIG)

    assert ("/a/000", False) in told(found)
    assert ("280 more files", False) in told(found)


def test_when_the_time_is_over_nothing_is_concluded() -> None:
    found = inspect_tree(MemoryTree(IMAGE), CONFIG, InspectingLimits(seconds=0))

    assert ("what is started", True) in told(found)
    assert not found.defects
    assert not found.requirements


def test_a_reading_that_takes_too_long_is_stopped_and_the_others_are_asked() -> None:
    """Every look at the clock is a second later: the slow one reads on until it is stopped."""

    def slow(subject: Subject) -> Outcome:
        while True:
            subject.tree.read("/zz/app")

    def quick(_: Subject) -> Outcome:
        return Outcome(unexplored=(Unexplored("quick", "it was asked"),))

    seconds = itertools.count()
    found = inspect_tree(
        MemoryTree(IMAGE),
        CONFIG,
        InspectingLimits(seconds=1000),
        clock=lambda: float(next(seconds)),
        readings=(("slow", slow), ("quick", quick)),
    )

    assert [(one.what, one.why) for one in found.unexplored] == [
        ("slow", "the time for it was used up"),
        ("quick", "it was asked"),
    ]


def test_a_reading_that_fails_harms_only_itself() -> None:
    def failing(_: Subject) -> Outcome:
        raise ZeroDivisionError("by nothing")

    found = inspect_tree(MemoryTree(IMAGE), CONFIG, readings=(("failing", failing),))

    assert found.start == ("/zz/app",)
    assert [one.why for one in found.unexplored] == ["reading it failed: ZeroDivisionError: by nothing"]


@needs_gcc
def test_code_without_an_end_is_not_followed_to_its_end(tmp_path: Path) -> None:
    """Of a program that is one function of 20 MB of instructions that do nothing, then one for AVX2."""
    source, program = tmp_path / "long.s", tmp_path / "long"
    code = ".fill 20000000, 1, 0x90\nvpaddd %ymm0, %ymm1, %ymm2\nhlt"
    source.write_text(f".globl _start\n.type _start, @function\n_start:\n{code}\n.size _start, . - _start\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", program, source], check=True)
    found = inspect_tree(MemoryTree({"/zz/app": program.read_bytes()}), CONFIG)

    assert [one.decides for one in found.unexplored if one.what.startswith("the instructions of")] == [True]
