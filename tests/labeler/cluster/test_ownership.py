"""Who owns what, from managedFields."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.kubernetes.metadata import ManagedField
from nodeworthy_labeler.cluster.ownership import APPLIER, STATUS_APPLIER, Owner, read_ownership

KUBELET = Owner("kubelet", "Update")


def entry(owner: Owner, fields: Any) -> ManagedField:
    data = msgspec.Raw(json.dumps(fields).encode())
    return ManagedField(owner.manager, owner.operation, owner.subresource, "v1", data)


def test_each_key_has_its_owners_in_the_order_of_the_entries() -> None:
    labels: Any = {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}, "f:annotations": {"f:n": {}}}}
    ours: Any = {"f:metadata": {"f:labels": {"f:b": {}, "f:c": {}}}}
    found = read_ownership([entry(KUBELET, labels), entry(APPLIER, ours)])
    assert found.labels == {"a": (KUBELET,), "b": (KUBELET, APPLIER), "c": (APPLIER,)}
    assert found.annotations == {"n": (KUBELET,)}


def test_capacities_and_the_list_of_taints_have_owners_too() -> None:
    status: Any = {"f:status": {"f:capacity": {".": {}, "f:x.org/slots": {}}, "f:conditions": {}}}
    found = read_ownership([entry(STATUS_APPLIER, status), entry(KUBELET, {"f:spec": {"f:taints": {}}})])
    assert found.capacity == {"x.org/slots": (STATUS_APPLIER,)}
    assert found.taints == (KUBELET,)


def test_a_whole_map_that_somebody_owns_names_no_key() -> None:
    assert read_ownership([entry(APPLIER, {"f:metadata": {"f:annotations": {}}})]).annotations == {}


def test_an_entry_of_a_strange_form_takes_no_other_with_it() -> None:
    good: Any = {"f:metadata": {"f:labels": {"f:a": {}}}}
    found = read_ownership([entry(KUBELET, {"f:metadata": [1]}), entry(APPLIER, good)])
    assert found.labels == {"a": (APPLIER,)}


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.dictionaries(st.text(), inner)))
def test_whatever_json_stands_there_is_read(fields: object) -> None:
    read_ownership([entry(KUBELET, {"f:metadata": fields})])
