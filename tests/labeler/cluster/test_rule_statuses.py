"""What the status of a rule object says."""

import json
from typing import Any

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet
from nodeworthy.labels import compile_policy
from nodeworthy_labeler.cluster.rule_objects import RuleState, read_rule_object
from nodeworthy_labeler.cluster.rule_statuses import make_rule_status
from nodeworthy_labeler.rule_fates import find_rule_fates
from nodeworthy_labeler.rule_set import compile_rules

NOW = "2031-05-06T07:08:09Z"


def rule(name: str, labels: dict[str, str], feature: str = "lab.a", **more: Any) -> dict[str, Any]:
    term = {"feature": feature, "matchExpressions": {"x": {"op": "Exists"}}}
    return {"name": name, "labels": labels, "matchFeatures": [term], **more}


def state(*rules: dict[str, Any], status: object = None) -> RuleState:
    metadata = {"name": "o", "uid": "u", "generation": 3}
    return read_rule_object(json.dumps({"metadata": metadata, "spec": {"rules": rules}, "status": status}).encode())


async def status_of(one: RuleState) -> dict[str, Any]:
    fleet = Fleet()
    for node, content in (("n1", {"x": "1"}), ("n2", {"y": "1"})):
        facts = Snapshot({"lab.a": FeatureSet(attributes=content)}, catalogue=frozenset({"lab.a"}))
        fleet.update(node, DETECTOR, facts)
    fates = await find_rule_fates(fleet, compile_rules(one.loaded, compile_policy()), batch=1)
    return make_rule_status(one, fates.get("o"), NOW)


async def test_the_nodes_on_which_any_rule_matches_are_counted_once() -> None:
    status = await status_of(state(rule("a", {"x.org/a": "1"}), rule("b", {"x.org/b": "1"}), rule("c", {}, "lab.none")))
    assert status["nodesMatched"] == 1
    assert [(one["name"], one.get("matched", 0)) for one in status["rules"]] == [("a", 1), ("b", 1), ("c", 0)]
    assert (status["observedGeneration"], status["conditions"][0]["status"]) == (3, "True")


async def test_rules_that_are_left_out_are_said_with_the_reason() -> None:
    bad = rule("bad", {"x.org/a": "1"}) | {
        "matchFeatures": [{"feature": "lab.a", "matchExpressions": {"x": {"op": "?"}}}]
    }
    status = await status_of(state(bad, rule("good", {"x.org/b": "1"})))
    (accepted,) = status["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "RulesLeftOut")
    assert accepted["message"]
    assert [one.get("isLeftOut", False) for one in status["rules"]] == [True, False]
    assert status["nodesMatched"] == 1


async def test_a_condition_keeps_the_time_since_when_it_is_so() -> None:
    earlier = {"type": "Accepted", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}
    kept = await status_of(state(rule("a", {}), status={"conditions": [earlier]}))
    changed = await status_of(state(rule("a", {}), status={"conditions": [earlier | {"status": "False"}]}))
    assert kept["conditions"][0]["lastTransitionTime"] == "2030-01-01T00:00:00Z"
    assert changed["conditions"][0]["lastTransitionTime"] == NOW


async def test_an_object_without_rules_has_a_status_too() -> None:
    status = await status_of(state())
    assert (status["nodesMatched"], status["rules"]) == (0, [])
