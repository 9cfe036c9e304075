"""A node with a card, and a specification that asks for the card."""

from typing import Protocol

import pytest

from nodeworthy.features import FeatureSet, Snapshot


@pytest.fixture
def card() -> str:
    """A compatibility specification of one set, for nodes with the card."""
    return """
version: v1alpha1
compatibilities:
- weight: 7
  rules:
  - name: card
    matchFeatures: [{feature: pci.device, matchExpressions: {vendor: {op: In, value: ["10de"]}}}]
"""


class MakeNode(Protocol):
    """A node with a card; with ``options`` it has a set that is too large to travel inside the snapshot."""

    def __call__(self, vendor: str = "10de", *, options: int = 0) -> Snapshot: ...


@pytest.fixture
def make_node() -> MakeNode:
    def make(vendor: str = "10de", *, options: int = 0) -> Snapshot:
        contents = {
            "system.architecture": FeatureSet(attributes={"architecture": "amd64"}),
            "pci.device": FeatureSet(instances=({"vendor": vendor},)),
        }
        if options:
            contents["kernel.config"] = FeatureSet(attributes={f"OPTION_{number}": "y" for number in range(options)})
        return Snapshot(contents, catalogue=frozenset(contents))

    return make
