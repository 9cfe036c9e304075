from nodeworthy.features import FeatureSet
from nodeworthy.rules import Expression, Operator, Term, compile_term
from nodeworthy.rules.matching import term_elements
from nodeworthy.rules.module_names import unify_set

LOADED = FeatureSet(flags=frozenset({"vfio_pci", "kvm"}))
BUILT_IN = FeatureSet(flags=frozenset({"vfio-pci", "kvm"}))


def holds(
    feature: str, content: FeatureSet, *, expression: tuple[str, Operator] | None = None, name: Expression | None = None
) -> bool:
    expressions = None if expression is None else {expression[0]: Expression(expression[1])}
    return compile_term(Term(feature, expressions, name)).holds(content)


def test_k2_a_module_is_found_in_either_spelling() -> None:
    for content in (LOADED, BUILT_IN):
        for written in ("vfio-pci", "vfio_pci"):
            assert holds("kernel.loadedmodule", content, expression=(written, Operator.EXISTS))
            assert not holds("kernel.enabledmodule", content, expression=(written, Operator.DOES_NOT_EXIST))
            assert holds("Kernel.Module", content, name=Expression(Operator.IN, (written,)))


def test_not_in_knows_both_spellings() -> None:
    only = FeatureSet(flags=frozenset({"vfio_pci"}))
    assert not holds("kernel.module", only, name=Expression(Operator.NOT_IN, ("vfio-pci",)))
    assert holds("kernel.module", only, name=Expression(Operator.NOT_IN, ("kvm",)))


def test_a_pattern_may_be_written_in_either_spelling() -> None:
    for pattern in ("^vfio-", "^vfio_"):
        assert holds("kernel.loadedmodule", LOADED, name=Expression(Operator.IN_REGEXP, (pattern,)))


def test_other_sets_are_compared_letter_by_letter() -> None:
    assert not holds("local.feature", LOADED, expression=("vfio-pci", Operator.EXISTS))


def test_matched_elements_keep_the_spelling_that_was_asked_for_or_found() -> None:
    asked = compile_term(Term("kernel.loadedmodule", {"vfio-pci": Expression(Operator.EXISTS)}))
    assert term_elements(asked, LOADED) == [{"Name": "vfio-pci"}]
    found = compile_term(Term("kernel.loadedmodule", name=Expression(Operator.IN, ("vfio-pci",))))
    assert term_elements(found, LOADED) == [{"Name": "vfio_pci"}]


def test_a_set_in_the_one_spelling_is_not_copied() -> None:
    assert unify_set(LOADED) is LOADED
