from collections.abc import Callable, Mapping

import msgspec
import pytest

from nodeworthy.errors import Problem
from nodeworthy.features import FeatureSet, Snapshot, digest, encode
from nodeworthy.labels import (
    Claims,
    Given,
    Giver,
    GiverKind,
    LabelPolicy,
    LabelSettings,
    OutputSettings,
    RejectedKind,
    RuleObject,
    WantedLabel,
    WantedLabels,
    WantedTaint,
    compile_chain,
    compile_policy,
    want_labels,
)
from nodeworthy.rules import Expression, Operator, Outcome, Rule, Taint, Term, UnreadableRule
from nodeworthy.rules.labels import Fault

PREFIX = "feature.node.kubernetes.io/"
EXISTS = Expression(Operator.EXISTS)
OS = FeatureSet(attributes={"ID": "debian", "VERSION_ID": "12", "NAME": "Debian GNU/Linux"})
FactsOf = Callable[..., Snapshot]
DARK = (Term("dark.set", {"k": EXISTS}),)


def want(policy: LabelPolicy, facts: Snapshot, *rules: Rule | UnreadableRule, unread: str = "") -> WantedLabels:
    objects = [RuleObject("o", rules)]
    if unread:
        objects.append(RuleObject("", unreadable="it is not YAML", source=unread))
    return want_labels(facts, policy, compile_chain(objects, auto_prefix=policy.auto_prefix))


def values(wanted: WantedLabels) -> dict[str, str]:
    return {key.removeprefix(PREFIX): label.value for key, label in wanted.labels.items()}


def texts(given: Mapping[str, WantedLabel]) -> dict[str, str]:
    return {key: one.value for key, one in given.items()}


def rule(name: str) -> Giver:
    return Giver(GiverKind.RULE, "o", name)


def test_a_label_tells_who_gives_it_and_from_what(policy: LabelPolicy, facts_of: FactsOf) -> None:
    facts = facts_of({"system.osrelease": OS})
    first = Rule("first", (Term("system.osrelease", {"ID": EXISTS}),), labels={"system-os_release.ID": "mine"})
    wanted = want(policy, facts, first)
    label = wanted.labels[f"{PREFIX}system-os_release.ID"]
    default = Giver(GiverKind.DEFAULT, "system.osrelease")
    assert label.given == (Given(default, "debian"), Given(rule("first"), "mine"))
    assert (label.value, label.sets) == ("mine", ("system.osrelease",))
    assert wanted.inputs == {"system.osrelease": digest(encode(OS))}
    assert {default, rule("first")} <= wanted.givers


def test_inputs_that_are_absent_are_told_as_such(policy: LabelPolicy, facts_of: FactsOf) -> None:
    either = Rule("r", match_any=((Term("no.set"),), (Term("system.osrelease"),)), labels={"x.org/l": "1"})
    wanted = want(policy, facts_of({"system.osrelease": OS}), either)
    assert wanted.inputs["no.set"] == "absent"


def test_the_later_rule_wins_and_a_disagreement_of_rules_is_a_conflict(policy: LabelPolicy, facts_of: FactsOf) -> None:
    rules = (
        Rule("a", labels={"k": "1", "same": "s", "id": "x"}),
        Rule("b", labels={f"{PREFIX}k": "2", "same": "s"}),
    )
    wanted = want(policy, facts_of(), *rules)
    assert values(wanted) == {"k": "2", "same": "s", "id": "x"}
    assert [label.key for label in wanted.conflicts] == [f"{PREFIX}k"]


def test_a_rule_that_overrides_a_default_label_is_no_conflict(policy: LabelPolicy, facts_of: FactsOf) -> None:
    wanted = want(policy, facts_of({"system.osrelease": OS}), Rule("a", labels={"system-os_release.ID": "mine"}))
    assert wanted.conflicts == ()


def test_l9_a_bad_label_is_refused_with_its_reason_and_its_neighbours_are_not(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    wanted = want(policy, facts_of(), Rule("r", labels={"good": "1", "bad": "a b", "kubernetes.io/x": "1"}))
    assert values(wanted) == {"good": "1"}
    assert {one.key: (one.giver, one.reason[:14]) for one in wanted.rejected} == {
        f"{PREFIX}bad": (rule("r"), "the value must"),
        "kubernetes.io/x": (rule("r"), "namespace kube"),
    }


def test_what_wins_and_is_refused_leaves_nothing_of_those_before_it(policy: LabelPolicy, facts_of: FactsOf) -> None:
    wanted = want(policy, facts_of(), Rule("a", labels={"k": "1"}), Rule("b", labels={"k": "a b"}))
    assert values(wanted) == {}


def test_of_two_spellings_in_one_rule_the_full_one_wins_and_the_other_is_told(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    same = want(policy, facts_of(), Rule("r", labels={"k": "1", f"{PREFIX}k": "1"}))
    other = want(policy, facts_of(), Rule("r", labels={"k": "1", f"{PREFIX}k": "2"}))
    assert (values(same), same.rejected) == ({"k": "1"}, ())
    assert values(other) == {"k": "2"}
    assert [(one.key, one.value) for one in other.rejected] == [("k", "1")]


def test_without_the_prefix_keys_stay_as_they_are_written(facts_of: FactsOf) -> None:
    plain = compile_policy(LabelSettings(auto_prefix=False))
    wanted = want(plain, facts_of(), Rule("r", labels={"gpu": "1"}, annotations={"a": "b"}))
    assert (values(wanted), texts(wanted.annotations)) == ({"gpu": "1"}, {"a": "b"})


def test_a_rule_that_is_unknown_or_in_error_claims_what_it_may_give(policy: LabelPolicy, facts_of: FactsOf) -> None:
    text = FeatureSet(attributes={"k": "abc"})
    bad = (Term("lab.x", {"k": Expression(Operator.GT, ("1",))}),)
    facts = facts_of({"lab.x": text}, "dark.set")
    wanted = want(policy, facts, Rule("dark", DARK, labels={"d": "1"}), Rule("bad", bad, labels={"e": "1"}))
    assert {str(one.giver): (one.outcome, dict(one.claims.values)) for one in wanted.unresolved} == {
        "rule o/dark": (Outcome.UNKNOWN, {f"{PREFIX}d": "1"}),
        "rule o/bad": (Outcome.ERROR, {f"{PREFIX}e": "1"}),
    }
    assert "abc" in wanted.unresolved[1].reason


def test_a_template_that_fails_may_have_given_anything_and_one_that_does_not_gives_its_labels(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    def by(template: str, facts: Snapshot) -> WantedLabels:
        return want(policy, facts, Rule("t", (Term("system.osrelease"),), labels_template=template))

    facts = facts_of({"system.osrelease": OS})
    assert by("oops", facts_of()).unresolved == ()
    assert [one.claims.anything for one in by("oops", facts).unresolved] == [True]
    # Both lines are one rule's, so the bad label does not take its neighbour down.
    given = by("a=1\nb=a b\n", facts)
    assert values(given)["a"] == "1"
    assert [one.key for one in given.rejected] == [f"{PREFIX}b"]


def test_a_rule_that_cannot_be_read_is_left_out_and_its_neighbours_run(policy: LabelPolicy, facts_of: FactsOf) -> None:
    bad = UnreadableRule("bad", (Problem("f", 1, "spec.rules[0]", "wrong"),))
    wanted = want(policy, facts_of(), bad, Rule("good", labels={"g": "1"}))
    assert values(wanted) == {"g": "1"}
    assert [one.reason for one in wanted.unresolved] == ["the rule could not be read: spec.rules[0]: wrong"]


def test_a_document_that_cannot_be_read_counts_as_the_last_giver(policy: LabelPolicy, facts_of: FactsOf) -> None:
    wanted = want(policy, facts_of(), Rule("good", labels={"g": "1"}), unread="gpu.yaml")
    (doubt,) = wanted.unresolved
    assert values(wanted) == {"g": "1"}
    assert doubt.position > wanted.labels[f"{PREFIX}g"].position
    assert doubt.reason == "the rule could not be read: gpu.yaml: it is not YAML"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("@system.osrelease.ID", "debian"),
        ("@system.osrelease.VERSION_ID", "12"),
        ("@rule.matched.v", "var"),
        ("@rule.matched.l", "label"),
    ],
)
def test_a_dynamic_value_is_looked_up_after_all_rules(
    policy: LabelPolicy, facts_of: FactsOf, written: str, value: str
) -> None:
    rules = (Rule("r", labels={"k": written}), Rule("late", labels={"l": "label"}, vars={"v": "var"}))
    wanted = want(policy, facts_of({"system.osrelease": OS}), *rules)
    assert wanted.labels[f"{PREFIX}k"].value == value
    assert wanted.labels[f"{PREFIX}k"].given == (Given(rule("r"), written),)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("@system.osrelease", "is not @<domain>.<feature>.<element>"),
        ("@system.osrelease.ghost", "system.osrelease has no attribute ghost"),
        ("@System.osrelease.ID", "System.osrelease has no attribute ID"),
        ("@system.osrelease.NAME", "the value must be"),
        ("@rule.matched.ghost", "no rule gives ghost"),
    ],
)
def test_a_dynamic_value_that_is_nothing_is_refused(
    policy: LabelPolicy, facts_of: FactsOf, written: str, reason: str
) -> None:
    wanted = want(policy, facts_of({"system.osrelease": OS}), Rule("r", labels={"k": written}))
    (refused,) = [one for one in wanted.rejected if one.key == f"{PREFIX}k"]
    assert reason in refused.reason
    assert wanted.unresolved == ()


def test_a_dynamic_value_of_an_unknown_set_or_element_is_in_doubt(policy: LabelPolicy, facts_of: FactsOf) -> None:
    half = FeatureSet(attributes={}, unobserved=frozenset({"e"}))
    facts = facts_of({"half.set": half}, "dark.set")
    labels = {"a": "@dark.set.k", "b": "@half.set.e", "c": "1"}
    wanted = want(policy, facts, Rule("r", labels=labels))
    assert values(wanted) == {"c": "1"}
    assert wanted.rejected == ()
    assert {key for one in wanted.unresolved for key in one.claims.values} == {f"{PREFIX}a", f"{PREFIX}b"}
    assert "dark.set is not known: permission denied" in wanted.unresolved[0].reason


def test_a_dynamic_value_that_an_unknown_rule_may_give_is_in_doubt(policy: LabelPolicy, facts_of: FactsOf) -> None:
    facts = facts_of({}, "dark.set")
    user = Rule("user", labels={"k": "@rule.matched.v"})
    sure, dark = Rule("sure", vars={"v": "sure"}), Rule("dark", DARK, vars={"v": "dark"})
    assert values(want(policy, facts, user, dark)) == {}
    assert values(want(policy, facts, user, sure, dark)) == {}
    assert values(want(policy, facts, user, dark, sure)) == {"k": "sure"}
    assert values(want(policy, facts, user, sure, Rule("dark", DARK, labels={"v": "dark"}))) == {}
    assert values(want(policy, facts, user, sure, Rule("dark", DARK, vars_template="{{ . }}"))) == {}
    assert values(want(policy, facts, user, sure, Rule("dark", DARK, vars={"w": "dark"}))) == {"k": "sure"}
    assert values(want(policy, facts, user, sure, unread="gpu.yaml")) == {"k": "sure"}
    assert want(policy, facts, user, unread="gpu.yaml").rejected == ()


TAINTS_ON = compile_policy(LabelSettings(outputs=OutputSettings(taints=True)))


def test_other_outputs_are_given_as_they_are_computed_with_who_gives_them(facts_of: FactsOf) -> None:
    rules = (
        Rule(
            "a",
            (Term("system.osrelease"),),
            annotations={"note": "@system.osrelease.ID", "kubernetes.io/x": "1"},
            extended_resources={"slots": "@system.osrelease.VERSION_ID", "bad": "lots"},
            taints=(Taint("x.org/t", "NoSchedule", "1"), Taint("nope", "NoSchedule"), Taint("x.org/u", "Sometimes")),
        ),
        Rule("b", annotations={"note": "two words"}, taints=(Taint("x.org/t", "NoSchedule", "2"),)),
    )
    wanted = want(TAINTS_ON, facts_of({"system.osrelease": OS}), *rules)
    assert texts(wanted.annotations) == {f"{PREFIX}note": "two words"}
    assert texts(wanted.extended_resources) == {f"{PREFIX}slots": "12"}
    slots = wanted.extended_resources[f"{PREFIX}slots"]
    assert (slots.given, slots.sets) == ((Given(rule("a"), "@system.osrelease.VERSION_ID"),), ("system.osrelease",))
    assert wanted.taints == (WantedTaint(Taint("x.org/t", "NoSchedule", "2"), rule("b"), ()),)
    assert {(one.kind, one.key): one.fault for one in wanted.rejected} == {
        (RejectedKind.ANNOTATION, "kubernetes.io/x"): Fault.NAMESPACE,
        (RejectedKind.EXTENDED_RESOURCE, f"{PREFIX}bad"): Fault.VALUE,
        (RejectedKind.TAINT, "nope"): Fault.UNPREFIXED,
        (RejectedKind.TAINT, "x.org/u"): Fault.EFFECT,
    }
    assert [one.key for one in wanted.conflicts] == [f"{PREFIX}note"]


def test_annotations_are_never_dynamic_as_in_nfd(policy: LabelPolicy, facts_of: FactsOf) -> None:
    wanted = want(policy, facts_of({"system.osrelease": OS}), Rule("a", annotations={"note": "@system.osrelease.ID"}))
    assert texts(wanted.annotations) == {f"{PREFIX}note": "@system.osrelease.ID"}


def test_what_a_rule_in_doubt_may_give_is_claimed_for_every_kind(facts_of: FactsOf) -> None:
    taints = (Taint("x.org/t", "NoSchedule"),)
    dark = Rule("d", DARK, annotations={"a": "1"}, extended_resources={"x.org/r": "1"}, taints=taints)
    user = Rule("u", extended_resources={"n": "@dark.set.k"})
    wanted = want(TAINTS_ON, facts_of({}, "dark.set"), dark, user)
    by_giver = {one.giver.part: one.claims for one in wanted.unresolved if one.giver.kind is GiverKind.RULE}
    assert by_giver["d"] == Claims(
        annotations=frozenset({f"{PREFIX}a"}),
        extended_resources=frozenset({"x.org/r"}),
        taints=frozenset({"x.org/t"}),
    )
    assert by_giver["u"] == Claims(extended_resources=frozenset({f"{PREFIX}n"}))


def test_a_kind_that_is_switched_off_is_neither_given_nor_kept_in_doubt(facts_of: FactsOf) -> None:
    off = OutputSettings(labels=False, annotations=False, extended_resources=False, taints=False)
    policy = compile_policy(LabelSettings(outputs=off))
    loud = Rule(
        "r",
        labels={"k": "1", "a b": "1"},
        annotations={"a": "1"},
        extended_resources={"r": "1"},
        taints=(Taint("x.org/t", "NoSchedule"),),
    )
    dark = msgspec.structs.replace(loud, name="d", match_features=DARK)
    wanted = want(policy, facts_of({"system.osrelease": OS}, "dark.set"), loud, dark)
    given = (wanted.labels, wanted.annotations, wanted.extended_resources, wanted.taints, wanted.rejected)
    assert given == ({}, {}, {}, (), ())
    assert [one.claims for one in wanted.unresolved if one.giver.kind is GiverKind.RULE] == [Claims()]


def test_taints_are_off_unless_they_are_switched_on(policy: LabelPolicy, facts_of: FactsOf) -> None:
    assert want(policy, facts_of(), Rule("r", taints=(Taint("x.org/t", "NoSchedule"),))).taints == ()


def test_an_object_may_do_without_the_prefix_on_its_own(policy: LabelPolicy, facts_of: FactsOf) -> None:
    short = Rule("r", labels={"gpu": "1", "bad": "a b"}, annotations={"n": "x"}, extended_resources={"r": "1"})
    objects = [
        RuleObject("o", (short,), auto_prefix=False),
        RuleObject("p", (Rule("q", labels={"gpu": "2"}),)),
    ]
    wanted = want_labels(facts_of(), policy, compile_chain(objects))
    assert texts(wanted.labels) == {"gpu": "1", f"{PREFIX}gpu": "2"}
    assert (texts(wanted.annotations), texts(wanted.extended_resources)) == ({"n": "x"}, {"r": "1"})
    assert [(one.key, one.fault) for one in wanted.rejected] == [("bad", Fault.VALUE)]


def test_r15_an_object_sees_what_an_object_with_a_greater_name_gives(policy: LabelPolicy, facts_of: FactsOf) -> None:
    seen = (Term("rule.matched", {"v": Expression(Operator.IN, ("1",))}),)
    objects = [
        RuleObject("a-consumer", (Rule("c", seen, labels={"k": "consumer", "ready": "1"}),)),
        RuleObject("b-producer", (Rule("p", labels={"k": "producer"}, vars={"v": "1"}),)),
    ]
    wanted = want_labels(facts_of(), policy, compile_chain(objects))
    # Who wins is the last one in NFD's order all the same.
    assert values(wanted) == {"ready": "1", "k": "producer"}


def test_r15_a_dynamic_value_is_that_of_the_last_rule_in_nfds_order(policy: LabelPolicy, facts_of: FactsOf) -> None:
    seen = (Term("rule.matched", {"v": EXISTS}),)
    objects = [
        RuleObject("a", (Rule("c", seen, vars={"w": "a"}, labels={"k": "@rule.matched.w"}),)),
        RuleObject("b", (Rule("p", vars={"v": "1", "w": "b"}),)),
    ]
    assert values(want_labels(facts_of(), policy, compile_chain(objects))) == {"k": "b"}


def test_r16_two_objects_that_give_one_label_have_a_winner_and_are_told(policy: LabelPolicy, facts_of: FactsOf) -> None:
    objects = [RuleObject(name, (Rule("r", labels={"x": value}),)) for name, value in (("b", "2"), ("a", "1"))]
    wanted = want_labels(facts_of(), policy, compile_chain(objects))
    (conflict,) = wanted.conflicts
    assert (conflict.value, [(given.giver.name, given.value) for given in conflict.given]) == (
        "2",
        [("a", "1"), ("b", "2")],
    )


def test_r18_one_dynamic_value_that_is_nothing_leaves_the_other_labels_of_its_rule(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    facts = facts_of(
        {
            "kernel.version": FeatureSet(attributes={"major": "5"}),
            "pci.device": FeatureSet(instances=({"vendor": "10de"},)),
        }
    )
    labels = {
        "major": "@kernel.version.major",
        "two": "@kernel.version",
        "ghost": "@kernel.version.ghost",
        "device": "@pci.device.vendor",
        "plain": "1",
    }
    wanted = want(policy, facts, Rule("r", labels=labels))
    mine = {key: value for key, value in values(wanted).items() if key in labels}
    assert mine == {"major": "5", "plain": "1"}
    refused = {one.key.removeprefix(PREFIX): one.fault for one in wanted.rejected}
    assert refused == dict.fromkeys(("two", "ghost", "device"), Fault.DYNAMIC)
