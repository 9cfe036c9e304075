"""Machines of programs, against the claimed platform and against nodes."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import machine, node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy import platforms
from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.machines import read_machines
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

AMD64, I386, ARM64, ARM = (
    Made(kind=2, machine=number, bits=bits) for number, bits in ((62, 64), (3, 32), (183, 64), (40, 32))
)
NO_HANDLERS = FeatureSet(instances=())
HANDLER = FeatureSet(instances=({"name": "qemu-x86_64", "enabled": "true", "architecture": "amd64"},))


def read(files: dict[str, bytes | str], platform: str = "", *arguments: str) -> Found:
    claimed = platforms.parse(platform) if platform else None
    return read_machines(prepared(MemoryTree(files), ImageConfig(arguments or ("/app",), platform=claimed)))


@pytest.mark.parametrize(("made", "platform"), [(AMD64, "linux/amd64"), (ARM64, "linux/arm64"), (I386, "linux/386")])
def test_a_program_for_the_claimed_platform_asks_nothing_more(made: Made, platform: str) -> None:
    found = read({"/app": made.bytes()}, platform)
    assert (found.requirements, found.defects) == ((), ())


@pytest.mark.parametrize(
    ("made", "platform"),
    [
        (AMD64, "linux/arm64"),
        (ARM64, "linux/amd64"),
        (AMD64, "linux/arm/v7"),
        (Made(kind=2, machine=21), "linux/s390x"),
    ],
)
def test_a_program_for_another_platform_is_a_certain_defect(made: Made, platform: str) -> None:
    (defect,) = read({"/app": made.bytes()}, platform).defects
    assert (defect.code, defect.sureness) == ("content-platform-mismatch", Sureness.CERTAIN)
    assert platform in defect.text


def test_a_program_behind_an_init_counts_too_and_behind_a_script_probably() -> None:
    files: dict[str, bytes | str] = {"/tini": ARM64.bytes(), "/bin/sh": ARM64.bytes(), "/app": AMD64.bytes()}
    (certain,) = read(files, "linux/arm64", "/tini", "--", "/app").defects
    (probable,) = read(files, "linux/arm64", "/bin/sh", "-c", "true && /app").defects
    assert (certain.sureness, probable.sureness) == (Sureness.CERTAIN, Sureness.PROBABLE)


def test_an_emulator_in_the_image_leaves_the_question_open() -> None:
    found = read({"/usr/bin/qemu-arm-static": AMD64.bytes()}, "linux/arm/v7", "/usr/bin/qemu-arm-static", "/app")
    assert (found.defects, [one.decides for one in found.unexplored]) == ((), [True])


@pytest.mark.parametrize(
    ("made", "platform", "ability"), [(I386, "linux/amd64", "ia32"), (ARM, "linux/arm64", "aarch32")]
)
def test_a_32_bit_program_asks_whether_the_node_runs_such(made: Made, platform: str, ability: str) -> None:
    (requirement,) = read({"/app": made.bytes()}, platform).requirements
    assert requirement.sureness is Sureness.CERTAIN
    assert outcome(requirement, node({"cpu.execution": {ability: "true"}})) is Outcome.TRUE
    assert outcome(requirement, node({"cpu.execution": {ability: "false"}})) is Outcome.FALSE
    assert outcome(requirement, node({})) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("made", "platform"),
    [(Made(kind=2, bits=32), "linux/amd64"), (Made(kind=2, machine=22, bits=32, order=">"), "linux/s390x")],
)
def test_32_bit_programs_of_which_no_facts_tell_leave_the_question_open(made: Made, platform: str) -> None:
    found = read({"/app": made.bytes()}, platform)
    assert (found.requirements, found.defects, [one.decides for one in found.unexplored]) == ((), (), [True])


def test_a_64_bit_program_in_a_32_bit_image_asks_for_a_64_bit_node() -> None:
    found = read({"/app": AMD64.bytes()}, "linux/386")
    assert found.defects == ()
    (requirement,) = found.requirements
    assert outcome(requirement, machine("amd64")) is Outcome.TRUE
    assert outcome(requirement, machine("386")) is Outcome.FALSE


def test_a_bare_program_runs_on_its_machine_nowhere_else_and_under_an_emulator_perhaps() -> None:
    native, executed = read({"/app": AMD64.bytes()}).requirements
    assert (native.sureness, executed.sureness) == (Sureness.PROBABLE, Sureness.CERTAIN)
    on = [machine("amd64"), machine("arm64", kernel_binfmt=NO_HANDLERS), machine("arm64", kernel_binfmt=HANDLER)]
    assert [outcome(native, one) for one in on] == [Outcome.TRUE, Outcome.FALSE, Outcome.FALSE]
    assert [outcome(executed, one) for one in on] == [Outcome.TRUE, Outcome.FALSE, Outcome.TRUE]


def test_32_bit_helpers_with_their_loader_are_probable_and_without_it_advisory() -> None:
    helper = Made(machine=3, bits=32, interpreter="/lib/ld-linux.so.2").bytes()
    files: dict[str, bytes | str] = {"/app": AMD64.bytes(), "/steam/linux32/steamcmd": helper}
    loader = Made(machine=3, bits=32, soname="ld-linux.so.2").bytes()
    (alone,) = read(files, "linux/amd64").requirements
    (usable,) = read({**files, "/lib/ld-linux.so.2": loader}, "linux/amd64").requirements
    assert (alone.sureness, usable.sureness) == (Sureness.ADVISORY, Sureness.PROBABLE)


def test_helpers_of_a_foreign_machine_are_a_probable_defect_and_samples_are_none() -> None:
    files: dict[str, bytes | str] = {"/app": ARM64.bytes(), "/opt/tool": AMD64.bytes()}
    (defect,) = read(files, "linux/arm64").defects
    assert (defect.code, defect.sureness) == ("foreign-program", Sureness.PROBABLE)
    assert "/opt/tool" in defect.text
    samples: dict[str, bytes | str] = {"/app": ARM64.bytes(), "/go/src/debug/elf/testdata/gcc-amd64": AMD64.bytes()}
    assert read(samples, "linux/arm64").defects == ()
