from nodeworthy.rules.prefixes import Outputs, add_default_prefix, merge_outputs
from nodeworthy.rules.records import Taint


def test_a_name_without_a_prefix_gets_the_default_one() -> None:
    assert add_default_prefix({"a": "1", "x.org/a": "2"}) == {"feature.node.kubernetes.io/a": "1", "x.org/a": "2"}


def test_of_both_spellings_the_full_one_wins() -> None:
    full = "feature.node.kubernetes.io/a"
    assert add_default_prefix({full: "full", "a": "short"}) == {full: "full"}
    assert add_default_prefix({"a": "short", full: "full"}) == {full: "full"}


def test_the_last_rule_wins_and_taints_are_collected() -> None:
    taint = Taint("x.org/t", "NoSchedule")
    merged = merge_outputs([Outputs({"x.org/a": "1"}, taints=(taint,)), Outputs({"x.org/a": "2"}, taints=(taint,))])
    assert merged.labels == {"x.org/a": "2"}
    assert merged.taints == (taint, taint)
