import pytest

from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.rules import Answer, Expression, Operator, Outcome, Term, compile_term
from nodeworthy.rules.matching import term_elements

EXISTS, ABSENT, ANY = (
    Expression(Operator.EXISTS),
    Expression(Operator.DOES_NOT_EXIST),
    Expression(Operator.ANY),
)
ONE = Expression(Operator.IN, ("1",))
BAD = Expression(Operator.GT, ("x",))
DARK = frozenset({"dark"})
FLAGS = FeatureSet(flags=frozenset({"AVX"}), unobserved=DARK)
VALUES = FeatureSet(attributes={"k": "1"}, unobserved=DARK)
BOTH = FeatureSet(flags=frozenset({"AVX"}), attributes={"k": "1"}, unobserved=DARK)


def answer(
    content: FeatureSet,
    expressions: dict[str, Expression] | None = None,
    name: Expression | None = None,
    *,
    feature: str = "lab.x",
    reason: str = "",
) -> Answer:
    return compile_term(Term(feature, expressions, name)).answer(Lookup(SetState.PRESENT, content, reason))


def outcome(
    content: FeatureSet, expressions: dict[str, Expression] | None = None, name: Expression | None = None
) -> str:
    return answer(content, expressions, name).outcome.value


@pytest.mark.parametrize("content", [FLAGS, VALUES, BOTH])
@pytest.mark.parametrize(
    "expression",
    [
        EXISTS,
        ABSENT,
        ONE,
        Expression(Operator.NOT_IN, ("1",)),
        Expression(Operator.IN_REGEXP, ("1",)),
        Expression(Operator.GT, ("1",)),
        Expression(Operator.GE_LE, ("1", "2")),
        Expression(Operator.IS_TRUE),
        Expression(Operator.IN, ("false",), reads_flags=True),
        Expression(Operator.GT, ("1",), reads_flags=True),
        BAD,
    ],
    ids=lambda value: value.operator.value if isinstance(value, Expression) else "",
)
def test_what_is_asked_of_an_unobserved_name_is_unknown(content: FeatureSet, expression: Expression) -> None:
    assert answer(content, {"dark": expression}) == (Outcome.UNKNOWN, "lab.x does not tell dark", "")


def test_the_reason_says_why_a_name_is_not_known_where_that_is_known() -> None:
    found = answer(FLAGS, {"dark": EXISTS}, feature="cpu.cpuid", reason="only CPUID tells it")
    assert found.reason == "cpu.cpuid does not tell dark: only CPUID tells it"


def test_what_holds_or_errs_for_every_possibility_is_known() -> None:
    assert outcome(FLAGS, {"dark": ANY}) == "true"
    assert outcome(FLAGS, {"dark": Expression(Operator.EXISTS, ("1",))}) == "error"


def test_the_names_that_were_observed_decide_first() -> None:
    assert outcome(BOTH, {"AVX": EXISTS, "k": ONE}) == "true"
    assert outcome(BOTH, {"AVX": EXISTS, "dark": EXISTS}) == "unknown"
    assert outcome(BOTH, {"AVX": ABSENT, "dark": EXISTS}) == "false"
    assert outcome(BOTH, {"dark": EXISTS, "ghost": EXISTS}) == "false"
    assert outcome(BOTH, {}) == "true"
    assert outcome(BOTH) == "true"


def test_an_error_behind_an_unknown_name_might_not_be_reached() -> None:
    assert outcome(BOTH, {"dark": EXISTS, "k": BAD}) == "unknown"
    assert answer(BOTH, {"a": EXISTS, "k": BAD}).outcome is Outcome.FALSE
    assert answer(BOTH, {"k": BAD, "x": EXISTS}) == (Outcome.ERROR, "lab.x: 'x' is not a whole number", "")
    assert outcome(BOTH, {"dark": EXISTS}, BAD) == "unknown"


def test_a_name_that_matches_is_enough_and_an_unobserved_one_that_would_is_not() -> None:
    def asks(*names: str) -> str:
        return outcome(BOTH, name=Expression(Operator.IN, names))

    assert asks("AVX", "dark") == "true"
    assert asks("dark") == "unknown"
    assert asks("ghost") == "false"
    assert outcome(BOTH, {"ghost": EXISTS}, EXISTS) == "false"
    assert outcome(BOTH, {"dark": EXISTS}, Expression(Operator.IN, ("ghost",))) == "false"
    assert outcome(BOTH, {"dark": EXISTS}, EXISTS) == "unknown"
    found = answer(FeatureSet(unobserved=frozenset({"b", "a", "c"})), name=Expression(Operator.NOT_IN, ("a",)))
    assert found.reason == "lab.x does not tell b"


def test_an_unobserved_name_that_cannot_be_asked_is_unknown() -> None:
    numbers = FeatureSet(attributes={"3": ""}, unobserved=DARK)
    assert outcome(numbers, name=Expression(Operator.GT, ("5",))) == "unknown"
    assert outcome(numbers, name=Expression(Operator.GT, ("1",))) == "true"
    assert outcome(FeatureSet(attributes={"k": ""}, unobserved=DARK), name=Expression(Operator.GT, ("5",))) == "error"


def test_instances_are_judged_as_ever_and_one_that_matches_decides() -> None:
    devices = FeatureSet(attributes={}, instances=({"dark": "1"}, {"dark": "2"}), unobserved=DARK)
    assert outcome(devices, {"dark": ONE}) == "true"
    assert outcome(devices, {"dark": Expression(Operator.IN, ("3",))}) == "unknown"
    assert outcome(devices, {"ghost": EXISTS}) == "false"
    assert outcome(devices, {"dark": Expression(Operator.GT, ("x",))}) == "error"
    mixed = FeatureSet(attributes={"k": "9"}, instances=({"k": "x"},), unobserved=DARK)
    assert outcome(mixed, {"k": EXISTS}) == "true"
    # NFD asks every instance, also where attributes satisfy the term.
    assert outcome(mixed, {"k": Expression(Operator.GT, ("1",))}) == "error"


def test_a_set_of_which_only_unobserved_names_are_told_may_have_content_or_not() -> None:
    content = FeatureSet(unobserved=DARK)
    assert outcome(content, {}) == "unknown"
    assert outcome(content, {"ghost": ABSENT}) == "unknown"
    assert outcome(content) == "true"


def test_module_names_are_one_in_both_spellings_also_where_they_were_not_observed() -> None:
    modules = FeatureSet(flags=frozenset({"kvm_intel"}), unobserved=frozenset({"vfio-pci", "kvm-intel"}))
    for name in ("vfio-pci", "vfio_pci"):
        found = answer(modules, {name: EXISTS}, feature="kernel.loadedmodule")
        assert found.outcome is Outcome.UNKNOWN
        wanted = Expression(Operator.IN, (name,))
        assert answer(modules, name=wanted, feature="kernel.loadedmodule").outcome is Outcome.UNKNOWN
    assert answer(modules, {"kvm-intel": EXISTS}, feature="kernel.loadedmodule").outcome is Outcome.TRUE


def test_unobserved_names_are_no_elements() -> None:
    term = compile_term(Term("lab.x", {"AVX": EXISTS}, EXISTS))
    assert term_elements(term, FLAGS) == [{"Name": "AVX"}, {"Name": "AVX"}]
