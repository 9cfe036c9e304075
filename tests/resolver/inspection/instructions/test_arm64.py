"""Programs for AArch64, written word by word."""

import struct
from collections.abc import Sequence

import pytest
from tests.resolver.inspection.instructions.programs import asked, read_program

from nodeworthy.requirements import Requirement, Sureness
from nodeworthy_resolver.inspection.instructions.arm64 import Arm64
from nodeworthy_resolver.inspection.instructions.steps import Flow

ADDRESS = 0x400000
RET, NOP, UDF = 0xD65F03C0, 0xD503201F, 0
LDADD, LDAXR, STLXR = 0xB8E10001, 0x885FFC40, 0x8803FC41
MRS, FADD_HALF, SDOT = 0xD5380600, 0x1EE22800, 0x4E829420
EXIT = (0xD2800BA8, 0xD4000001)  # mov x8, #93; svc #0


def call(words: int) -> int:
    """``bl`` to so many words from here."""
    return 0x94000000 | words & 0x3FFFFFF


def skip_if_zero(words: int) -> int:
    """``cbz w16`` over so many words."""
    return 0x34000010 | words << 5


def program(*functions: Sequence[int]) -> bytes:
    """A static program; the first function is the entry point and calls the others in turn."""
    starts = []
    at = len(functions[1:]) + 3
    for one in functions[1:]:
        starts.append(at)
        at += len(one)
    entry = [call(start - index) for index, start in enumerate(starts)]
    words = [*entry, *EXIT, 0x14000000, *(word for one in functions[1:] for word in one)]
    code = struct.pack(f"<{len(words)}I", *words)
    size = 64 + 56 + len(code)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack("<HHIQQQIHHHHHH", 2, 183, 1, ADDRESS + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return ident + header + struct.pack("<IIQQQQQQ", 1, 5, 0, ADDRESS, ADDRESS, size, size, 0x1000) + code


def requirements(*functions: Sequence[int]) -> tuple[Requirement, ...]:
    return read_program(program((), *functions)).requirements


def test_an_atomic_of_armv8_1_that_surely_runs_is_certain() -> None:
    assert asked(read_program(program((), (LDADD, RET))), Sureness.CERTAIN) == {"ATOMICS"}


def test_a_helper_that_has_both_kinds_of_atomics_asks_for_nothing() -> None:
    # As libgcc's outline atomics: cbz w16, 1f; ldaddal; ret; 1: ldaxr; stlxr; ret
    helper = (skip_if_zero(3), LDADD, RET, LDAXR, STLXR, RET)

    assert all(one.sureness is not Sureness.CERTAIN for one in requirements(helper))


@pytest.mark.parametrize(("word", "flag"), [(FADD_HALF, "FPHP"), (SDOT, "ASIMDDP"), (0xD65F0BFF, "PACA")])
def test_other_features_are_asked_by_the_name_that_nfd_has(word: int, flag: str) -> None:
    (found,) = requirements((word, RET))

    assert found.match_features[0].feature == "cpu.cpuid"
    assert list(found.match_features[0].expressions or {}) == [flag]


def test_a_capability_that_nfd_drops_is_asked_of_the_kernels_words() -> None:
    (found,) = requirements((0x5AC01C20, RET))

    assert (found.match_features[0].feature, list(found.match_features[0].expressions or {})) == ("cpu.hwcap", ["cssc"])


def test_reading_an_id_register_asks_for_a_kernel_that_emulates_it() -> None:
    (found,) = requirements((MRS, RET))

    assert (found.code, found.sureness) == ("arm64-id-registers", Sureness.CERTAIN)
    assert [terms[0].feature for terms in found.match_any] == ["cpu.cpuid", "kernel.version"]


@pytest.mark.parametrize("word", [0xD503233F, 0xD503245F, 0xD503221F, NOP])
def test_hints_ask_for_nothing(word: int) -> None:
    assert requirements((word, RET)) == ()


def test_words_of_a_function_that_holds_data_do_not_count() -> None:
    code = struct.pack("<4I", SDOT, RET, UDF, SDOT)

    (style,) = Arm64().styles(memoryview(code), ADDRESS, [(ADDRESS, ADDRESS + 16)])
    assert (style.has_data, style.features) == (True, frozenset())


@pytest.mark.parametrize(
    ("word", "flow", "distance"),
    [
        (0x14000001, Flow.JUMP, 4),
        (0x17FFFFFF, Flow.JUMP, -4),
        (call(-2), Flow.CALL, -8),
        (0x54000041, Flow.BRANCH, 8),
        (0x34FFFFE0, Flow.BRANCH, -4),
        (0xB5000040, Flow.BRANCH, 8),
        (0x36000040, Flow.BRANCH, 8),
        (0x3707FFE0, Flow.BRANCH, -4),
        (RET, Flow.RETURN, 0),
        (0xD61F0220, Flow.JUMP_THROUGH, 0),
        (0xD63F0020, Flow.CALL_THROUGH, 0),
        (0xD4200020, Flow.TRAP, 0),
        (UDF, Flow.TRAP, 0),
        (NOP, Flow.NEXT, 0),
    ],
)
def test_branches_lead_where_the_manual_says(word: int, flow: Flow, distance: int) -> None:
    (step,) = Arm64().steps(struct.pack("<I", word), ADDRESS)

    assert (step.flow, step.target) == (flow, ADDRESS + distance if distance else 0)


def test_main_is_what_the_entry_point_passes_on() -> None:
    page_and_rest = struct.pack("<3I", 0x90000000, 0x9104A000, call(9))  # adrp x0, .; add x0, x0, #0x128

    assert Arm64().start_argument(page_and_rest, ADDRESS) == (ADDRESS + 0x128, 0)


def test_a_stub_of_the_linkage_table_names_its_slot() -> None:
    stub = struct.pack(
        "<4I", 0xB0000010, 0xF9400611, 0x91002210, 0xD61F0220
    )  # adrp x16; ldr x17, [x16, #8]; add; br x17

    assert Arm64().slot_of(stub, ADDRESS) == ADDRESS + 0x1000 + 8
