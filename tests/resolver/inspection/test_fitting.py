"""However much an image holds, what is kept of it fits the bus, and cutting makes no answer but "unknown"."""

import msgspec

from nodeworthy.requirements import (
    Defect,
    Effect,
    Evidence,
    Inspection,
    Layer,
    Library,
    Requirement,
    Sureness,
    Unexplored,
)
from nodeworthy.requirements.conditions import has_flags
from nodeworthy_resolver.inspection.fitting import MOST, MOST_EVIDENCE, fit_inspection

LONG = "x" * 10_000


def requirement(sureness: Sureness) -> Requirement:
    places = tuple(Evidence(LONG, LONG, number, LONG) for number in range(50))
    terms = (has_flags("cpu.cpuid", ["AVX2"]),)
    return Requirement("cpu", LONG, Layer.INSTRUCTION_SET, Effect.CRASHES, sureness, terms, evidence=places)


def test_the_largest_inspection_fits() -> None:
    broken = Defect("library-missing", LONG, Effect.DOES_NOT_START, Sureness.PROBABLE, (Evidence(LONG, LONG),) * 50)
    found = Inspection(
        1,
        start=(LONG,) * 50,
        requirements=(requirement(Sureness.PROBABLE),) * 5000,
        defects=(broken,) * 5000,
        unexplored=(Unexplored(LONG, LONG),) * 5000,
        libraries=(Library("/lib", "amd64"),),
    )
    kept = fit_inspection(found)
    assert len(msgspec.msgpack.encode(kept)) < 512 * 1024
    assert (len(kept.requirements), len(kept.requirements[0].evidence), kept.libraries) == (MOST, MOST_EVIDENCE, ())


def test_what_is_certain_is_kept_and_what_is_cut_leaves_the_answer_open() -> None:
    many = (*(requirement(Sureness.ADVISORY),) * (2 * MOST), requirement(Sureness.CERTAIN))
    kept = fit_inspection(Inspection(1, requirements=many, unexplored=(Unexplored("a", "b", decides=False),)))
    assert kept.requirements[0].sureness is Sureness.CERTAIN
    assert [(one.what, one.decides) for one in kept.unexplored] == [
        (f"{MOST + 1} more requirements", True),
        ("a", False),
    ]


def test_an_ordinary_inspection_keeps_all_but_its_libraries() -> None:
    one = Requirement("cpu", "AVX2", Layer.INSTRUCTION_SET, Effect.CRASHES, Sureness.CERTAIN)
    found = Inspection(1, "amd64", ("/app",), (one,), unexplored=(Unexplored("a", "b"),))
    assert fit_inspection(found) == found
