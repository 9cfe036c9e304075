from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.rules import Expression, Operator, Outcome, Term, compile_term
from nodeworthy.rules.back_references import BackReferences

NOTHING = Lookup(SetState.ABSENT, None, "no producer delivers this set")
EXISTS, ABSENT = Expression(Operator.EXISTS), Expression(Operator.DOES_NOT_EXIST)


def outcome(
    matched: BackReferences, expressions: dict[str, Expression] | None = None, name: Expression | None = None
) -> Outcome:
    return matched.answer(compile_term(Term("rule.matched", expressions, name))).outcome


def test_the_set_is_there_after_the_first_rule_even_if_it_gave_nothing() -> None:
    matched = BackReferences(NOTHING)
    assert matched.names is None
    assert outcome(matched, {"a": ABSENT}) is Outcome.FALSE
    matched.feed()
    assert matched.names == {}
    assert outcome(matched, {"a": ABSENT}) is Outcome.TRUE


def test_what_the_facts_have_under_this_name_is_added_to() -> None:
    before = FeatureSet(flags=frozenset({"f"}), attributes={"old": "1"})
    matched = BackReferences(Lookup(SetState.PRESENT, before, ""))
    matched.feed({"new": "2"}, {"old": "3"})
    assert matched.names == {"new": "2", "old": "3"}
    assert outcome(matched, {"f": EXISTS, "new": EXISTS}) is Outcome.TRUE
    assert before.attributes == {"old": "1"}


def test_a_set_that_nobody_looked_for_is_the_engines_own() -> None:
    matched = BackReferences(Lookup(SetState.UNKNOWN, None, "the facts do not say"))
    assert outcome(matched, {"a": ABSENT}) is Outcome.FALSE


def test_a_name_in_doubt_is_unknown_and_the_others_are_not() -> None:
    matched = BackReferences(NOTHING)
    matched.feed({"sure": "1"})
    matched.doubt("maker", ["v"])
    assert outcome(matched, {"v": EXISTS}) is Outcome.UNKNOWN
    assert outcome(matched, {"v": ABSENT}) is Outcome.UNKNOWN
    assert outcome(matched, {"sure": EXISTS}) is Outcome.TRUE
    assert outcome(matched, {"sure": ABSENT, "v": EXISTS}) is Outcome.FALSE
    assert outcome(matched, {"sure": Expression(Operator.GT, ("x",))}) is Outcome.ERROR
    assert outcome(matched, name=EXISTS) is Outcome.UNKNOWN
    assert outcome(matched) is Outcome.TRUE
    reason = matched.answer(compile_term(Term("rule.matched", {"v": EXISTS}))).reason
    assert "'maker'" in reason


def test_instances_of_the_facts_make_doubt_complete() -> None:
    matched = BackReferences(Lookup(SetState.PRESENT, FeatureSet(instances=({"v": "1"},)), ""))
    matched.doubt("maker", ["v"])
    assert outcome(matched, {"x": EXISTS}) is Outcome.UNKNOWN


def test_where_every_name_is_in_doubt_nothing_is_known() -> None:
    matched = BackReferences(NOTHING)
    matched.feed({"sure": "1"})
    matched.doubt_all("template")
    assert outcome(matched, {"sure": EXISTS}) is Outcome.UNKNOWN
    assert outcome(matched) is Outcome.UNKNOWN
