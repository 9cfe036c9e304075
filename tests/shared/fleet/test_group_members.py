from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, GroupMembers, find_members
from nodeworthy.rules import read_rule_document

GROUP = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureGroup
metadata: {name: g}
spec:
  featureGroupRules:
  - name: avx
    vars: {fast: "1"}
    matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {op: Exists}}}]
  - name: by variable
    matchFeatures:
    - {feature: rule.matched, matchExpressions: {fast: {op: DoesNotExist}}}
    - {feature: kernel.version, matchExpressions: {major: {op: Gt, value: ["5"]}}}
"""


def node(flags: set[str] | None, major: str) -> Snapshot:
    contents = {"kernel.version": FeatureSet(attributes={"major": major})}
    if flags is None:
        dark = {"cpu.cpuid": SetStatus(SetState.UNKNOWN, "source failed")}
        return Snapshot(contents, dark, catalogue=frozenset({"cpu.cpuid"}))
    return Snapshot({**contents, "cpu.cpuid": FeatureSet(flags=frozenset(flags))}, catalogue=frozenset())


def fleet(**nodes: Snapshot) -> Fleet:
    table = Fleet()
    for name, snapshot in nodes.items():
        table.update(name, DETECTOR, snapshot)
    return table


NODES = {
    "avx": node({"AVX"}, "4"),
    "new": node(set(), "6"),
    "old": node(set(), "4"),
    "odd": node(set(), "five"),
    "dark": node(None, "4"),
    "darknew": node(None, "6"),
}


def test_a_node_is_a_member_if_any_rule_matches() -> None:
    rules = read_rule_document(GROUP, "g.yaml", strict=True).rules
    found = find_members(fleet(**NODES), rules)
    assert sorted(found.members) == ["avx", "new"]
    # A kernel of which nobody knows the number, a rule whose condition nobody knows.
    assert sorted(found.undecided) == ["dark", "darknew", "odd"]


def test_only_the_nodes_that_are_asked_for_are_told_in_their_order() -> None:
    rules = read_rule_document(GROUP, "g.yaml").rules
    assert find_members(fleet(**NODES), rules, ["old", "new", "avx"]) == GroupMembers(("new", "avx"), ())


def test_a_group_without_rules_has_no_members_and_one_without_conditions_has_all() -> None:
    assert find_members(fleet(**NODES), ()) == GroupMembers((), ())
    always = read_rule_document("- name: r\n", "g.yaml").rules
    assert len(find_members(fleet(**NODES), always).members) == len(NODES)
    assert find_members(Fleet(), always) == GroupMembers((), ())


def test_a_rule_that_cannot_be_read_leaves_every_node_undecided_that_no_other_rule_takes() -> None:
    bad = GROUP.replace("op: Exists", "op: Sometimes")
    found = find_members(fleet(**NODES), read_rule_document(bad, "g.yaml").rules)
    assert "avx" in found.undecided
    assert not found.members


def test_who_is_undecided_stays_what_it_was() -> None:
    found = GroupMembers(("b", "a"), ("c", "d"))
    assert found.keep(("c", "z")) == ("a", "b", "c")
