"""Nodes, rules and facts of a real API server for the verbs of labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.cli.labels.nodes import NfdMaster
from tests.labeler.cluster.objects import Objects

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster


@pytest.fixture
def nfd(cluster: "Cluster") -> NfdMaster:
    return NfdMaster(cluster)


@pytest.fixture
def objects(cluster: "Cluster") -> Iterator[Objects]:
    """NodeFeatureRule and NodeFeature objects, gone again after the test; our own CRDs stay."""
    made = Objects(cluster.admin)
    made.install()
    yield made
    made.clear()
