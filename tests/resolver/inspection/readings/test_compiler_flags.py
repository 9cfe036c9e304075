"""What compilers have written down of their options."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_libcs import V2, V3
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.compiler_flags import read_compiler_flags
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found


def read(sections: dict[str, bytes], *, starts: bool = True) -> Found:
    files: dict[str, bytes | str] = {
        "/app": with_sections(Made(kind=2), sections),
        "/other": Made(kind=2).bytes(),
    }
    return read_compiler_flags(prepared(MemoryTree(files), ImageConfig(("/app" if starts else "/other",))))


PRODUCER = b"\0GNU C17 12.2.0 -mtune=generic -march=%s -g -O2\0"


@pytest.mark.parametrize(
    ("section", "processor"),
    [(".debug_str", b"haswell"), (".debug_line_str", b"x86-64-v3"), (".GCC.command.line", b"znver3")],
)
def test_a_build_for_a_later_processor_probably_needs_it(section: str, processor: bytes) -> None:
    found = read({section: PRODUCER % processor})
    (requirement,) = found.requirements
    assert requirement.sureness is Sureness.PROBABLE
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.FALSE
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
    assert [one.code for one in found.information] == ["compiled-for"]


@pytest.mark.parametrize("others", [(b"x86-64",), (b"haswell", b"x86-64"), (b"unheard-of",)])
def test_a_baseline_build_and_units_of_several_kinds_ask_for_nothing(others: tuple[bytes, ...]) -> None:
    found = read({".debug_str": b"".join(PRODUCER % one for one in others)})
    assert found.requirements == ()
    assert len(found.information) == 1


def test_a_file_that_does_not_start_is_not_looked_at() -> None:
    assert read({".debug_str": PRODUCER % b"haswell"}, starts=False) == Found()


def test_a_program_s_own_check_names_its_features() -> None:
    text = b"\0fatal error: the cpu feature AVX was required at build time but isn't available on this system\0"
    (requirement,) = read({".rodata": text}).requirements
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.FALSE
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
