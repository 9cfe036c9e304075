from nodeworthy.labels import LabelSettings, OutputSettings, RuleObject, notices_of_settings
from nodeworthy.rules import Rule, Taint

PREFIX = "feature.node.kubernetes.io/"
E1 = RuleObject("gpu-rule", (Rule("nvidia-gpu-present", labels={"accelerator": "nvidia"}),), "gpu.yaml")


def test_e1_the_key_that_reaches_the_node_is_told_once() -> None:
    (notice,) = notices_of_settings([E1], LabelSettings())
    assert (notice.source, notice.path) == ("gpu.yaml", "rule nvidia-gpu-present")
    assert notice.message == f"label accelerator reaches the node as {PREFIX}accelerator"
    assert notice.hint.startswith("a nodeSelector has to use that key; or annotate the object with nodeworthy.io/auto")


def test_one_notice_stands_for_all_short_labels_of_a_rule() -> None:
    rules = (Rule("a", labels={"x": "1", "y": "2", "x.org/z": "3"}), Rule("b", labels={"x.org/z": "3"}))
    (notice,) = notices_of_settings([RuleObject("o", rules)], LabelSettings())
    assert notice.message == f"label x reaches the node as {PREFIX}x, and 1 more of this rule likewise"


def test_nothing_is_told_where_the_prefix_is_off() -> None:
    assert not list(notices_of_settings([E1], LabelSettings(auto_prefix=False)))
    assert not list(notices_of_settings([RuleObject("o", E1.rules, auto_prefix=False)], LabelSettings()))


def test_what_is_switched_off_is_told_by_rule_and_kind() -> None:
    rule = Rule(
        "r",
        labels={"x.org/k": "1"},
        annotations={"x.org/a": "1"},
        extended_resources={"x.org/r": "1"},
        taints=(Taint("x.org/t", "NoSchedule"),),
    )
    off = OutputSettings(labels=False, annotations=False, extended_resources=False)
    told = [one.message for one in notices_of_settings([RuleObject("o", (rule,))], LabelSettings(outputs=off))]
    assert told == [
        f"the rule gives {kind}, which a setting has switched off"
        for kind in ("labels", "annotations", "extended resources", "taints")
    ]
    taints = OutputSettings(taints=True)
    assert not list(notices_of_settings([RuleObject("o", (rule,))], LabelSettings(outputs=taints)))
