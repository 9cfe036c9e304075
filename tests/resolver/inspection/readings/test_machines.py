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
    native, executed = read({"/app": made.bytes()}, platform).requirements
    assert (native.sureness, executed.sureness) == (Sureness.PROBABLE, Sureness.CERTAIN)
    architecture = platform.rpartition("/")[2]
    common = {"system.architecture": {"architecture": architecture}}
    runs, refuses = (
        node({**common, "cpu.execution": {ability: said}}, kernel_binfmt=NO_HANDLERS) for said in ("true", "false")
    )
    assert [outcome(one, runs) for one in (native, executed)] == [Outcome.TRUE, Outcome.TRUE]
    assert [outcome(one, refuses) for one in (native, executed)] == [Outcome.FALSE, Outcome.FALSE]
    assert outcome(executed, node(common)) is Outcome.UNKNOWN


def test_an_emulator_for_32_bit_arm_programs_makes_a_cpu_without_them_probable_only() -> None:
    native, executed = read({"/app": ARM.bytes()}, "linux/arm64").requirements
    handler = FeatureSet(instances=({"name": "qemu-arm", "enabled": "true", "architecture": "arm"},))
    facts = node(
        {"system.architecture": {"architecture": "arm64"}, "cpu.execution": {"aarch32": "false"}}, kernel_binfmt=handler
    )
    assert [outcome(one, facts) for one in (native, executed)] == [Outcome.FALSE, Outcome.TRUE]


def test_x86_nodes_register_no_emulator_for_386_so_unread_handlers_leave_nothing_open() -> None:
    _, executed = read({"/app": I386.bytes()}, "linux/amd64").requirements
    common = {"cpu.execution": {"ia32": "false"}}
    assert (
        outcome(executed, machine("amd64", cpu_execution=FeatureSet(attributes=common["cpu.execution"])))
        is Outcome.FALSE
    )
    assert (
        outcome(executed, machine("arm64", cpu_execution=FeatureSet(attributes={"aarch32": "false"})))
        is Outcome.UNKNOWN
    )


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
    assert [one.decides for one in read(files, "linux/arm64").unexplored] == [True]
    samples: dict[str, bytes | str] = {"/app": ARM64.bytes(), "/go/src/debug/elf/testdata/gcc-amd64": AMD64.bytes()}
    assert read(samples, "linux/arm64").defects == ()


@pytest.mark.parametrize(
    ("loader", "kernel", "met"),
    [
        ("/lib64/ld.so.1", "6.6.0", False),
        ("/lib64/ld.so.1", "4.19.190", True),
        ("/lib64/ld-linux-loongarch-lp64d.so.1", "6.6.0", True),
        ("/lib/ld-musl-loongarch64.so.1", "4.19.190", False),
    ],
)
def test_the_two_worlds_of_loongarch_want_kernels_of_their_own(loader: str, kernel: str, *, met: bool) -> None:
    (requirement,) = read({"/app": Made(machine=258, interpreter=loader).bytes()}, "linux/loong64").requirements
    assert requirement.sureness is Sureness.PROBABLE
    facts = node({"kernel.version": {"full": kernel}})
    assert outcome(requirement, facts) is (Outcome.TRUE if met else Outcome.FALSE)


@pytest.mark.parametrize(
    "path", ["/opt/prebuilds/linux-x64/tool", "/opt/tool-x86_64", "/usr/lib/x86_64-linux-gnu/tool"]
)
def test_a_foreign_program_whose_path_names_its_machine_or_that_has_a_twin_leaves_nothing_open(path: str) -> None:
    main: dict[str, bytes | str] = {"/app": ARM64.bytes()}
    assert read({**main, path: AMD64.bytes()}, "linux/arm64").unexplored == ()
    twins = {**main, "/one/tool": AMD64.bytes(), "/other/tool": ARM64.bytes()}
    assert read(twins, "linux/arm64").unexplored == ()


def test_what_a_script_most_likely_executes_for_another_platform_leaves_the_start_open() -> None:
    files: dict[str, bytes | str] = {
        "/bin/sh": ARM64.bytes(),
        "/start": b"#!/bin/sh\nif true; then x=1; fi\nexec /app\n",
        "/app": AMD64.bytes(),
    }
    found = read(files, "linux/arm64", "/start")
    assert [(one.code, one.sureness) for one in found.defects] == [("content-platform-mismatch", Sureness.PROBABLE)]
    assert [one.decides for one in found.unexplored] == [True]


def test_foreign_libraries_are_told_where_nothing_says_that_they_are_meant_for_another_platform() -> None:
    library = Made(soname="libjvm.so").bytes()
    main: dict[str, bytes | str] = {"/app": ARM64.bytes()}
    stray = read({**main, "/opt/java/lib/server/libjvm.so": library}, "linux/arm64")
    assert [one.code for one in stray.defects] == ["foreign-library"]
    assert [one.decides for one in stray.unexplored] == [True]
    for path in ("/usr/lib/x86_64-linux-gnu/libz.so", "/opt/linux-x64/x.node", "/src/testdata/x.so"):
        found = read({**main, path: library}, "linux/arm64")
        assert (found.defects, found.unexplored) == ((), ())
    narrow = read({"/app": AMD64.bytes(), "/usr/lib32/libz.so.1": Made(machine=3, bits=32).bytes()}, "linux/amd64")
    assert (narrow.requirements, narrow.defects, narrow.unexplored) == ((), (), ())
