"""Edits of managedFields, and what is remembered of them."""

from typing import Any

import pytest

from nodeworthy.bus.labels import pack_memory, unpack_memory
from nodeworthy.features import SetState, SetStatus, Snapshot
from nodeworthy.labels import (
    Given,
    Giver,
    GiverKind,
    LabelEntry,
    LabelMemory,
    LabelSettings,
    LabelState,
    NodeLabels,
    RuleObject,
    compile_chain,
    compile_policy,
    reconcile,
    want_labels,
)
from nodeworthy.labels.origins import RejectedKind
from nodeworthy.rules import Rule, Term
from nodeworthy_labeler.cluster.adopting import NFD, Entry, adopt_fields, remember_adopted

NOW = "2031-05-06T07:08:09Z"
LABEL, ANNOTATION = RejectedKind.LABEL, RejectedKind.ANNOTATION


def entry(manager: str, operation: str, *labels: str, **more: Any) -> Entry:
    owned: dict[str, dict[str, str]] = {f"f:{label}": {} for label in labels}
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:metadata": {"f:labels": owned}}, **more}


def labels_of(entries: list[Entry], manager: str) -> set[str]:
    return {
        key.removeprefix("f:")
        for one in entries
        if one["manager"] == manager
        for key in one["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
    }


def test_keys_go_from_the_former_manager_to_us_and_the_rest_stays() -> None:
    before = [
        entry("before-first-apply", "Update", "a", "b"),
        entry("nodeworthy", "Apply", "c"),
        entry("kubelet", "Update", "a"),
    ]
    after = adopt_fields(before, {LABEL: ["a"], ANNOTATION: ["n"]}, ["before-first-apply"], NOW)
    assert labels_of(after, "before-first-apply") == {"b"}
    assert labels_of(after, "nodeworthy") == {"a", "c"}
    assert labels_of(after, "kubelet") == {"a"}
    assert after[1]["fieldsV1"]["f:metadata"]["f:annotations"] == {"f:n": {}}
    assert labels_of(before, "before-first-apply") == {"a", "b"}


def test_an_entry_of_ours_is_made_where_there_is_none_and_that_of_the_status_is_another() -> None:
    before = [entry("nodeworthy", "Apply", "x", subresource="status")]
    after = adopt_fields(before, {LABEL: ["a"]}, [], NOW)
    assert after[0] == before[0]
    assert after[1] == {
        "manager": "nodeworthy",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}},
        "time": NOW,
    }


def test_what_was_nfds_is_remembered_as_such_unless_somebody_is_known_to_give_it() -> None:
    rule = (Given(Giver(GiverKind.RULE, "o", "r"), "1"),)
    before = LabelMemory(
        labels={"x.org/rule": LabelEntry(LabelState.HELD, "1", rule), "x.org/lost": LabelEntry(LabelState.KEPT, "1")},
        inputs={"lab.a": "sha256:0"},
    )
    keys = {
        LABEL: {"x.org/rule": "1", "x.org/lost": "1", "x.org/new": "2"},
        ANNOTATION: {"x.org/note": "n"},
    }
    memory = remember_adopted(before, keys)
    assert memory.labels["x.org/rule"] == before.labels["x.org/rule"]
    assert {key: entry.given for key, entry in memory.labels.items() if key != "x.org/rule"} == {
        "x.org/lost": (Given(NFD, "1"),),
        "x.org/new": (Given(NFD, "2"),),
    }
    assert memory.others[ANNOTATION]["x.org/note"].given == (Given(NFD, "n"),)
    assert memory.inputs == before.inputs
    assert remember_adopted(memory, keys) == memory
    assert unpack_memory(pack_memory(memory)) == memory


@pytest.mark.parametrize("is_known", [True, False])
def test_what_was_nfds_goes_when_nothing_that_may_give_it_is_unknown(*, is_known: bool) -> None:
    """The rule may give anything under its template; NFD may have had the label from it."""
    rule = Rule("r", (Term("lab.a"),), labels_template="x.org/t=1")
    chain = compile_chain([RuleObject("o", (rule,))])
    sets = {"lab.a": SetStatus(SetState.ABSENT if is_known else SetState.UNKNOWN, "why")}
    wanted = want_labels(Snapshot({}, sets, frozenset(sets)), compile_policy(LabelSettings()), chain)
    memory = remember_adopted(None, {LABEL: {"x.org/left": "1"}})
    labels = NodeLabels({"x.org/left": "1"}, frozenset({"x.org/left"}))
    plan = reconcile(wanted, labels, memory)
    if is_known:
        assert plan.remove == {"x.org/left": "NFD is gone"}
    else:
        assert plan.memory.labels["x.org/left"].state is LabelState.KEPT
        assert not plan.is_needed
