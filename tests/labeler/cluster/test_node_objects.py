"""What the labeler reads from a Node's metadata."""

import json
from typing import Any

import msgspec
import pytest

from nodeworthy.kubernetes.reflector import Gone, Put
from nodeworthy.labels import Given, Giver, GiverKind, WantedLabel, WantedLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.node_objects import UNSEEN, read_node
from nodeworthy_labeler.cluster.nodes import ClusterNodes, Fate, NodeEvent


def node(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    fields: list[dict[str, Any]] | None = None,
    *,
    name: str = "n1",
    uid: str = "u1",
    version: str = "10",
) -> bytes:
    metadata = {
        "name": name,
        "uid": uid,
        "resourceVersion": version,
        "creationTimestamp": "2031-05-06T07:08:09Z",
        "labels": labels,
        "annotations": annotations,
        "managedFields": fields,
    }
    return json.dumps({"metadata": metadata}).encode()


def managed(manager: str, operation: str, fields: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields}


OURS = managed("nodeworthy", "Apply", {"f:metadata": {"f:labels": {"f:x.org/a": {}, "f:x.org/gone": {}}}})
KUBELET = managed("kubelet", "Update", {"f:metadata": {"f:labels": {"f:x.org/b": {}, "f:x.org/a": {}}}})


def test_labels_are_live_ours_and_others() -> None:
    found = read_node(node({"x.org/a": "1", "x.org/b": "2"}, fields=[OURS, KUBELET]))
    assert found.labels.live == {"x.org/a": "1", "x.org/b": "2"}
    assert found.labels.owned == {"x.org/a"}
    assert found.labels.owners == {"x.org/a": ("kubelet",), "x.org/b": ("kubelet",)}
    assert (found.token, found.created) == ("u1/10", 1935817689.0)


def test_our_own_notes_are_no_annotations_that_a_rule_could_give() -> None:
    annotations = {"nodeworthy.io/capacity": "{}", "x.org/n": "1"}
    found = read_node(node({}, annotations))
    assert found.labels.others[RejectedKind.ANNOTATION].live == {"x.org/n": "1"}


def capacity(*keys: str) -> dict[str, Any]:
    return {"f:status": {"f:capacity": {f"f:{key}": {} for key in keys}}}


def test_capacities_of_ours_have_the_values_of_the_note_and_those_of_others_none() -> None:
    note = {"nodeworthy.io/capacity": '{"x.org/a":"1","x.org/reset":"2"}'}
    fields = [
        managed("nodeworthy", "Apply", capacity("x.org/a"), "status"),
        managed("kubelet", "Update", capacity("cpu", "x.org/reset"), "status"),
    ]
    found = read_node(node({}, note, fields)).labels.others[RejectedKind.EXTENDED_RESOURCE]
    assert found.live == {"x.org/a": "1", "cpu": UNSEEN}
    assert found.owned == {"x.org/a"}
    assert found.owners == {"cpu": ("kubelet",)}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "null"])
def test_a_note_that_somebody_else_wrote_says_nothing(text: str) -> None:
    found = read_node(node({}, {"nodeworthy.io/taints": text}))
    assert (found.taints_note, found.labels.others) == ({}, {})


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"metadata": {}}', b'{"metadata": {"name": 1}}'])
def test_what_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_node(data)


def put(data: bytes) -> Put:
    meta = json.loads(data)["metadata"]
    return Put(meta["name"], data, meta["uid"], meta["resourceVersion"])


def test_only_what_could_change_a_plan_is_a_change() -> None:
    nodes = ClusterNodes()
    assert nodes.take(put(node({"x.org/a": "1"}))) == NodeEvent("n1", Fate.NEW)
    assert nodes.take(put(node({"x.org/a": "1"}, version="11"))).fate is Fate.SAME
    assert nodes.take(put(node({"x.org/a": "2"}, version="12"))).fate is Fate.CHANGED
    assert nodes.take(put(node({"x.org/a": "1"}, version="11"))).fate is Fate.SAME
    found = nodes.get("n1")
    assert found is not None
    assert found.token == "u1/12"


def test_another_object_under_the_name_is_a_new_node_and_an_old_removal_is_none() -> None:
    nodes = ClusterNodes()
    nodes.take(put(node()))
    assert nodes.take(put(node(uid="u2", version="5"))) == NodeEvent("n1", Fate.NEW, "u1")
    assert nodes.take(Gone("n1", "u1")).fate is Fate.SAME
    assert nodes.take(Gone("n1", "u2")) == NodeEvent("n1", Fate.GONE, "u2")
    assert "n1" not in nodes


def test_a_node_that_cannot_be_read_is_counted_and_stays_as_it_was() -> None:
    nodes = ClusterNodes()
    nodes.take(put(node({"x.org/a": "1"})))
    assert nodes.take(Put("n1", b'{"metadata": {"name": 1}}', "u1", "11")).fate is Fate.SAME
    assert (nodes.refused, len(nodes)) == (1, 1)


def test_nodes_that_are_alike_share_their_labels_whatever_others_gave_them() -> None:
    nodes = ClusterNodes()
    for name in ("n1", "n2"):
        labels = {"x.org/a": "1", "x.org/b": name, "kubernetes.io/hostname": name}
        nodes.take(put(node(labels, {"x.org/n": name}, [OURS, KUBELET], name=name, uid=name)))
    one, other = nodes.get("n1"), nodes.get("n2")
    assert one is not None
    assert other is not None
    assert one.labels is other.labels
    assert one.labels.live == {"x.org/a": "1"}


def test_a_node_can_be_had_with_everything_that_is_on_it() -> None:
    nodes = ClusterNodes()
    data = node({"x.org/a": "1", "x.org/b": "2"}, {"x.org/n": "1"}, [OURS, KUBELET])
    nodes.take(put(data))
    assert nodes.get_whole("n1") == read_node(data) == nodes.read(data)
    assert nodes.get_whole("n2") is None


def wanted(**labels: str) -> WantedLabels:
    giver = Giver(GiverKind.RULE, "o", "r")
    made = {f"x.org/{name}": WantedLabel(name, value, (Given(giver, value),), ()) for name, value in labels.items()}
    return WantedLabels(made, frozenset({giver}), {})


def test_a_foreign_label_counts_once_it_is_wanted_and_has_the_value_of_that_time() -> None:
    nodes = ClusterNodes()
    nodes.take(put(node({"x.org/b": "1"}, fields=[KUBELET])))
    assert nodes.take(put(node({"x.org/b": "2"}, fields=[KUBELET], version="11"))).fate is Fate.CHANGED
    assert nodes.look("n1", wanted(a="1")).live == {}
    assert nodes.take(put(node({"x.org/b": "3"}, fields=[KUBELET], version="12"))).fate is Fate.SAME
    found = nodes.look("n1", wanted(b="1"))
    assert (found.live, found.owners) == ({"x.org/b": "3"}, {"x.org/b": ("kubelet",)})
    assert nodes.take(put(node({"x.org/b": "4"}, fields=[KUBELET], version="13"))).fate is Fate.CHANGED
    assert nodes.take(put(node({}, version="14"))).fate is Fate.CHANGED


def test_what_a_plan_looked_at_is_forgotten_with_the_object() -> None:
    nodes = ClusterNodes()
    nodes.take(put(node({"x.org/b": "1"}, fields=[KUBELET])))
    nodes.look("n1", wanted(a="1"))
    assert nodes.take(put(node({"x.org/b": "1"}, fields=[KUBELET], uid="u2"))).fate is Fate.NEW
    assert nodes.take(put(node({"x.org/b": "2"}, fields=[KUBELET], uid="u2", version="11"))).fate is Fate.CHANGED
