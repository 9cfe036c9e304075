"""A labeler's parts on a real API server and a real bus."""

import dataclasses
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.labeler.cluster.objects import Objects
from tests.labeler.cluster.one_target import OneTarget
from tests.labeler.cluster.whole import Whole

from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start


@pytest.fixture
def access(cluster: "Cluster") -> Access:
    return find_access({}, Path("/nonexistent"), kubeconfig=cluster.kubeconfig)


@pytest.fixture
async def client(access: Access) -> AsyncIterator[Client]:
    async with Client(access, user_agent="labeler") as made:
        yield made


@pytest.fixture
async def one(cluster: "Cluster", client: Client, bus: "Bus", facts: "MakeFacts") -> OneTarget:
    return OneTarget(cluster, client, bus, facts)


@pytest.fixture
def namespace(cluster: "Cluster") -> str:
    """A namespace of the test's own, for Leases."""
    name = f"labeler-{secrets.token_hex(4)}"
    cluster.create_namespace(name)
    return name


@pytest.fixture
def objects(cluster: "Cluster") -> Iterator[Objects]:
    """NodeFeatureRule and NodeFeature objects, gone again after the test; our own CRDs stay."""
    made = Objects(cluster.admin)
    made.install()
    yield made
    made.clear()


@pytest.fixture
def whole(
    cluster: "Cluster", access: Access, namespace: str, bus: "Bus", start: "Start", eventually: "Eventually"
) -> Whole:
    return Whole(cluster, dataclasses.replace(access, namespace=namespace), bus, start, eventually)
