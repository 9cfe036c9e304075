from nodeworthy.features import NOBODY_REPORTS, FeatureSet, Lookup, SetState
from nodeworthy.rules import Answer, Expression, Operator, Outcome, Term, compile_term
from nodeworthy.rules.back_references import BackReferences

NOTHING = Lookup(SetState.ABSENT, None, NOBODY_REPORTS)
EXISTS, ABSENT = Expression(Operator.EXISTS), Expression(Operator.DOES_NOT_EXIST)


def outcome(
    matched: BackReferences, expressions: dict[str, Expression] | None = None, name: Expression | None = None
) -> Outcome:
    return answer(matched, expressions, name).outcome


def answer(
    matched: BackReferences, expressions: dict[str, Expression] | None = None, name: Expression | None = None
) -> Answer:
    return compile_term(Term("rule.matched", expressions, name)).answer(matched.lookup())


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
    assert outcome(matched, name=EXISTS) is Outcome.TRUE
    assert outcome(matched, name=Expression(Operator.IN, ("v",))) is Outcome.UNKNOWN
    assert outcome(matched, name=Expression(Operator.IN, ("w",))) is Outcome.FALSE
    assert outcome(matched) is Outcome.TRUE
    reason = answer(matched, {"v": EXISTS}).reason
    assert reason == "rule.matched does not tell v: the outcome of rule 'maker' is not known"


def test_a_reason_names_the_rules_that_may_be_meant_and_no_more_than_a_few() -> None:
    matched = BackReferences(NOTHING)
    for number in range(5):
        matched.doubt(f"r{number}", [f"v{number}", "w"])
    reason = answer(matched, {"v4": EXISTS}).reason
    told = "; ".join(f"the outcome of rule 'r{number}' is not known" for number in range(3))
    assert reason == f"rule.matched does not tell v4: {told}; and others"


def test_a_name_is_sure_again_when_a_later_rule_gives_it_and_in_doubt_when_one_may() -> None:
    matched = BackReferences(NOTHING)
    matched.doubt("maker", ["v"])
    matched.feed({"v": "2"})
    assert outcome(matched, {"v": Expression(Operator.IN, ("2",))}) is Outcome.TRUE
    assert matched.names == {"v": "2"}
    matched.doubt("other", ["v"])
    assert outcome(matched, {"v": Expression(Operator.IN, ("2",))}) is Outcome.UNKNOWN
    assert matched.names == {}


def test_what_the_facts_did_not_observe_of_this_set_stays_in_doubt() -> None:
    before = FeatureSet(flags=frozenset({"f", "v"}), unobserved=frozenset({"dark"}))
    matched = BackReferences(Lookup(SetState.PRESENT, before, ""))
    assert answer(matched, {"dark": EXISTS}) == (Outcome.UNKNOWN, "rule.matched does not tell dark", "")
    matched.doubt("maker", ["v"])
    assert outcome(matched, {"v": EXISTS}) is Outcome.UNKNOWN
    assert outcome(matched, {"f": EXISTS}) is Outcome.TRUE


def test_an_instance_of_the_facts_decides_beside_a_name_in_doubt() -> None:
    matched = BackReferences(Lookup(SetState.PRESENT, FeatureSet(instances=({"v": "1"},)), ""))
    matched.doubt("maker", ["v"])
    assert outcome(matched, {"v": Expression(Operator.IN, ("1",))}) is Outcome.TRUE
    assert outcome(matched, {"v": Expression(Operator.IN, ("2",))}) is Outcome.UNKNOWN
    assert outcome(matched, {"x": EXISTS}) is Outcome.FALSE


def test_where_every_name_is_in_doubt_nothing_is_known() -> None:
    matched = BackReferences(NOTHING)
    matched.feed({"sure": "1"})
    matched.doubt_all("template")
    assert outcome(matched, {"sure": EXISTS}) is Outcome.UNKNOWN
    assert outcome(matched) is Outcome.UNKNOWN
