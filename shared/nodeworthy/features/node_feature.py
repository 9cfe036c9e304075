"""A NodeFeature object, as NFD's worker writes it for its master.

It can say less than a snapshot: a set that is unknown is not there, and neither are names that are unobserved. Source of the
shape: NFD, api/nfd/v1alpha1, types NodeFeature and Features.
"""

from collections.abc import Mapping
from typing import Any

from nodeworthy.features.document import write_maps
from nodeworthy.features.snapshot import Snapshot

NODE_NAME_LABEL = "nfd.node.kubernetes.io/node-name"
"""Binds the object to its node; the master passes an object without it over."""

_RULE_SET = "custom.rules"
"""Text of rules, which are evaluated already where labels are made; NFD has no such feature."""


def write_node_feature(snapshot: Snapshot, *, node: str, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The object of one node with these labels, ready for JSON or YAML."""
    contents = {name: content for name, content in snapshot.contents.items() if name != _RULE_SET}
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {"name": node, "namespace": namespace, "labels": {NODE_NAME_LABEL: node}},
        "spec": {"features": write_maps(contents), "labels": dict(sorted(labels.items()))},
    }
