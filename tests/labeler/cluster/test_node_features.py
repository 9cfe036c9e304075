"""What a NodeFeature object says."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import FeatureDocumentError
from nodeworthy.features import FeatureSet
from nodeworthy_labeler.cluster.node_features import Rights, read_node_feature

LABEL = "nfd.node.kubernetes.io/node-name"


def read(spec: object, labels: object = None) -> Any:
    metadata = {"name": "vendor", "namespace": "ns", "labels": {LABEL: "n1"} if labels is None else labels}
    return read_node_feature(json.dumps({"metadata": metadata, "spec": spec}).encode())


def test_features_and_labels_are_facts_of_the_node_that_a_label_names() -> None:
    features = {
        "flags": {"vendor.f": {"elements": {"x": {}}}},
        "attributes": {"local.label": {"elements": {"a": "file", "b": "file"}}},
        "instances": {"vendor.dev": {"elements": [{"attributes": {"id": "1"}}]}},
    }
    found = read({"features": features, "labels": {"a": "object"}})
    assert found.node == "n1"
    assert found.snapshot.contents == {
        "vendor.f": FeatureSet(flags=frozenset({"x"})),
        "local.label": FeatureSet(attributes={"a": "object", "b": "file"}),
        "vendor.dev": FeatureSet(instances=({"id": "1"},)),
    }


@pytest.mark.parametrize("spec", [{}, {"features": None}, {"features": {}}, {"features": {"flags": {}}}])
def test_an_object_without_features_says_nothing(spec: object) -> None:
    assert read(spec).snapshot.contents == {}


@pytest.mark.parametrize("labels", [{}, {LABEL: ""}])
def test_an_object_that_names_no_node_is_refused_with_what_to_do(labels: object) -> None:
    with pytest.raises(FeatureDocumentError) as caught:
        read({}, labels)
    assert caught.value.todo == f"give it the label {LABEL}"


@pytest.mark.parametrize(
    ("own", "name", "is_taken"), [("ns", "n1", True), ("ns", "vendor", False), ("other", "n1", False)]
)
def test_where_labels_are_denied_only_the_nodes_own_object_brings_any_and_all_bring_features(
    own: str, name: str, is_taken: bool
) -> None:
    metadata = {"name": name, "namespace": "ns", "labels": {LABEL: "n1"}}
    spec = {"features": {"attributes": {"local.label": {"elements": {"a": "file"}}}}, "labels": {"b": "object"}}
    data = json.dumps({"metadata": metadata, "spec": spec}).encode()
    found = read_node_feature(data, Rights(labels=False, own=own)).snapshot.contents
    assert found["local.label"].attributes == {"a": "file", **({"b": "object"} if is_taken else {})}


def test_a_namespace_may_speak_if_it_is_named_or_none_is() -> None:
    assert Rights().may_speak("any")
    assert Rights(frozenset({"a"})).may_speak("a")
    assert not Rights(frozenset({"a"})).may_speak("b")


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_whatever_json_stands_there_is_read_or_refused(spec: object) -> None:
    with contextlib.suppress(FeatureDocumentError):
        read({"features": spec})
