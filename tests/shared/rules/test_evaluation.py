from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import Problem
from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, Snapshot
from nodeworthy.rules import (
    Answer,
    CompiledTerm,
    Expression,
    Operator,
    Outcome,
    Rule,
    Taint,
    Term,
    UnreadableRule,
    compile_rule,
    compile_rules,
    decide,
    evaluate_chain,
    evaluate_rule,
    matched_elements,
    report_sets,
)
from nodeworthy.rules.records import CompatibilitySet
from nodeworthy.rules.templates import Elements

EXISTS = Expression(Operator.EXISTS)
YES, NO, DARK, BAD = (
    Term("lab.x", {"k": EXISTS}),
    Term("lab.x", {"ghost": EXISTS}),
    Term("dark.set", {"k": EXISTS}),
    Term("lab.x", {"k": Expression(Operator.GT, ("1",))}),
)
FACTS = Snapshot(
    {"lab.x": FeatureSet(attributes={"k": "abc"})},
    {"dark.set": SetStatus(SetState.UNKNOWN, "permission denied")},
    frozenset({"dark.set", "lab.x"}),
)


def outcome(*required: Term, any_of: tuple[tuple[Term, ...], ...] = (), **fields: str) -> Outcome:
    rule = Rule("r", required, any_of, **fields)  # type: ignore[arg-type] # only text fields are passed
    return evaluate_rule(compile_rule(rule), FACTS).outcome


def test_unknown_and_false_is_false_and_otherwise_unknown() -> None:
    assert outcome(DARK) is Outcome.UNKNOWN
    assert outcome(DARK, YES) is Outcome.UNKNOWN
    assert outcome(DARK, NO) is Outcome.FALSE
    assert outcome(any_of=((DARK,), (NO,))) is Outcome.UNKNOWN
    assert outcome(any_of=((DARK,), (YES,))) is Outcome.TRUE
    assert outcome(NO, any_of=((DARK,),)) is Outcome.FALSE


def test_an_error_ends_the_rule_and_what_stands_before_it_decides() -> None:
    assert outcome(NO, BAD) is Outcome.FALSE
    assert outcome(BAD, NO) is Outcome.ERROR
    assert outcome(DARK, BAD) is Outcome.UNKNOWN
    assert outcome(any_of=((YES,), (BAD,))) is Outcome.TRUE
    assert outcome(any_of=((BAD,), (YES,))) is Outcome.ERROR
    assert outcome(BAD, any_of=((NO,),)) is Outcome.FALSE


def test_the_reason_says_what_is_not_known_and_what_cannot_be_asked() -> None:
    unknown = evaluate_rule(compile_rule(Rule("r", (DARK,))), FACTS)
    assert unknown.reason == "dark.set is not known: permission denied"
    error = evaluate_rule(compile_rule(Rule("r", (BAD,))), FACTS)
    assert error.reason == "lab.x: 'abc' is not a whole number"


def test_a_rule_gives_its_outputs_only_where_it_matches() -> None:
    taint = Taint("x.org/t", "NoSchedule")
    rule = Rule("r", (YES,), labels={"l": "1"}, vars={"v": "2"}, annotations={"a": "3"}, taints=(taint,))
    result = evaluate_rule(compile_rule(rule), FACTS)
    assert (result.labels, result.vars, result.annotations, result.taints) == (
        {"l": "1"},
        {"v": "2"},
        {"a": "3"},
        (taint,),
    )
    for term in (NO, DARK, BAD):
        failed = evaluate_rule(compile_rule(Rule("r", (term,), labels={"l": "1"}, taints=(taint,))), FACTS)
        assert (failed.labels, failed.taints) == ({}, ())


def test_a_bad_template_is_an_error_where_it_would_be_expanded_and_nowhere_else() -> None:
    for bad in ("{{", "{{.usb.device}}", "no equals sign", "{{now}}"):
        assert outcome(YES, labels_template=bad) is Outcome.ERROR
        assert outcome(NO, labels_template=bad) is Outcome.FALSE
        assert outcome(DARK, labels_template=bad) is Outcome.UNKNOWN
        assert outcome(labels_template=bad) is Outcome.TRUE
        assert outcome(any_of=((NO,),), vars_template=bad) is Outcome.FALSE
        assert outcome(NO, any_of=((YES,),), vars_template=bad) is Outcome.ERROR


class Echo:
    """A template engine that gives the names of the features it was shown."""

    def expand(self, template: str, elements: Elements) -> Mapping[str, str]:
        return {f"{domain}.{feature}": template for domain, features in elements.items() for feature in features}


def expanded(*required: Term, any_of: tuple[tuple[Term, ...], ...] = ()) -> tuple[Outcome, Mapping[str, str]]:
    rule = Rule("r", required, any_of, labels={"static": "1"}, labels_template="t")
    result = evaluate_rule(compile_rule(rule), FACTS, Echo())
    return result.outcome, result.labels


def test_an_engine_sees_what_each_part_has_matched_and_static_labels_win() -> None:
    other = Term("Lab.x")
    assert expanded(YES, any_of=((NO,), (other,))) == (Outcome.TRUE, {"Lab.x": "t", "lab.x": "t", "static": "1"})
    rule = Rule("r", (YES,), vars={"lab.x": "static"}, vars_template="t")
    assert evaluate_rule(compile_rule(rule), FACTS, Echo()).vars == {"lab.x": "static"}


def test_an_output_that_may_be_incomplete_is_unknown() -> None:
    assert expanded(any_of=((YES,), (DARK,))) == (Outcome.UNKNOWN, {})
    assert expanded(any_of=((DARK,), (BAD,))) == (Outcome.UNKNOWN, {})
    assert expanded(any_of=((YES,), (BAD,))) == (Outcome.ERROR, {})
    assert expanded(NO, any_of=((YES,), (DARK,))) == (Outcome.FALSE, {})


def chain(*rules: Rule | UnreadableRule) -> list[Outcome]:
    return [result.outcome for result in evaluate_chain(compile_rules(rules), FACTS).results]


HAS_V = Rule("has v", (Term("rule.matched", {"v": EXISTS}),))


def test_what_an_unknown_rule_would_have_given_is_unknown_to_later_rules() -> None:
    assert chain(Rule("a", (YES,), vars={"v": "1"}), HAS_V) == [Outcome.TRUE, Outcome.TRUE]
    assert chain(Rule("a", (NO,), vars={"v": "1"}), HAS_V) == [Outcome.FALSE, Outcome.FALSE]
    assert chain(Rule("a", (DARK,), vars={"v": "1"}), HAS_V) == [Outcome.UNKNOWN, Outcome.UNKNOWN]
    assert chain(Rule("a", (DARK,), labels={"v": "1"}), HAS_V) == [Outcome.UNKNOWN, Outcome.UNKNOWN]
    assert chain(Rule("a", (DARK,), vars={"w": "1"}), HAS_V) == [Outcome.UNKNOWN, Outcome.FALSE]
    assert chain(Rule("a", (DARK,), vars_template="v=1"), HAS_V) == [Outcome.UNKNOWN, Outcome.UNKNOWN]


def test_what_a_template_gives_is_seen_by_later_rules() -> None:
    assert chain(Rule("a", (YES,), vars_template="v=1"), HAS_V) == [Outcome.TRUE, Outcome.TRUE]
    assert chain(Rule("a", (YES,), vars_template="w=1"), HAS_V) == [Outcome.TRUE, Outcome.FALSE]


def test_what_an_unreadable_rule_would_have_given_is_unknown_to_later_rules() -> None:
    unreadable = UnreadableRule("a", (Problem("file", 3, "rules[0].vars", "this must be a map of texts"),))
    assert chain(unreadable, HAS_V) == [Outcome.ERROR, Outcome.UNKNOWN]
    reason = evaluate_chain([unreadable], FACTS).results[0].reason
    assert reason == "the rule could not be read: rules[0].vars: this must be a map of texts"


def test_a_rule_in_error_gives_nothing_as_in_nfd() -> None:
    assert chain(Rule("first"), Rule("a", (BAD,), vars={"v": "1"}), HAS_V)[1:] == [Outcome.ERROR, Outcome.FALSE]
    assert evaluate_chain(compile_rules([Rule("a", (BAD,))]), FACTS).matched is None


def test_a_rule_can_be_decided_by_answers_from_anywhere() -> None:
    rule = compile_rule(Rule("r", (YES, NO, DARK), ((NO,), (YES,))))
    asked: list[Term] = []

    def look_up(term: CompiledTerm) -> Answer:
        asked.append(term.source)
        return term.answer(FACTS.lookup(term.set_name))

    assert decide(rule, look_up).outcome is Outcome.FALSE
    assert asked == [NO, YES, YES, NO]


def test_matched_elements_are_those_of_match_features() -> None:
    rule = compile_rule(Rule("r", (YES, Term("Lab.x", name=EXISTS)), ((Term("dark.set"),),)))
    element = {"Name": "k", "Value": "abc"}
    assert matched_elements(rule, FACTS) == {"lab": {"x": [element]}, "Lab": {"x": [element]}}


names = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["1", "2", "x", ""])
sets = st.sampled_from(["s.flags", "s.attributes", "s.devices", "s.mixed", "rule.matched"])
attributes = st.dictionaries(names, values)
instances: st.SearchStrategy[Instance] = st.dictionaries(names, values, max_size=3)
contents = st.fixed_dictionaries(
    {},
    optional={
        "rule.matched": st.builds(FeatureSet, flags=st.none() | st.frozensets(names), attributes=attributes),
        "s.flags": st.builds(FeatureSet, flags=st.frozensets(names)),
        "s.attributes": st.builds(FeatureSet, attributes=st.dictionaries(names, values)),
        "s.devices": st.builds(FeatureSet, instances=st.lists(instances, max_size=3).map(tuple)),
        "s.mixed": st.builds(
            FeatureSet,
            flags=st.frozensets(names),
            attributes=st.dictionaries(names, values),
            instances=st.lists(instances, max_size=2).map(tuple),
        ),
    },
)
expressions = st.one_of(
    st.builds(Expression, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST, Operator.ANY, Operator.IS_TRUE])),
    st.builds(Expression, st.sampled_from([Operator.IN, Operator.NOT_IN]), st.lists(values, max_size=2).map(tuple)),
    st.builds(Expression, st.sampled_from([Operator.GT, Operator.LE]), st.tuples(values)),
    st.builds(Expression, st.just(Operator.IN), st.just(("true",)), reads_flags=st.just(value=True)),
)
terms = st.builds(Term, sets, st.none() | st.dictionaries(names, expressions, max_size=2), st.none() | expressions)
rules = st.builds(
    Rule,
    st.just("r"),
    st.lists(terms, max_size=3).map(tuple),
    st.lists(st.lists(terms, max_size=2).map(tuple), max_size=2).map(tuple),
    vars=st.dictionaries(names, values, max_size=2),
)


def snapshot(found: Mapping[str, FeatureSet], hidden: frozenset[str] = frozenset()) -> Snapshot:
    known = {name: content for name, content in found.items() if name not in hidden}
    statuses = {name: SetStatus(SetState.UNKNOWN, "hidden") for name in hidden}
    return Snapshot(known, statuses, frozenset(hidden))


@given(rules, contents, st.frozensets(st.sampled_from(["s.flags", "s.attributes", "s.devices", "s.mixed"])))
def test_what_is_said_without_some_facts_is_not_taken_back_with_them(
    rule: Rule, found: Mapping[str, FeatureSet], hidden: frozenset[str]
) -> None:
    compiled = compile_rule(rule)
    before = evaluate_rule(compiled, snapshot(found, hidden)).outcome
    after = evaluate_rule(compiled, snapshot(found)).outcome
    if before in (Outcome.TRUE, Outcome.FALSE) and after is not Outcome.ERROR:
        assert after is before


@st.composite
def partly_observed(draw: st.DrawFn) -> tuple[Mapping[str, FeatureSet], Mapping[str, FeatureSet]]:
    """Sets with unobserved names, and the same sets when each of those turned out to be there or not."""
    partly, wholly = {}, {}
    for name, content in draw(contents).items():
        unobserved = draw(st.frozensets(names)) - content.names()
        partly[name] = msgspec.structs.replace(content, unobserved=unobserved)
        wholly[name] = draw(completions(content, unobserved))
    return partly, wholly


@st.composite
def completions(draw: st.DrawFn, content: FeatureSet, unobserved: frozenset[str]) -> FeatureSet:
    flags, attributes = content.flags, content.attributes
    is_open = flags is None and attributes is None
    kinds = ["no", *(["flag"] if is_open or flags is not None else [])]
    kinds += ["attribute"] if is_open or attributes is not None else []
    for name in sorted(unobserved):
        match draw(st.sampled_from(kinds)):
            case "flag":
                flags = (flags or frozenset()) | {name}
            case "attribute":
                attributes = {**(attributes or {}), name: draw(values)}
    return FeatureSet(flags, attributes, content.instances)


@given(rules, partly_observed())
def test_what_is_said_with_unobserved_names_is_not_taken_back_whatever_they_turn_out_to_be(
    rule: Rule, found: tuple[Mapping[str, FeatureSet], Mapping[str, FeatureSet]]
) -> None:
    compiled = compile_rule(rule)
    before, after = (evaluate_rule(compiled, snapshot(sets)).outcome for sets in found)
    if before is not Outcome.UNKNOWN and after is not Outcome.ERROR:
        assert after is before


@given(st.lists(rules, max_size=4), partly_observed())
def test_what_a_chain_says_with_unobserved_names_is_not_taken_back_as_far_as_no_rule_errs(
    listed: list[Rule], found: tuple[Mapping[str, FeatureSet], Mapping[str, FeatureSet]]
) -> None:
    compiled = compile_rules(listed)
    chains = (evaluate_chain(compiled, snapshot(sets)).results for sets in found)
    for before, after in zip(*chains, strict=True):
        if Outcome.ERROR in (before.outcome, after.outcome):
            break  # a rule in error gives nothing, so later rules may see another rule.matched
        if before.outcome is not Outcome.UNKNOWN:
            assert after.outcome is before.outcome


@given(rules, partly_observed())
def test_a_report_says_no_more_of_unobserved_names_than_of_them_observed(
    rule: Rule, found: tuple[Mapping[str, FeatureSet], Mapping[str, FeatureSet]]
) -> None:
    partly, wholly = (report_sets([CompatibilitySet((rule,))], snapshot(sets))[0].rules[0] for sets in found)
    assert partly.outcome is evaluate_rule(compile_rule(rule), snapshot(found[0])).outcome
    for before, after in zip(partly.expressions, wholly.expressions, strict=True):
        if before.outcome is not Outcome.UNKNOWN and after.outcome is not Outcome.ERROR:
            assert after.outcome is before.outcome


@given(st.lists(rules, max_size=3), contents, st.frozensets(st.sampled_from(["s.flags", "s.devices"])))
def test_the_first_rule_of_a_report_has_the_outcome_that_labelling_gives_it(
    listed: list[Rule], found: Mapping[str, FeatureSet], hidden: frozenset[str]
) -> None:
    facts = snapshot(found, hidden)
    (report,) = report_sets([CompatibilitySet(tuple(listed))], facts)
    for rule, one in zip(listed[:1], report.rules, strict=False):
        assert one.outcome is evaluate_rule(compile_rule(rule), facts).outcome
        if one.outcome is Outcome.TRUE and not rule.match_any:
            assert {expression.outcome for expression in one.expressions} <= {Outcome.TRUE}
