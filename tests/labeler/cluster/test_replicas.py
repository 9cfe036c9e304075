"""Several labelers of one cluster share the Nodes by their Leases, and none that is killed or frozen undoes anything."""

import signal
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.labeler.cluster.replicas import KEY, History, StartProcess, publish_all, starting
from tests.labeler.cluster.whole import LEASES, Whole

from nodeworthy.kubernetes.client import Client
from nodeworthy_labeler.cluster.membership import LABELS
from nodeworthy_labeler.members import ENGINE

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.labeler.conftest import Bus, Eventually, MakeFacts

NAMES = [f"p-{number}" for number in range(12)]


@pytest.fixture
async def start_process(cluster: "Cluster", bus: "Bus", namespace: str, tmp_path: Path) -> AsyncIterator[StartProcess]:
    async with starting(cluster, bus, namespace, tmp_path) as begin:
        yield begin


def _create_all(whole: Whole) -> None:
    for name in NAMES:
        whole.cluster.create_node(name)


async def test_two_labelers_share_the_nodes_and_each_change_is_written_once(
    whole: Whole, client: Client, facts: "MakeFacts", eventually: "Eventually"
) -> None:
    history = History(NAMES)
    _create_all(whole)
    await publish_all(whole, facts, NAMES, 0)
    await whole.start()
    await whole.start()
    async with history.followed(client):
        await eventually(history.has_all(0))
        await whole.bus.settled_writes(1.0)
        mark = whole.cluster.mark_requests()
        await publish_all(whole, facts, NAMES, 1)
        await eventually(history.has_all(1))
        # Long enough for three renewals: nothing swings to and fro.
        await whole.bus.settled_writes(1.0)
    patched = [request.name for request in whole.writes(mark) if request.resource == "nodes" and request.status == 200]
    assert sorted(patched) == sorted(NAMES)


async def test_the_nodes_of_a_labeler_that_is_killed_are_served_again(
    whole: Whole, client: Client, facts: "MakeFacts", start_process: StartProcess, eventually: "Eventually"
) -> None:
    history = History(NAMES)
    _create_all(whole)
    await publish_all(whole, facts, NAMES, 0)
    doomed = await start_process()
    await start_process()
    async with history.followed(client):
        await eventually(history.has_all(0))
        doomed.kill()
        killed = time.monotonic()
        await publish_all(whole, facts, NAMES, 1)
        await eventually(history.has_all(1))
        # As 15 s are to a Lease of 10 s.
        assert time.monotonic() - killed < 1.5 * LEASES.duration + 1.0
        assert history.is_monotonic()


async def test_a_labeler_that_was_frozen_undoes_nothing_of_what_others_did_meanwhile(
    whole: Whole, client: Client, facts: "MakeFacts", start_process: StartProcess, eventually: "Eventually"
) -> None:
    history = History(NAMES)
    _create_all(whole)
    await publish_all(whole, facts, NAMES, 0)
    frozen = await start_process()
    await start_process()
    async with history.followed(client):
        await eventually(history.has_all(0))
        await publish_all(whole, facts, NAMES, 1)
        frozen.send_signal(signal.SIGSTOP)
        await publish_all(whole, facts, NAMES, 2)
        await eventually(history.has_all(2))
        frozen.send_signal(signal.SIGCONT)
        await publish_all(whole, facts, NAMES, 3)
        await eventually(history.has_all(3))
        await whole.bus.settled_writes(1.5)
        assert history.is_monotonic()


async def test_replicas_whose_clocks_differ_share_the_nodes_and_take_over_as_ever(
    whole: Whole,
    client: Client,
    facts: "MakeFacts",
    start_process: StartProcess,
    eventually: "Eventually",
    namespace: str,
) -> None:
    """An hour is more than any time that is waited for."""
    history = History(NAMES)
    _create_all(whole)
    await publish_all(whole, facts, NAMES, 0)
    ahead = await start_process(skew=3600.0)
    await start_process(skew=-3600.0)
    async with history.followed(client):
        await eventually(history.has_all(0))
        await whole.bus.settled_writes(1.0)
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        leases = whole.cluster.admin.must("GET", path)["items"]
        renewed = [datetime.fromisoformat(lease["spec"]["renewTime"]) for lease in leases]
        assert max(renewed) - min(renewed) > timedelta(hours=1.9)
        mark = whole.cluster.mark_requests()
        await publish_all(whole, facts, NAMES, 1)
        await eventually(history.has_all(1))
        # Several renewals long nobody takes anybody for gone, so that each Node was written once.
        await whole.bus.settled_writes(1.5)
        writes = [request for request in whole.writes(mark) if request.resource == "nodes"]
        assert sorted(request.name for request in writes) == sorted(NAMES)
        ahead.kill()
        killed = time.monotonic()
        await publish_all(whole, facts, NAMES, 2)
        await eventually(history.has_all(2))
        assert time.monotonic() - killed < 1.5 * LEASES.duration + 1.0
        assert history.is_monotonic()
        assert not history.was_taken


async def test_the_nodes_belong_to_labelers_of_the_newest_engine_alone(
    whole: Whole, namespace: str, facts: "MakeFacts"
) -> None:
    """An upgrade must not swing labels to and fro: while a newer one is there, the older one writes nothing."""
    whole.cluster.create_node("p-engine")
    await whole.bus.publish("p-engine", facts({KEY: "1"}))
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    newer = {
        "metadata": {
            "name": "newer",
            "labels": LABELS,
            "annotations": {"nodeworthy.io/engine": str(ENGINE + 1), "nodeworthy.io/ready": "true"},
        },
        "spec": {"leaseDurationSeconds": 60, "holderIdentity": "newer"},
    }
    whole.cluster.admin.must("POST", leases, newer)
    mark = whole.cluster.mark_requests()
    await whole.start()
    await whole.bus.settled_writes(1.0)
    assert [request for request in whole.writes(mark) if request.resource == "nodes"] == []
    whole.cluster.admin.must("DELETE", f"{leases}/newer")
    await whole.labels_are("p-engine", {KEY: "1"})
