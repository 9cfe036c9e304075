"""What of a Node is taken over, decided from its metadata alone."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from nodeworthy.kubernetes.refusals import KubernetesContentError
from nodeworthy_cli.labels.adoption import Adoption, make_request, plan_adoption

TRACKING = "nfd.node.kubernetes.io/feature-labels"
WHAT = "Node n1 cannot be read"
TIME = "2031-05-06T07:08:09Z"


def entry(manager: str, labels: Collection[str], annotations: Collection[str] = (), operation: str = "Update") -> Any:
    metadata: dict[str, Any] = {
        "f:labels": {f"f:{key}": {} for key in labels},
        "f:annotations": {f"f:{key}": {} for key in annotations},
    }
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:metadata": metadata}}


def node(labels: Mapping[str, str], tracked: str, *entries: Any) -> bytes:
    metadata: dict[str, Any] = {"name": "n1", "uid": "u", "resourceVersion": "7", "labels": dict(labels)}
    metadata |= {"annotations": {TRACKING: tracked} if tracked else {}, "managedFields": list(entries)}
    return json.dumps({"metadata": metadata}).encode()


def plan(body: bytes, *take_over: str) -> Adoption:
    return plan_adoption(body, take_over, WHAT)


def fields_after(body: bytes, adoption: Adoption) -> dict[str, set[str]]:
    """Manager to the labels that it owns by the request."""
    request = make_request(adoption, body, TIME, WHAT)
    assert request.body
    (fields,) = [one["value"] for one in json.loads(request.body) if one["path"] == "/metadata/managedFields"]
    return {one["manager"]: set(one["fieldsV1"]["f:metadata"].get("f:labels", {})) for one in fields}


def test_what_nobody_is_known_to_own_any_more_is_taken() -> None:
    body = node({"x.org/a": "1"}, "x.org/a", entry("before-first-apply", ["x.org/a"], [TRACKING]))
    adoption = plan(body)
    assert [one.key for one in adoption.taken] == ["x.org/a"]
    assert fields_after(body, adoption) == {"before-first-apply": set(), "nodeworthy": {"f:x.org/a"}}


def test_who_owns_a_key_beside_nfd_goes_on_owning_it() -> None:
    others = entry("helm", ["x.org/a"], operation="Apply")
    body = node({"x.org/a": "1"}, "x.org/a", entry("nfd-master", ["x.org/a"], [TRACKING]), others)
    assert fields_after(body, plan(body)) == {"nfd-master": set(), "helm": {"f:x.org/a"}, "nodeworthy": {"f:x.org/a"}}


def test_a_key_that_is_named_is_let_go_by_everybody() -> None:
    others = entry("helm", ["x.org/a", "x.org/b"], operation="Apply")
    body = node({"x.org/a": "1", "x.org/b": "1"}, "x.org/a", entry("nfd-master", ["x.org/a"], [TRACKING]), others)
    fields = fields_after(body, plan(body, "x.org/a"))
    assert fields == {"nfd-master": set(), "helm": {"f:x.org/b"}, "nodeworthy": {"f:x.org/a"}}


def test_a_tracked_key_that_is_gone_or_is_ours_already_needs_nothing_but_the_end_of_tracking() -> None:
    ours = entry("nodeworthy", ["x.org/ours"], operation="Apply")
    body = node({"x.org/ours": "1"}, "x.org/ours,x.org/gone", entry("nfd-master", [], [TRACKING]), ours)
    adoption = plan(body)
    assert (adoption.taken, adoption.left, adoption.is_needed) == ((), (), True)
    request = make_request(adoption, body, TIME, WHAT)
    assert request.body
    assert [one["op"] for one in json.loads(request.body)] == ["test", "test", "remove"]


def test_without_tracking_and_names_there_is_nothing_to_do() -> None:
    body = node({"x.org/a": "1"}, "", entry("kubectl-label", ["x.org/a"]))
    assert not plan(body).is_needed
    assert [one.key for one in plan(body, "x.org/a").taken] == ["x.org/a"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"metadata": {"name": 1}}'])
def test_what_is_no_node_is_told(body: bytes) -> None:
    with pytest.raises(KubernetesContentError, match="cannot be read"):
        plan(body)
