"""Pods that no node takes: which key, resource or taint, and who would give it."""

from typing import Any

import msgspec
import pytest

from nodeworthy.diagnosis.pods import Expression, Pod
from nodeworthy.diagnosis.scheduling import Offer, explain_pending
from nodeworthy.diagnosis.selecting import NodeView, Taint, holds

LABEL = "feature.node.kubernetes.io/accelerator"
GPU_RULE = Offer(LABEL, "nvidia", "gpu", "rule gpu-rule")


def pod(**spec: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Pending"}}, Pod)


def node(name: str, *taints: Taint, gpus: str = "", **labels: str) -> NodeView:
    amounts = {"cpu": "4", **({"nvidia.com/gpu": gpus} if gpus else {})}
    return NodeView(name, {"kubernetes.io/hostname": name, **labels}, taints, amounts)


def test_a_key_that_the_rule_gives_behind_its_prefix_is_named_with_the_line_to_change() -> None:
    (cause,) = explain_pending(pod(nodeSelector={"accelerator": "nvidia"}), [node("gpu"), node("cpu")], [GPU_RULE])
    assert cause.text == f"no node carries accelerator; rule gpu-rule gives {LABEL}=nvidia on node gpu"
    assert cause.cure.startswith(f'nodeSelector: {{{LABEL}: "nvidia"}} in place of accelerator')
    assert cause.selector == {LABEL: "nvidia"}


def test_a_label_that_is_there_behind_a_prefix_is_enough() -> None:
    labelled = NodeView("gpu", {LABEL: "nvidia"})
    (cause,) = explain_pending(pod(nodeSelector={"accelerator": "nvidia"}), [labelled], [])
    assert cause.text == f"no node carries accelerator; node gpu carries {LABEL}=nvidia"
    (cause,) = explain_pending(pod(nodeSelector={"accelerator": "amd"}), [labelled], [])
    assert (cause.code, cause.selector) == ("no-node-has-label", {})


def test_a_value_that_no_node_has_is_told_beside_those_that_there_are() -> None:
    nodes = [node("a", disk="hdd"), node("b", disk="nvme")]
    (cause,) = explain_pending(pod(nodeSelector={"disk": "ssd"}), nodes, [])
    assert cause.text == "no node has disk=ssd; there is disk=hdd on a, disk=nvme on b, and no rule gives it"
    assert cause.cure == "a rule that gives disk, or a label by hand: kubectl label node NODE disk=ssd"


def test_a_rule_that_no_node_matches_is_named() -> None:
    unmatched = Offer("accelerator", "nvidia", "", "rule gpu-rule")
    (cause,) = explain_pending(pod(nodeSelector={"accelerator": "nvidia"}), [node("a")], [unmatched])
    assert cause.code == "rule-matches-no-node"
    assert "rule gpu-rule would give accelerator=nvidia, and no node is what it asks for" in cause.text


def test_a_label_that_a_rule_gives_under_this_very_key_is_not_set_yet() -> None:
    given = Offer("accelerator", "nvidia", "gpu", "rule gpu-rule")
    (cause,) = explain_pending(pod(nodeSelector={"accelerator": "nvidia"}), [node("gpu")], [given])
    assert cause.code == "label-not-set"


def test_required_affinity_asks_like_a_selector() -> None:
    terms = [{"matchExpressions": [{"key": "accelerator", "operator": "In", "values": ["nvidia", "amd"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    (cause,) = explain_pending(pod(affinity=affinity), [node("gpu")], [GPU_RULE])
    assert cause.code == "label-has-prefix"
    preferred = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": terms[0]}]}
    }
    assert explain_pending(pod(affinity=preferred), [node("gpu")], [GPU_RULE]) == ()


def test_conditions_that_no_node_fulfils_together_are_told_by_node() -> None:
    nodes = [node("a", disk="ssd"), node("b", zone="z1")]
    (cause,) = explain_pending(pod(nodeSelector={"disk": "ssd", "zone": "z1"}), nodes, [])
    assert cause.code == "no-node-fits-all"
    assert cause.evidence == ("node a: not zone=z1", "node b: not disk=ssd")


@pytest.mark.parametrize(
    ("amounts", "codes"), [("", ["resource-not-offered"]), ("0", ["resource-not-offered"]), ("2", [])]
)
def test_a_device_without_its_plugin_is_a_cause_of_its_own(amounts: str, codes: list[str]) -> None:
    asked = pod(containers=[{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "1"}}}])
    assert [one.code for one in explain_pending(asked, [node("gpu", gpus=amounts)], [])] == codes


def test_taints_count_on_the_nodes_that_are_asked_for() -> None:
    taint = Taint("dedicated", "gpu", "NoSchedule")
    nodes = [node("gpu", taint, disk="ssd"), node("other")]
    asked = {"nodeSelector": {"disk": "ssd"}}
    (cause,) = explain_pending(pod(**asked), nodes, [])
    assert cause.code == "taint-not-tolerated"
    assert cause.evidence == ("node gpu: dedicated=gpu:NoSchedule",)
    for toleration in ({"operator": "Exists"}, {"key": "dedicated", "value": "gpu"}):
        assert explain_pending(pod(**asked, tolerations=[toleration]), nodes, []) == ()
    for toleration in (
        {"key": "dedicated", "value": "cpu"},
        {"key": "x", "operator": "Exists"},
        {"key": "dedicated", "value": "gpu", "effect": "NoExecute"},
    ):
        assert explain_pending(pod(**asked, tolerations=[toleration]), nodes, []) != ()
    assert explain_pending(pod(), [node("a", Taint("x", "", "PreferNoSchedule"))], []) == ()


def test_a_cluster_without_nodes_is_told_so() -> None:
    assert [one.code for one in explain_pending(pod(), [], [])] == ["no-nodes"]


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        (Expression("n", "In", ("3", "4")), True),
        (Expression("n", "NotIn", ("4",)), False),
        (Expression("x", "NotIn", ("4",)), True),
        (Expression("n", "Exists"), True),
        (Expression("n", "DoesNotExist"), False),
        (Expression("n", "Gt", ("3",)), True),
        (Expression("n", "Lt", ("4",)), False),
        (Expression("n", "Lt", ("x",)), False),
        (Expression("x", "Gt", ("3",)), False),
        (Expression("n", "Near", ("4",)), False),
    ],
)
def test_expressions_are_asked_as_the_scheduler_asks_them(expression: Expression, answer: bool) -> None:
    assert holds(expression, {"n": "4"}) is answer
