"""What must hold for any rules, any facts and any history of one node."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nodeworthy.errors import Problem
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import (
    Giver,
    GiverKind,
    LabelMemory,
    NodeLabels,
    Plan,
    RuleObject,
    WantedLabels,
    compile_chain,
    compile_policy,
    reconcile,
    want_labels,
)
from nodeworthy.rules import (
    CompiledRule,
    Expression,
    Operator,
    Outcome,
    Rule,
    Term,
    UnreadableRule,
    compile_rule,
    evaluate_chain,
    evaluate_rule,
)

POLICY = compile_policy()
SETS = ("a.a", "b.b", "c.c", "pci.device", "local.label", "cpu.cpuid")
ELEMENTS = ("x", "y")
KEYS = ("x.org/k", "x.org/l", "feature.node.kubernetes.io/cpu-cpuid.x", "feature.node.kubernetes.io/x")

contents = st.builds(
    FeatureSet,
    flags=st.none() | st.frozensets(st.sampled_from(ELEMENTS)),
    attributes=st.none() | st.dictionaries(st.sampled_from(ELEMENTS), st.sampled_from(("1", "2", "true"))),
    instances=st.just(()) | st.just(({"class": "0302", "vendor": "10de", "x": "1"},)),
)
facts = st.dictionaries(st.sampled_from(SETS), contents)
masks = st.frozensets(st.sampled_from(SETS))
expressions = st.one_of(
    st.sampled_from((Expression(Operator.EXISTS), Expression(Operator.DOES_NOT_EXIST))),
    st.just(Expression(Operator.IN, ("1",))),
    st.just(Expression(Operator.GT, ("1",))),
)
terms = st.builds(
    Term,
    feature=st.sampled_from((*SETS, "rule.matched")),
    expressions=st.none() | st.dictionaries(st.sampled_from((*ELEMENTS, "v")), expressions, max_size=2),
)
rules = st.builds(
    Rule,
    name=st.sampled_from(("r1", "r2", "r3")),
    match_features=st.lists(terms, max_size=2).map(tuple),
    match_any=st.lists(st.lists(terms, max_size=2).map(tuple), max_size=2).map(tuple),
    labels=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("1", "2", "@a.a.x", "@rule.matched.v", "a b"))),
    vars=st.dictionaries(st.sampled_from(("v", "x")), st.sampled_from(("1", "2"))),
    labels_template=st.sampled_from(("", "", "", "k={{ . }}")),
)
unreadable = st.just(UnreadableRule("bad", (Problem("f", 1, "p", "wrong"),)))
lists_of_rules = st.lists(rules | rules | rules | unreadable, max_size=5)


class Moment(NamedTuple):
    """What is there at one time."""

    rules: Sequence[Rule | UnreadableRule]
    contents: dict[str, FeatureSet]
    unknown: frozenset[str]
    unread: bool

    def facts(self) -> Snapshot:
        status = {name: SetStatus(SetState.UNKNOWN, "why") for name in self.unknown}
        known = {name: content for name, content in self.contents.items() if name not in self.unknown}
        return Snapshot(known, status, frozenset())

    def wanted(self) -> WantedLabels:
        objects = [RuleObject("o", tuple(self.rules))]
        if self.unread:
            objects.append(RuleObject("", unreadable="it is not YAML", source="f.yaml"))
        return want_labels(self.facts(), POLICY, compile_chain(objects))


moments = st.builds(Moment, lists_of_rules, facts, masks, st.booleans())


class Node(NamedTuple):
    """What a node has and what is remembered of it."""

    labels: NodeLabels = NodeLabels({})
    memory: LabelMemory | None = None

    def plan(self, moment: Moment) -> Plan:
        return reconcile(moment.wanted(), self.labels, self.memory)

    def after(self, plan: Plan) -> "Node":
        ours = self.labels.owned & self.labels.live.keys()
        foreign = {key: value for key, value in self.labels.live.items() if key not in ours}
        return Node(NodeLabels(foreign | dict(plan.apply), frozenset(plan.apply)), plan.memory)


def live_through(history: Sequence[Moment], node: Node) -> Node:
    for moment in history:
        node = node.after(node.plan(moment))
    return node


nodes = st.builds(
    lambda live, owned: Node(NodeLabels(live, owned)),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("1", "2"))),
    st.frozensets(st.sampled_from(KEYS)),
)


def any_errs(some_rules: Sequence[Rule | UnreadableRule], known: Snapshot) -> bool:
    readable = [compile_rule(rule) for rule in some_rules if isinstance(rule, Rule)]
    return any(result.outcome is Outcome.ERROR for result in evaluate_chain(readable, known).results)


@settings(max_examples=150)
@given(lists_of_rules, facts, masks)
def test_facts_that_become_unknown_change_nothing(
    some_rules: list[Rule | UnreadableRule], some_facts: dict[str, FeatureSet], mask: frozenset[str]
) -> None:
    known = Moment(some_rules, some_facts, frozenset(), unread=False)
    # A question that is in error on what is known ends the rule there, as in NFD; of unknown facts it is not asked.
    assume(not any_errs(some_rules, known.facts()))
    node = live_through([known], Node())
    plan = node.plan(known._replace(unknown=mask))
    assert not plan.is_needed
    assert plan.remove == {}


@settings(max_examples=150)
@given(lists_of_rules, lists_of_rules, facts)
def test_a_file_that_cannot_be_read_any_more_changes_nothing_that_its_rules_gave(
    some: list[Rule | UnreadableRule], others: list[Rule | UnreadableRule], some_facts: dict[str, FeatureSet]
) -> None:
    node = live_through([Moment([*some, *others], some_facts, frozenset(), unread=False)], Node())
    plan = node.plan(Moment(some, some_facts, frozenset(), unread=True))
    gone = {rule.name for rule in others} - {rule.name for rule in some}
    for key in plan.remove:
        assert node.memory is not None
        assert not {one.giver.part for one in node.memory.labels[key].given} & gone


@settings(max_examples=150)
@given(st.lists(moments, max_size=3), nodes, moments)
def test_a_second_pass_with_the_same_inputs_sends_and_remembers_nothing_new(
    history: list[Moment], start: Node, moment: Moment
) -> None:
    node = live_through([*history, moment], start)
    plan = node.plan(moment)
    assert not plan.is_needed
    assert not plan.is_memory_new
    assert (plan.set, plan.remove) == ({}, {})


@settings(max_examples=150)
@given(st.lists(moments, max_size=3), nodes, moments)
def test_a_lost_memory_removes_nothing(history: list[Moment], start: Node, moment: Moment) -> None:
    node = live_through(history, start)
    assert node._replace(memory=None).plan(moment).remove == {}


@settings(max_examples=150)
@given(st.lists(moments, max_size=3), nodes, moments)
def test_foreign_labels_are_never_sent_and_the_plan_adds_up(history: list[Moment], start: Node, moment: Moment) -> None:
    node = live_through(history, start)
    plan = node.plan(moment)
    ours = node.labels.owned & node.labels.live.keys()
    assert not plan.apply.keys() & (node.labels.live.keys() - ours)
    assert plan.remove.keys() == ours - plan.apply.keys()
    assert plan.set.items() <= plan.apply.items()
    assert plan.is_needed == bool(plan.set or plan.remove)


@settings(max_examples=200)
@given(st.lists(moments, min_size=1, max_size=3), moments)
def test_a_label_goes_only_if_everybody_who_gave_it_is_gone_or_certainly_does_not_give_it(
    history: list[Moment], moment: Moment
) -> None:
    node = live_through(history, Node())
    assert node.memory is not None
    for key in node.plan(moment).remove:
        for giver in {one.giver for one in node.memory.labels[key].given}:
            if giver.kind is GiverKind.RULE:
                assert not may_give(giver, key, moment), (giver, key)
            else:
                assert giver.name not in moment.unknown


def may_give(giver: Giver, key: str, moment: Moment) -> bool:
    """Whether a rule of this name might give the label, asked of the rules one by one.

    What earlier rules gave to ``rule.matched`` is not known here, so that only rules that do not read it are asked.
    """
    if moment.unread and giver.part not in {rule.name for rule in moment.rules}:
        return True
    for rule in moment.rules:
        if isinstance(rule, UnreadableRule) or rule.name != giver.part or reads_others(compile_rule(rule)):
            continue
        result = evaluate_rule(compile_rule(rule), moment.facts())
        full = key if key in rule.labels else key.removeprefix("feature.node.kubernetes.io/")
        is_doubtful = result.outcome in (Outcome.UNKNOWN, Outcome.ERROR)
        if is_doubtful and (rule.labels_template or full in rule.labels):
            return True
    return False


def reads_others(rule: CompiledRule) -> bool:
    return rule.matched_names is None or bool(rule.matched_names)
