"""One Node on a real API server, through plans that are made and carried out."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.kubernetes.api import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.labeler.cluster.one_target import OneTarget, Want

from nodeworthy.kubernetes.reflector import Gone
from nodeworthy.kubernetes.refusals import KubernetesUnreachableError
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy.labels.origins import RejectedKind
from nodeworthy.rules import Taint
from nodeworthy_labeler.cluster.applications import Application
from nodeworthy_labeler.cluster.nodes import Fate
from nodeworthy_labeler.cluster.writing import Written

A, B = "x.org/a", "x.org/b"


def writes(one: OneTarget, mark: int) -> list[str]:
    return [request.resource for request in one.cluster.read_writes(mark)]


def states(memory: LabelMemory) -> dict[str, str]:
    return {key: entry.state.value for key, entry in memory.labels.items()}


def merge(one: OneTarget, name: str, metadata: Mapping[str, Any], manager: str = "kubectl-label") -> None:
    path = f"/api/v1/nodes/{name}?fieldManager={manager}"
    one.cluster.admin.must("PATCH", path, {"metadata": metadata}, content=MERGE)


def apply(one: OneTarget, name: str, labels: Mapping[str, str], manager: str, *, force: bool = False) -> None:
    path = f"/api/v1/nodes/{name}?fieldManager={manager}&force={str(force).lower()}"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    one.cluster.admin.must("PATCH", path, node, content=APPLY)


def managers(one: OneTarget, name: str, key: str) -> set[tuple[str, str]]:
    """Who owns a label."""
    path = f"/api/v1/nodes/{name}"
    fields = one.cluster.admin.must("GET", path)["metadata"]["managedFields"]
    return {
        (entry["manager"], entry["operation"])
        for entry in fields
        if f"f:{key}" in entry["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
    }


async def test_labels_and_annotations_are_set_in_one_request_and_a_second_plan_sends_nothing(one: OneTarget) -> None:
    one.cluster.create_node("t-first")
    await one.see("t-first")
    mark = one.cluster.mark_requests()
    want = Want({A: "1", B: "2"}, {"x.org/note": "text"})
    memory = await one.settle("t-first", want)
    await one.settle("t-first", want)
    await one.see("t-first")
    await one.settle("t-first", want)
    assert writes(one, mark) == ["nodes"]
    assert one.labels("t-first") == {A: "1", B: "2"}
    assert one.object("t-first")["metadata"]["annotations"]["x.org/note"] == "text"
    assert memory.labels[A].state is LabelState.APPLIED
    assert memory.others[RejectedKind.ANNOTATION]["x.org/note"].state is LabelState.APPLIED


async def test_what_no_rule_gives_any_more_goes_and_foreign_labels_stay(one: OneTarget) -> None:
    one.cluster.create_node("t-gone", {"x.org/theirs": "1"})
    await one.see("t-gone")
    await one.settle("t-gone", Want({A: "1", B: "2"}))
    await one.settle("t-gone", Want({B: "2"}))
    assert one.labels("t-gone") == {"x.org/theirs": "1", B: "2"}


async def test_an_unknown_rule_keeps_its_labels_while_others_change(one: OneTarget) -> None:
    one.cluster.create_node("t-unknown")
    await one.see("t-unknown")
    want = Want({A: "1"}, {"x.org/note": "1"}, {"x.org/slots": "4"}, (Taint("x.org/t", "NoSchedule", "1"),))
    await one.settle("t-unknown", want)
    before = one.object("t-unknown")
    mark = one.cluster.mark_requests()
    want.unknown = True
    memory = await one.settle("t-unknown", want)
    assert states(memory) == {A: "kept"}
    assert {kind: [entry.state for entry in entries.values()] for kind, entries in memory.others.items()} == {
        kind: [LabelState.KEPT] for kind in RejectedKind if kind is not RejectedKind.LABEL
    }
    assert writes(one, mark) == []
    assert one.object("t-unknown") == before


async def test_a_foreign_value_is_kept_and_reported_with_its_owner(one: OneTarget) -> None:
    one.cluster.create_node("t-foreign", {A: "theirs", B: "same"})
    await one.see("t-foreign")
    memory = await one.settle("t-foreign", Want({A: "ours", B: "same", "x.org/c": "1"}))
    assert states(memory) == {A: "conflict", B: "held", "x.org/c": "applied"}
    assert (memory.labels[A].live, memory.labels[A].owners) == ("theirs", ("kubelet",))
    assert one.labels("t-foreign") == {A: "theirs", B: "same", "x.org/c": "1"}


async def test_a_label_that_a_person_changed_becomes_theirs(one: OneTarget) -> None:
    one.cluster.create_node("t-person")
    await one.see("t-person")
    await one.settle("t-person", Want({A: "1", B: "1"}))
    merge(one, "t-person", {"labels": {A: "9"}})
    await one.see("t-person")
    memory = await one.settle("t-person", Want({A: "1", B: "1"}))
    assert states(memory) == {A: "conflict", B: "applied"}
    assert one.labels("t-person") == {A: "9", B: "1"}


async def test_a_label_of_ours_that_a_person_deleted_is_restored(one: OneTarget) -> None:
    """Case Z4."""
    one.cluster.create_node("t-deleted")
    await one.see("t-deleted")
    await one.settle("t-deleted", Want({A: "1"}))
    merge(one, "t-deleted", {"labels": {A: None}})
    await one.see("t-deleted")
    await one.settle("t-deleted", Want({A: "1"}))
    assert one.labels("t-deleted") == {A: "1"}


async def test_a_key_that_another_manager_applies_with_our_value_stays_where_we_let_go_of_it(one: OneTarget) -> None:
    one.cluster.create_node("t-shared")
    await one.see("t-shared")
    await one.settle("t-shared", Want({A: "1"}))
    apply(one, "t-shared", {A: "1"}, "gitops")
    await one.see("t-shared")
    memory = await one.settle("t-shared", Want({A: "2"}))
    assert states(memory) == {A: "conflict"}
    assert (one.labels("t-shared"), managers(one, "t-shared", A)) == ({A: "1"}, {("gitops", "Apply")})


async def test_a_plan_for_a_node_that_changed_writes_nothing_and_is_made_anew(one: OneTarget) -> None:
    """Case Z8: the API server answers 409, and the change of somebody else in between stays."""
    one.cluster.create_node("t-stale")
    await one.see("t-stale")
    merge(one, "t-stale", {"labels": {A: "theirs"}})
    memory = await one.settle("t-stale", Want({A: "ours", B: "1"}))
    assert one.target.conflicts == 1
    assert states(memory) == {A: "conflict", B: "applied"}
    assert one.labels("t-stale") == {A: "theirs", B: "1"}


async def test_a_node_that_is_gone_is_not_made_again(one: OneTarget) -> None:
    one.cluster.create_node("t-phantom")
    await one.see("t-phantom")
    one.cluster.delete_node("t-phantom")
    await one.settle("t-phantom", Want({A: "1"}))
    assert one.cluster.admin.request("GET", "/api/v1/nodes/t-phantom").status == 404
    assert [(event.name, event.fate.value) for event in one.events] == [("t-phantom", "gone")]
    assert not one.records.get("t-phantom").is_stored


async def test_a_plan_for_an_old_node_does_not_reach_the_new_one_of_its_name(one: OneTarget) -> None:
    one.cluster.create_node("t-again")
    await one.see("t-again")
    one.cluster.delete_node("t-again")
    one.cluster.create_node("t-again", {A: "theirs"})
    want = Want({A: "1", B: "1"})
    state = await one.read("t-again", want)
    plan = await one.plan("t-again", want)
    assert not await one.target.carry_out("t-again", state, plan, state.facts)
    assert one.labels("t-again") == {A: "theirs"}
    assert [event.fate.value for event in one.events] == ["new"]


async def test_a_bad_value_that_only_the_api_server_knows_harms_no_neighbour(one: OneTarget) -> None:
    """An annotation of 300 kB in all is too much: what does not fit is refused, and the labels are set."""
    one.cluster.create_node("t-large")
    await one.see("t-large")
    notes = {f"x.org/n{number:03}": "x" * 1024 for number in range(300)}
    memory = await one.settle("t-large", Want({A: "1"}, notes))
    kept = {key: entry.state for key, entry in memory.others[RejectedKind.ANNOTATION].items()}
    assert one.labels("t-large") == {A: "1"}
    refused = [key for key, state in kept.items() if state is LabelState.REJECTED]
    applied = [key for key in one.object("t-large")["metadata"]["annotations"] if key.startswith("x.org/n")]
    assert 200 < len(applied) < 256
    assert len(applied) + len(refused) + memory.left_out == 300
    mark = one.cluster.mark_requests()
    await one.settle("t-large", Want({A: "1"}, notes))
    assert writes(one, mark) == []


async def test_more_labels_than_a_node_may_have_are_refused_and_said(one: OneTarget) -> None:
    """Case Z10."""
    one.cluster.create_node("t-quota")
    await one.see("t-quota")
    labels = {f"x.org/l{number:04}": "1" for number in range(5000)}
    memory = await one.settle("t-quota", Want(labels))
    assert len(one.labels("t-quota")) == 500
    rejected = [entry for entry in memory.labels.values() if entry.state is LabelState.REJECTED]
    assert len(rejected) + memory.left_out == 4500
    assert rejected[0].reason == "this node has its 500 labels of ours already"


async def test_capacities_are_given_and_taken_through_the_status(one: OneTarget) -> None:
    one.cluster.create_node("t-slots")
    await one.see("t-slots")
    mark = one.cluster.mark_requests()
    await one.settle("t-slots", Want(resources={"x.org/slots": "4", "x.org/more": "2"}))
    assert one.object("t-slots")["status"]["capacity"] == {
        "cpu": "8",
        "ephemeral-storage": "100Gi",
        "memory": "16Gi",
        "pods": "110",
        "x.org/slots": "4",
        "x.org/more": "2",
    }
    await one.settle("t-slots", Want(resources={"x.org/slots": "5"}))
    await one.see("t-slots")
    await one.settle("t-slots", Want(resources={"x.org/slots": "5"}))
    capacity = one.object("t-slots")["status"]["capacity"]
    assert (capacity["x.org/slots"], "x.org/more" in capacity) == ("5", False)
    assert writes(one, mark) == ["nodes/status", "nodes/status"]
    await one.settle("t-slots", Want())
    node = one.object("t-slots")
    assert "x.org/slots" not in node["status"]["capacity"]
    assert "nodeworthy.io/capacity" not in node["metadata"].get("annotations", {})


async def test_a_capacity_that_a_starting_kubelet_set_to_zero_is_given_again_without_reading_the_status(
    one: OneTarget,
) -> None:
    """Case Z11."""
    one.cluster.create_node("t-reset")
    await one.see("t-reset")
    want = Want(resources={"x.org/slots": "4"})
    await one.settle("t-reset", want)
    kubelet = one.cluster.user("admin", user_agent="kubelet/v1.35.4")
    status = {"status": {"capacity": {"x.org/slots": "0"}, "allocatable": {"x.org/slots": "0"}}}
    kubelet.must("PATCH", "/api/v1/nodes/t-reset/status", status, content=STRATEGIC)
    await one.see("t-reset")
    mark = one.cluster.mark_requests()
    await one.settle("t-reset", want)
    assert one.object("t-reset")["status"]["capacity"]["x.org/slots"] == "4"
    assert writes(one, mark) == ["nodes/status"]
    assert not [
        request
        for request in one.cluster.read_requests(mark)
        if request.user_agent == "labeler" and request.verb == "get"
    ]


async def test_a_capacity_of_a_device_plugin_is_left_alone(one: OneTarget) -> None:
    one.cluster.create_node("t-plugin", capacity={"vendor.com/gpu": "8"})
    await one.see("t-plugin")
    memory = await one.settle("t-plugin", Want(resources={"vendor.com/gpu": "1", "x.org/slots": "1"}))
    entries = memory.others[RejectedKind.EXTENDED_RESOURCE]
    assert (entries["vendor.com/gpu"].state, entries["vendor.com/gpu"].owners) == (LabelState.CONFLICT, ("kubelet",))
    capacity = one.object("t-plugin")["status"]["capacity"]
    assert (capacity["vendor.com/gpu"], capacity["x.org/slots"]) == ("8", "1")


async def test_a_capacity_that_is_no_whole_number_is_refused_and_its_neighbours_are_not(one: OneTarget) -> None:
    one.cluster.create_node("t-half")
    await one.see("t-half")
    resources = {"x.org/half": "0.5", **{f"x.org/r{number}": "1" for number in range(5)}}
    memory = await one.settle("t-half", Want({A: "1"}, resources=resources))
    entries = memory.others[RejectedKind.EXTENDED_RESOURCE]
    assert entries["x.org/half"].state is LabelState.REJECTED
    assert "must be an integer" in entries["x.org/half"].reason
    capacity = one.object("t-half")["status"]["capacity"]
    assert [key for key in capacity if key.startswith("x.org/")] == [f"x.org/r{number}" for number in range(5)]


async def test_taints_come_and_go_beside_those_of_others(one: OneTarget) -> None:
    one.cluster.create_node("t-taints", ready=False)
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    await one.see("t-taints")
    mark = one.cluster.mark_requests()
    taints = (Taint("x.org/gpu", "NoSchedule", "1"), Taint("x.org/gpu", "NoExecute", ""))
    await one.settle("t-taints", Want(taints=taints))
    await one.see("t-taints")
    await one.settle("t-taints", Want(taints=taints))
    assert one.object("t-taints")["spec"]["taints"] == [
        not_ready,
        {"key": "x.org/gpu", "effect": "NoExecute"},
        {"key": "x.org/gpu", "effect": "NoSchedule", "value": "1"},
    ]
    assert writes(one, mark) == ["nodes"]
    await one.settle("t-taints", Want(taints=(Taint("x.org/gpu", "NoSchedule", "2"),)))
    assert one.object("t-taints")["spec"]["taints"][1:] == [{"key": "x.org/gpu", "effect": "NoSchedule", "value": "2"}]
    await one.settle("t-taints", Want())
    node = one.object("t-taints")
    assert node["spec"]["taints"] == [not_ready]
    assert "nodeworthy.io/taints" not in node["metadata"].get("annotations", {})


async def test_a_taint_of_ours_that_somebody_removed_comes_back(one: OneTarget) -> None:
    one.cluster.create_node("t-untainted")
    await one.see("t-untainted")
    want = Want(taints=(Taint("x.org/gpu", "NoSchedule", "1"),))
    await one.settle("t-untainted", want)
    one.cluster.admin.must(
        "PATCH", "/api/v1/nodes/t-untainted", [{"op": "remove", "path": "/spec/taints"}], content=JSON_PATCH
    )
    await one.see("t-untainted")
    await one.settle("t-untainted", want)
    assert [taint["key"] for taint in one.object("t-untainted")["spec"]["taints"]] == ["x.org/gpu"]


async def test_a_taint_that_others_put_there_stays_theirs(one: OneTarget) -> None:
    one.cluster.create_node("t-theirs")
    taint = {"key": "x.org/gpu", "effect": "NoSchedule", "value": "theirs"}
    one.cluster.admin.must("PATCH", "/api/v1/nodes/t-theirs", {"spec": {"taints": [taint]}}, content=MERGE)
    await one.see("t-theirs")
    want = Want({A: "1"}, taints=(Taint("x.org/gpu", "NoSchedule", "1"), Taint("x.org/b", "NoSchedule", "1")))
    memory = await one.settle("t-theirs", want)
    assert memory.others[RejectedKind.TAINT]["x.org/gpu:NoSchedule"].state is LabelState.REJECTED
    found = {taint["key"]: taint["value"] for taint in one.object("t-theirs")["spec"]["taints"]}
    assert found == {"x.org/gpu": "theirs", "x.org/b": "1"}


async def test_a_taint_that_the_api_server_refuses_harms_no_neighbour(one: OneTarget) -> None:
    one.cluster.create_node("t-bad-taint")
    await one.see("t-bad-taint")
    taints = (Taint("x.org/a", "NoSchedule", "bad value"), Taint("x.org/b", "NoSchedule", "1"))
    memory = await one.settle("t-bad-taint", Want(taints=taints))
    assert memory.others[RejectedKind.TAINT]["x.org/a:NoSchedule"].state is LabelState.REJECTED
    assert [taint["key"] for taint in one.object("t-bad-taint")["spec"]["taints"]] == ["x.org/b"]


async def test_keys_whose_owners_somebody_threw_away_are_taken_back(one: OneTarget) -> None:
    one.cluster.create_node("t-lost")
    await one.see("t-lost")
    await one.settle("t-lost", Want({A: "1", B: "1"}, {"x.org/note": "1"}))
    reset = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    one.cluster.admin.must("PATCH", "/api/v1/nodes/t-lost", reset, content=JSON_PATCH)
    apply(one, "t-lost", {"x.org/theirs": "1"}, "gitops")  # from now on the API server says before-first-apply
    await one.see("t-lost")
    memory = await one.settle("t-lost", Want({A: "2"}, {"x.org/note": "1"}))
    assert states(memory) == {A: "applied"}
    assert one.labels("t-lost") == {A: "2", "x.org/theirs": "1"}
    assert managers(one, "t-lost", A) == {("nodeworthy", "Apply")}


async def test_a_record_that_was_lost_keeps_what_nobody_explains(one: OneTarget) -> None:
    one.cluster.create_node("t-record")
    await one.see("t-record")
    await one.settle("t-record", Want({A: "1", B: "1"}))
    one.records.note_missing("t-record", 0)
    one.records.forget("t-record")
    want = Want({B: "1"})
    assert (await one.read("t-record", want)).memory is None
    plan = await one.plan("t-record", want)
    assert plan.memory.labels[A] == LabelEntry(
        LabelState.KEPT,
        "1",
        reason="nothing explains this label any more; it goes when a rule that gave it is seen to stop",
    )


async def test_a_change_that_the_watch_tells_while_a_write_is_on_its_way_is_looked_at_when_it_is_answered(
    one: OneTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.cluster.create_node("t-told")
    await one.see("t-told")
    apply_it = one.writer.apply
    changes: dict[str, str] = {}

    async def tell_first(application: Application) -> Written:
        written = await apply_it(application)
        if changes:
            merge(one, "t-told", {"labels": changes})
        assert one.target.holds(one.tell("t-told"))  # as the watch does, before the answer is here
        return written

    monkeypatch.setattr(one.writer, "apply", tell_first)
    await one.settle("t-told", Want({A: "1"}))
    assert [event.fate.value for event in one.events] == ["same"]
    changes[B] = "theirs"
    await one.settle("t-told", Want({A: "2", B: "1"}))
    assert [event.fate.value for event in one.events] == ["same", "changed"]
    memory = await one.settle("t-told", Want({A: "2", B: "1"}))
    assert states(memory) == {A: "applied", B: "conflict"}
    assert not one.target.holds(one.tell("t-told"))


async def test_what_the_watch_told_of_a_node_that_went_while_a_write_was_on_its_way_does_not_bring_it_back(
    one: OneTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.cluster.create_node("t-went")
    await one.see("t-went")
    apply_it = one.writer.apply

    async def tell_first(application: Application) -> Written:
        await apply_it(application)
        told = one.tell("t-went")
        gone = Gone(told.key, told.uid)
        assert one.target.holds(told)
        assert not one.target.holds(gone)
        one.cluster.delete_node("t-went")
        one.nodes.take(gone)
        raise KubernetesUnreachableError("Node t-went cannot be written", was_sent=True)

    monkeypatch.setattr(one.writer, "apply", tell_first)
    with pytest.raises(KubernetesUnreachableError):
        await one.settle("t-went", Want({A: "1"}))
    assert "t-went" not in one.nodes
    assert one.events == []


async def test_a_rule_that_comes_later_sees_what_others_gave_each_node_meanwhile(one: OneTarget) -> None:
    """Foreign labels and annotations that differ on each node: before they are wanted nobody looks at them."""
    names = [f"t-later-{number}" for number in range(3)]
    before = Want({A: "1"})
    for name in names:
        one.cluster.create_node(name, {B: f"first of {name}"[:20].replace(" ", "-")})
        await one.see(name)
        await one.settle(name, before)
    mark = one.cluster.mark_requests()
    for name in names:
        merge(one, name, {"labels": {B: name}, "annotations": {"x.org/note": name}}, "driver")
        assert one.nodes.take(one.tell(name)).fate is Fate.SAME
    for name in names:
        memory = await one.settle(name, Want({A: "1", B: names[0]}, {"x.org/note": "ours"}))
        assert memory.labels[A].state is LabelState.APPLIED
        state = LabelState.HELD if name == names[0] else LabelState.CONFLICT
        live = "" if state is LabelState.HELD else name
        assert (memory.labels[B].state, memory.labels[B].live, memory.labels[B].owners) == (state, live, ("driver",))
        note = memory.others[RejectedKind.ANNOTATION]["x.org/note"]
        assert (note.state, note.live, note.owners) == (LabelState.CONFLICT, name, ("driver",))
        assert one.labels(name) == {A: "1", B: name}
    ours = [one for one in one.cluster.read_requests(mark) if one.user_agent == "labeler"]
    assert ours == []  # nothing is asked of the API server for it
    merge(one, names[1], {"labels": {B: None}})
    assert one.nodes.take(one.tell(names[1])).fate is Fate.CHANGED
    await one.settle(names[1], Want({A: "1", B: "1"}))
    assert one.labels(names[1]) == {A: "1", B: "1"}
