"""The list of taints with ours in it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_labeler.cluster.taints import change_taints, make_taint_patch, read_tainted

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
KEYS = st.sampled_from(["a:NoSchedule", "a:NoExecute", "b:NoSchedule"])
VALUES = st.dictionaries(KEYS, st.sampled_from(["", "1", "2"]))


def taint(name: str, value: str) -> dict[str, str]:
    key, _, effect = name.rpartition(":")
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def test_ours_change_in_their_places_and_others_are_not_touched() -> None:
    live = [NOT_READY, taint("a:NoSchedule", "1"), taint("b:NoSchedule", "x")]
    change = change_taints(live, {"a:NoSchedule": "1"}, {"a:NoSchedule": "2", "c:NoExecute": ""})
    assert list(change.taints) == [NOT_READY, taint("a:NoSchedule", "2"), live[2], taint("c:NoExecute", "")]
    assert change.foreign == frozenset()


def test_a_taint_that_somebody_else_put_there_is_told_and_kept() -> None:
    live = [taint("a:NoSchedule", "theirs")]
    change = change_taints(live, {}, {"a:NoSchedule": "ours"})
    assert list(change.taints) == live
    assert change.foreign == {"a:NoSchedule"}


@given(VALUES, VALUES, VALUES)
def test_a_second_change_changes_nothing_and_foreign_ones_stay(
    live: dict[str, str], ours: dict[str, str], wanted: dict[str, str]
) -> None:
    taints = [taint(*pair) for pair in live.items()]
    once = change_taints(taints, ours, wanted).taints
    assert change_taints(once, {**ours, **wanted}, {**wanted}).taints == once or set(live) & set(wanted) - set(ours)
    assert [one for one in taints if f"{one['key']}:{one['effect']}" not in ours] == [
        one for one in once if (name := f"{one['key']}:{one['effect']}") in live and name not in ours
    ]


def test_the_patch_holds_only_for_the_node_that_was_read() -> None:
    body = {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"taints": [NOT_READY]}}
    request = make_taint_patch("n1", read_tainted(json.dumps(body).encode(), "n1"), [], {"a:NoSchedule": "1"})
    assert request.body is not None
    assert json.loads(request.body) == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": "/spec/taints", "value": [NOT_READY]},
        {"op": "add", "path": "/spec/taints", "value": []},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/nodeworthy.io~1taints", "value": '{"a:NoSchedule":"1"}'},
    ]
