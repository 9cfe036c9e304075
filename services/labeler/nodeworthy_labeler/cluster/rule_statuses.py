"""What the status of a NodeFeatureRule object says: whether it was accepted, and how it fares on the nodes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from nodeworthy.labels import ObjectStatus
from nodeworthy_labeler.cluster.rule_objects import RuleState
from nodeworthy_labeler.rule_fates import RuleFate, find_last_error

_MOST_TEXT = 1024
"""Letters of one message: a status is for people, and all of it has to fit into etcd."""

Status = dict[str, Any]
"""As the API takes it."""


def make_rule_status(state: RuleState, fate: RuleFate | None, now: str) -> Status:
    """The status of an object; ``now`` is RFC 3339, for conditions that are others than those that stand there."""
    before = _read_conditions(state.status)
    status = fate.status if fate is not None else ObjectStatus(state.name)
    made: Status = {
        "observedGeneration": state.generation,
        "conditions": [_transition(_accepted(state), before, now)],
        "nodesMatched": fate.nodes_matched if fate is not None else 0,
    }
    rest = msgspec.to_builtins(status)
    del rest["name"]
    left_out = rest.pop("left_out", 0)
    made |= {name: value for name, value in rest.items() if value}
    made["rules"] = [_rule_fields(rule) for rule in rest.get("rules", ())]
    if left_out:
        made["leftOut"] = left_out
    last_error = find_last_error(status)
    if last_error:
        made["lastError"] = last_error[:_MOST_TEXT]
    return made


def _rule_fields(rule: Mapping[str, Any]) -> Status:
    fields = {"isLeftOut" if name == "is_left_out" else name: value for name, value in rule.items()}
    return {name: value[:_MOST_TEXT] if name == "reason" else value for name, value in fields.items()}


def _accepted(state: RuleState) -> Status:
    problems = state.loaded.problems
    message = "; ".join(problem.message for problem in problems) or "all rules of it are in force"
    return {
        "type": "Accepted",
        "status": "False" if problems else "True",
        "observedGeneration": state.generation,
        "reason": "RulesLeftOut" if problems else "Accepted",
        "message": message[:_MOST_TEXT],
    }


def _transition(condition: Status, before: Mapping[str, Status], now: str) -> Status:
    """The condition with the time since when it has its status."""
    former = before.get(condition["type"], {})
    is_same = former.get("status") == condition["status"] and former.get("lastTransitionTime")
    return condition | {"lastTransitionTime": former["lastTransitionTime"] if is_same else now}


def _read_conditions(status: bytes) -> dict[str, Status]:
    try:
        conditions = (msgspec.json.decode(status, type=dict[str, Any] | None) or {}).get("conditions") or []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {one["type"]: one for one in conditions if isinstance(one, dict) and isinstance(one.get("type"), str)}
