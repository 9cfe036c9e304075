"""A draft specification is valid, asks for what is certain, and keeps the rest as comments."""

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.requirements import (
    Defect,
    Effect,
    Evidence,
    Information,
    Inspection,
    Layer,
    Requirement,
    Sureness,
    Unexplored,
)
from nodeworthy.requirements.conditions import has_flags, has_instance, has_version
from nodeworthy.requirements.drafting import draft_specification
from nodeworthy.rules import CompatibilitySpec, Operator, Rule, read_compatibility_spec


def requirement(code: str, sureness: Sureness, *, text: str = "what it needs", seen: str = "seen") -> Requirement:
    return Requirement(
        code,
        text,
        Layer.ACCELERATOR,
        Effect.CRASHES,
        sureness,
        (has_flags("cpu.cpuid", ["AVX2"]), has_version("kernel.version", "full", "5.6")),
        ((has_instance("accel.driver", {"version": (Operator.GE, "525")}, {"version": "version"}),),),
        (Evidence("/app", seen, 16, "main", "a rule"),),
    )


def read(inspection: Inspection, image: str = "example.com/app:1") -> CompatibilitySpec:
    spec = read_compatibility_spec(draft_specification(inspection, image).encode(), "draft")
    assert (spec.problems, spec.notices) == ((), ())
    return spec


def test_what_is_certain_is_asked_for_exactly_as_it_was_found() -> None:
    certain = requirement("cpu", Sureness.CERTAIN)
    spec = read(Inspection(1, requirements=(certain, requirement("gpu", Sureness.PROBABLE))))
    [rule] = spec.compatibilities[0].rules
    assert isinstance(rule, Rule)
    assert (rule.name, rule.match_features, rule.match_any) == ("cpu", certain.match_features, certain.match_any)


def test_what_is_only_probable_becomes_a_rule_when_its_comment_signs_are_taken_away() -> None:
    text = draft_specification(Inspection(1, requirements=(requirement("gpu", Sureness.PROBABLE),)), "app")
    uncommented = "\n".join(
        line.replace("# ", "", 1) if line.startswith("  # ") and "probable" not in line and "/app" not in line else line
        for line in text.splitlines()
        if "asks for nothing" not in line and "ask for nothing" not in line
    )
    spec = read_compatibility_spec(uncommented.encode(), "draft")
    assert spec.problems == ()
    assert [rule.name for rule in spec.compatibilities[0].rules] == ["linux", "gpu"]


def test_a_set_is_never_without_a_rule() -> None:
    assert [rule.name for rule in read(Inspection(1)).compatibilities[0].rules] == ["linux"]


def test_rules_of_the_same_kind_have_names_of_their_own() -> None:
    spec = read(Inspection(1, requirements=(requirement("cpu", Sureness.CERTAIN),) * 2))
    assert [rule.name for rule in spec.compatibilities[0].rules] == ["cpu", "cpu-2"]


@given(st.text(), st.sampled_from(Sureness))
def test_no_text_of_an_image_gets_out_of_its_comment(text: str, sureness: Sureness) -> None:
    found = Inspection(
        1,
        requirements=(requirement("cpu", sureness, text=text, seen=text),),
        defects=(Defect("broken", text, Effect.CRASHES, sureness),),
        information=(Information("use", text),),
        unexplored=(Unexplored(text, text),),
    )
    assert len(read(found, text).compatibilities) == 1
