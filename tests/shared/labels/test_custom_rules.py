import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Lookup, SetState, Snapshot, read_document
from nodeworthy.labels import (
    Claims,
    DefaultLabels,
    Given,
    Giver,
    GiverKind,
    LabelEntry,
    LabelMemory,
    LabelPolicy,
    LabelState,
    NodeLabels,
    RuleChain,
    WantedLabels,
    combine,
    make_own_labels,
    reconcile,
)
from nodeworthy.labels.custom_rules import CustomRules, make_custom_labels, read_custom_rules
from nodeworthy.rules import evaluate_chain

PREFIX = "feature.node.kubernetes.io/"
FactsOf = Callable[..., Snapshot]
CASES = [
    case
    for line in (Path(__file__).parents[2] / "data/oracle/cases.jsonl").read_text().strip().split("\n")
    if (case := json.loads(line))["kind"] == "custom"
]
PASSED_OVER = {"c-custom-031": {"rack": "1"}, "c-custom-034": {"a": "b"}}
"""Files with fields that nobody reads: NFD refuses them as a whole, and so does a validation here (custom-d-fields)."""


def texts(**files: str) -> Lookup:
    names = {"conf": "sources.custom"}
    contents = {names.get(name, f"custom.d/{name.replace('__', '/')}"): text for name, text in files.items()}
    return Lookup(SetState.PRESENT, FeatureSet(attributes=contents), "")


def always(name: str, labels: str, condition: str = "") -> str:
    return f"- name: {name}\n  labels: {labels}\n{condition}"


def make(policy: LabelPolicy, facts: Snapshot, found: Lookup) -> DefaultLabels:
    custom = read_custom_rules(found, auto_prefix=policy.auto_prefix)
    return make_custom_labels(custom, evaluate_chain(custom.chain.compiled, facts), policy.defaults)


def values(made: DefaultLabels) -> dict[str, str]:
    return {label.key.removeprefix(PREFIX): label.value for label in made.labels}


def names(custom: CustomRules) -> list[str]:
    return [link.giver.part for link in custom.chain.rules]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_rules_of_a_node_give_the_labels_of_the_oracle(case: dict[str, Any]) -> None:
    features = json.dumps({"flags": {}, **(case["input"]["features"] or {})})
    facts = Snapshot(read_document(features, "features").contents, catalogue=frozenset())
    custom = read_custom_rules(texts(conf=case["input"]["rulesYaml"]))
    labels: dict[str, str] = {}
    for result in evaluate_chain(custom.chain.compiled, facts).results[2:]:
        labels |= result.labels
    assert labels == PASSED_OVER.get(case["id"], case["expected"].get("labels", {}))


def test_static_rules_come_first_then_the_configuration_then_files_in_nfds_order() -> None:
    rule = "- {name: r}"
    custom = read_custom_rules(texts(b=rule, a__z=rule, conf=rule, **{"a-b": rule, "a__B": rule}))
    assert names(custom) == [
        "static/rdma.capable",
        "static/rdma.available",
        "sources.custom/r",
        "custom.d/a/B/r",
        "custom.d/a/z/r",
        "custom.d/a-b/r",
        "custom.d/b/r",
    ]


def test_a_node_without_rules_of_its_own_has_the_static_ones(policy: LabelPolicy, facts_of: FactsOf) -> None:
    facts = facts_of(
        {
            "pci.device": FeatureSet(instances=({"vendor": "15b3"},)),
            "kernel.loadedmodule": FeatureSet(flags=frozenset({"ib_uverbs", "rdma_ucm"})),
        }
    )
    absent = Lookup(SetState.ABSENT, None, "")
    assert values(make(policy, facts, absent)) == {"rdma.capable": "true", "rdma.available": "true"}
    other = facts_of({"kernel.loadedmodule": FeatureSet(flags=frozenset({"ib_uverbs"}))})
    assert values(make(policy, other, absent)) == {}


def test_later_rules_see_labels_and_variables_of_earlier_ones_across_files(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    condition = "  matchFeatures: [{feature: rule.matched, matchExpressions: {x: {op: Exists}, v: {op: Exists}}}]\n"
    found = texts(a=always("a", "{x: '1'}", "  vars: {v: '1'}\n"), b=always("b", "{z: '2'}", condition))
    assert values(make(policy, facts_of(), found)) == {"x": "1", "z": "2"}


def test_illegal_labels_and_dynamic_values_are_refused_and_their_neighbours_count(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    found = texts(a=always("a", "{a b: '1', v: 'not legal', d: '@system.osrelease.ID', ok: '1', x.org/full: '2'}"))
    made = make(policy, facts_of({"system.osrelease": FeatureSet(attributes={"ID": "debian"})}), found)
    assert values(made) == {"ok": "1", "x.org/full": "2"}
    assert sorted(one.key.removeprefix(PREFIX) for one in made.rejected) == ["a b", "d", "v"]


def test_a_full_name_stands_behind_the_sources_and_a_short_one_yields(policy: LabelPolicy, facts_of: FactsOf) -> None:
    found = texts(a=always("a", f"{{short: '1', {PREFIX}full: '2'}}"))
    position = {label.key: label.position for label in make(policy, facts_of(), found).labels}
    sets = [maker.set_name for maker in policy.defaults.makers]
    assert position == {f"{PREFIX}short": -1, f"{PREFIX}full": sets.index("custom.rules") + 1}
    assert sets[-3:] == ["custom.rules", "programs.label", "local.label"]


def test_a_file_that_cannot_be_read_may_give_anything_and_its_neighbours_run(
    policy: LabelPolicy, facts_of: FactsOf
) -> None:
    found = texts(a="{", b=always("b", "{x: '1'}"))
    made = make(policy, facts_of(), found)
    assert values(made) == {"x": "1"}
    assert [(one.giver, one.claims) for one in made.unresolved] == [
        (Giver(GiverKind.DEFAULT, "custom.rules"), Claims(anything=True))
    ]
    assert read_custom_rules(found).problems[0].source == "custom.d/a"


def want(policy: LabelPolicy, facts: Snapshot) -> WantedLabels:
    both = make_own_labels(facts, policy)
    return combine(facts, policy, both, RuleChain(), evaluate_chain((), facts))


def own_label(part: str) -> LabelMemory:
    giver = Giver(GiverKind.DEFAULT, "custom.rules", part)
    entry = LabelEntry(LabelState.APPLIED, "1", (Given(giver, "1"),))
    return LabelMemory(labels={f"{PREFIX}x": entry}, inputs={})


@pytest.mark.parametrize(
    ("content", "is_kept"),
    [
        (None, True),
        (FeatureSet(attributes={}, unobserved=frozenset({"custom.d/a"})), True),
        (FeatureSet(attributes={"custom.d/a": "{"}), True),
        (FeatureSet(attributes={}), False),
        (FeatureSet(attributes={"custom.d/a": "- {name: r, labels: {z: '1'}}"}), False),
    ],
)
def test_a_label_goes_only_when_its_rule_is_known_to_be_gone_or_to_give_it_no_more(
    policy: LabelPolicy, facts_of: FactsOf, content: FeatureSet | None, *, is_kept: bool
) -> None:
    facts = facts_of({"custom.rules": content}) if content else facts_of({}, "custom.rules")
    labels = NodeLabels(live={f"{PREFIX}x": "1"}, owned=frozenset({f"{PREFIX}x"}))
    plan = reconcile(want(policy, facts), labels, own_label("custom.d/a/r"))
    assert (f"{PREFIX}x" in plan.apply) is is_kept


def test_what_a_rule_gave_is_explained_by_its_file_and_name(policy: LabelPolicy, facts_of: FactsOf) -> None:
    facts = facts_of({"custom.rules": texts(a=always("r", "{x: '1'}")).content})
    wanted = want(policy, facts)
    assert str(wanted.labels[f"{PREFIX}x"].given[-1].giver) == "custom rule custom.d/a/r"
    assert "custom.rules" in wanted.inputs
    assert wanted.labels[f"{PREFIX}x"].given[-1].giver in wanted.givers


@given(st.text())
def test_any_text_gives_rules_or_a_problem(text: str) -> None:
    custom = read_custom_rules(texts(a=text))
    assert names(custom)[:2] == ["static/rdma.capable", "static/rdma.available"]
