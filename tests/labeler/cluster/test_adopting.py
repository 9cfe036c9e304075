"""Edits of managedFields."""

from typing import Any

from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.adopting import Entry, adopt_fields

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
