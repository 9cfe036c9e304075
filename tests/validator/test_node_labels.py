"""The labels of nodes, as far as they are known."""

from collections.abc import Mapping

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.rule_reports import RULES_KEY
from nodeworthy.bus.watching import Put, Removed
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy_validator.node_labels import NodeLabels


def put(node: str, labels: Mapping[str, str], state: LabelState = LabelState.APPLIED) -> Put:
    memory = LabelMemory(labels={key: LabelEntry(state, value) for key, value in labels.items()})
    return Put(labels_key(node), payloads.encode(make_record(node, memory)), 1, 0.0)


def test_nodes_with_equal_labels_share_them_until_they_change() -> None:
    labels = NodeLabels()
    for node in ("n1", "n2", "n.3"):
        labels.take(put(node, {"a": "1"}))
    assert labels.get("n1") == {"a": "1"}
    assert labels.get("n1") is labels.get("n.3")
    labels.take(put("n2", {"a": "2"}))
    assert (labels.get("n1"), labels.get("n2")) == ({"a": "1"}, {"a": "2"})
    for node in ("n1", "n2", "n.3"):
        labels.take(Removed(labels_key(node), is_lost=False))
    assert (len(labels), labels._shared) == (0, {})


def test_labels_that_are_not_known_are_not_none() -> None:
    labels = NodeLabels()
    labels.take(put("n1", {}))
    assert labels.get("n1") == {}
    assert labels.get("n2") is None


def test_a_label_that_could_not_be_set_is_not_on_the_node() -> None:
    labels = NodeLabels()
    labels.take(put("n1", {"a": "1"}, LabelState.REJECTED))
    assert labels.get("n1") == {}


@pytest.mark.parametrize(
    "change",
    [
        Removed(labels_key("n1"), is_lost=True),
        Removed(labels_key("n2"), is_lost=False),
        Put(labels_key("n1"), b"\xc1", 2, 0.0),
        Put("a.b", b"", 2, 0.0),
    ],
    ids=str,
)
def test_what_is_lost_or_cannot_be_read_changes_nothing(change: Put | Removed) -> None:
    labels = NodeLabels()
    labels.take(put("n1", {"a": "1"}))
    labels.take(change)
    assert labels.get("n1") == {"a": "1"}
    assert labels.refused == (change.key == labels_key("n1") and isinstance(change, Put))


def test_the_list_of_the_rules_in_force_is_no_node_and_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    labels = NodeLabels()
    labels.take(Put(RULES_KEY, b"not a node's", 1, 0.0))
    labels.take(Removed(RULES_KEY, is_lost=False))
    assert (len(labels), labels.refused, caplog.records) == (0, 0, [])
