"""What programs built here ask for. Whether each runs on plain CPUs was recorded with qemu-x86_64 -cpu qemu64."""

import pytest
from tests.resolver.inspection.instructions.programs import asked, built, needs_gcc, read_program, subject_of

from nodeworthy.requirements import Effect, Layer, Requirement, Sureness
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.instructions import read_instructions

pytestmark = needs_gcc

RUNS_EVERYWHERE = [
    ("sums", "-O2"),
    ("sums", "-O1"),
    ("sums", "-O2 -static"),
    ("structures", "-O2"),
    ("if_supported", "-O2"),
    ("if_supported", "-O2 -s"),
    ("exits_well", "-O2"),
    ("becomes_another", "-O2"),
    ("by_pointer", "-O2"),
    ("clones", "-O2"),
    ("counts_zeros", "-O2"),
    ("in_closure_if_supported", "-O2"),
]


@pytest.mark.parametrize(("source", "options"), RUNS_EVERYWHERE)
def test_nothing_is_asked_for_a_program_that_runs_on_every_cpu(source: str, options: str) -> None:
    outcome = read_program(built(source, options))

    assert outcome.requirements == ()
    assert [one for one in outcome.unexplored if one.decides] == []


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("if_asked", "-O2"),
        ("by_signal", "-O2"),
        ("waits_for_ever", "-O2"),
        ("exits_in_helper", "-O2"),
        ("by_variable", "-O2"),
        ("by_variable", "-O2 -static"),
        ("by_variable", "-O2 -static-pie"),
    ],
)
def test_what_may_never_run_is_not_certain(source: str, options: str) -> None:
    outcome = read_program(built(source, options))

    assert asked(outcome, Sureness.CERTAIN) == set()
    assert "AVX" in asked(outcome, Sureness.PROBABLE)


@pytest.mark.parametrize(
    ("source", "options", "feature"),
    [
        ("sums", "-O2 -march=x86-64-v3", "AVX"),
        ("ends_in_another", "-O2 -fno-plt", "AVX"),
        ("in_closure", "-O2", "AVX"),
        ("in_closure", "-O2 -s", "AVX"),
        ("in_closure_or_panics", "-O2", "AVX"),
        ("sums", "-O0 -march=x86-64-v3", "AVX"),
        ("sums", "-O2 -march=x86-64-v3 -static", "AVX"),
        ("sums", "-O2 -march=x86-64-v3 -static-pie", "AVX"),
        ("sums", "-O2 -march=x86-64-v3 -no-pie -s", "AVX"),
        ("sums", "-O2 -march=x86-64-v3 -fno-plt -fcf-protection", "AVX"),
        ("structures", "-O2 -march=x86-64-v3", "AVX"),
        ("if_supported", "-O2 -march=x86-64-v3", "AVX"),
        ("by_pointer", "-O2 -march=x86-64-v3", "AVX"),
        ("clones", "-O2 -march=x86-64-v3", "AVX"),
        ("options", "-O2 -march=x86-64-v3", "AVX"),
        ("options", "-O2 -march=x86-64-v3 -static", "AVX"),
        ("directly", "-O2", "AVX"),
        ("directly", "-O2 -s", "AVX"),
        ("directly", "-O2 -static", "AVX"),
        ("before_main", "-O2", "AVX"),
        ("before_main", "-O2 -static", "AVX"),
        ("exits_badly", "-O2", "AVX"),
        ("gives_up", "-O2", "AVX"),
        ("counts_bits", "-O2", "POPCNT"),
    ],
)
def test_what_runs_on_every_way_is_certain(source: str, options: str, feature: str) -> None:
    assert feature in asked(read_program(built(source, options)), Sureness.CERTAIN)


@pytest.mark.parametrize(
    ("options", "level"),
    [("-march=x86-64-v2", set[str]()), ("-march=x86-64-v3", {"AVX"}), ("-march=x86-64-v4", {"AVX"})],
)
def test_levels_are_told_apart(options: str, level: set[str]) -> None:
    assert asked(read_program(built("sums", f"-O2 {options}")), Sureness.CERTAIN) >= level
    assert bool(asked(read_program(built("sums", f"-O2 {options}")), Sureness.CERTAIN)) is bool(level)


def test_the_default_clone_of_a_program_for_v3_needs_fma_too() -> None:
    outcome = read_program(built("clones", "-O2 -march=x86-64-v3"))

    assert "FMA3" in asked(outcome, Sureness.PROBABLE) | asked(outcome, Sureness.CERTAIN)


def test_a_requirement_tells_where_and_what_to_do() -> None:
    (found,) = [one for one in read_program(built("directly")).requirements if one.sureness is Sureness.CERTAIN]

    assert (found.layer, found.effect) == (Layer.INSTRUCTION_SET, Effect.CRASHES)
    assert found.match_features[0].feature == "cpu.cpuid"
    assert {one.operator for one in (found.match_features[0].expressions or {}).values()} == {Operator.EXISTS}
    shown = found.evidence[0]
    assert (shown.file, shown.symbol) == ("/app", "fast")
    assert shown.seen.startswith("v")
    content = built("directly")
    assert shown.offset is not None
    assert content[shown.offset] in {0xC4, 0xC5, 0x62}
    assert found.remedy


def test_what_is_chosen_at_run_time_is_information() -> None:
    (told,) = read_program(built("if_supported")).information

    assert "AVX" in told.text
    assert told.code == "cpu-instructions-optional"


LIBRARY = "float work(void) { float s = 0; for (int i = 0; i < 99; i++) s += i * 1.5f; return s; }"
CALLER = "float work(void); int main(void) { return (int)work(); }"
SELDOM = "float work(void); int main(int c, char **v) { return c > 5 ? (int)work() : 0; }"


@pytest.mark.parametrize(("caller", "certain"), [(CALLER, True), (SELDOM, False)])
def test_a_library_counts_as_far_as_the_program_surely_calls_it(caller: str, certain: bool) -> None:
    library = built(LIBRARY, "-O2 -shared -fPIC -march=x86-64-v3")
    program = built(caller, "-O2", library)

    outcome = read_program(program, work=library)

    assert ("AVX" in asked(outcome, Sureness.CERTAIN)) is certain
    assert "AVX" in asked(outcome, Sureness.CERTAIN) | asked(outcome, Sureness.PROBABLE)


def test_a_library_with_a_constructor_runs_before_main() -> None:
    code = "double x; __attribute__((constructor)) void early(void) { x = x * 1.5 + 2; }"
    library = built(code, "-O2 -shared -fPIC -march=x86-64-v3")

    assert "AVX" in asked(read_program(built("sums"), early=library), Sureness.CERTAIN)


def extension(python: str, where: str) -> tuple[Requirement, ...]:
    files = {python: built("sums"), where: built(LIBRARY, "-O2 -shared -fPIC -march=x86-64-v3")}
    return read_instructions(subject_of(files, {python: (Role.PROGRAM, Sureness.CERTAIN)})).requirements


def test_extension_modules_of_the_started_interpreter_are_probable() -> None:
    (found,) = extension("/usr/bin/python3.11", "/usr/lib/python3/dist-packages/x/_x.so")

    assert found.sureness is Sureness.PROBABLE


def test_extension_modules_of_no_interpreter_that_is_started_are_advisory() -> None:
    (found,) = extension("/usr/bin/app", "/usr/lib/python3/dist-packages/x/_x.so")

    assert found.sureness is Sureness.ADVISORY


def test_the_extension_modules_of_a_package_ask_together() -> None:
    first = built(LIBRARY, "-O2 -shared -fPIC -march=x86-64-v3")
    second = built(LIBRARY.replace("99", "98"), "-O2 -shared -fPIC -march=x86-64-v2 -mssse3 -mavx")
    files = {"/python3": built("sums"), "/site-packages/p/a.so": first, "/site-packages/p/b/c.so": second}
    (found,) = read_instructions(subject_of(files, {"/python3": (Role.PROGRAM, Sureness.CERTAIN)})).requirements

    assert {"AVX", "FMA3"} <= set(found.match_features[0].expressions or {})
    assert {shown.file for shown in found.evidence} == {"/site-packages/p/a.so", "/site-packages/p/b/c.so"}


def test_equal_files_are_looked_at_once() -> None:
    module = built(LIBRARY, "-O2 -shared -fPIC -march=x86-64-v3")
    files = {"/python3": built("sums"), "/a/site-packages/m.so": module, "/b/site-packages/m.so": module}
    outcome = read_instructions(subject_of(files, {"/python3": (Role.PROGRAM, Sureness.CERTAIN)}))

    assert {shown.file for one in outcome.requirements for shown in one.evidence} == {"/a/site-packages/m.so"}


def test_one_of_a_family_of_libraries_asks_for_nothing() -> None:
    module = built(LIBRARY, "-O2 -shared -fPIC -march=x86-64-v3")
    files = {"/app": built("sums"), "/site-packages/libggml-cpu-haswell.so": module}
    outcome = read_instructions(subject_of(files, {"/app": (Role.PROGRAM, Sureness.CERTAIN)}))

    assert [one for one in outcome.requirements if one.sureness is not Sureness.ADVISORY] == []


def test_a_started_file_that_time_did_not_allow_decides() -> None:
    subject = subject_of({"/app": built("sums")}, {"/app": (Role.PROGRAM, Sureness.CERTAIN)}, clock=2.0)

    (told,) = read_instructions(subject).unexplored
    assert told.decides
    assert "/app" in told.what


def test_other_files_that_time_did_not_allow_do_not_decide() -> None:
    (told,) = read_instructions(subject_of({"/opt/tool": built("sums")}, {}, clock=2.0)).unexplored

    assert not told.decides


def test_a_packed_program_is_unexplored() -> None:
    (told,) = read_program(built("sums") + b"UPX!").unexplored

    assert told.decides
    assert "packed" in told.why


def test_vector_code_of_go_is_left_to_its_build_information() -> None:
    outcome = read_program(built("directly") + b"\xff Go buildinf:")

    assert outcome.requirements == ()
    assert [one.decides for one in outcome.unexplored] == [False]


def test_other_machines_are_told_in_one_line() -> None:
    content = bytearray(built("sums"))
    content[18:20] = (243).to_bytes(2, "little")

    (told,) = read_program(bytes(content)).unexplored
    assert (told.what, told.decides) == ("the instructions of 1 files for riscv64", False)


def test_programs_that_translate_are_told_of() -> None:
    subject = subject_of({"/usr/bin/node": built("sums")}, {"/usr/bin/node": (Role.PROGRAM, Sureness.CERTAIN)})

    assert [one.code for one in read_instructions(subject).information] == ["code-made-at-run-time"]
