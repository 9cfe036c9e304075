"""Membership on a real API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.shared.kubernetes.fake_api import until

from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.lease import LeaseGroup, Membership
from nodeworthy.kubernetes.resources import LEASES
from nodeworthy.kubernetes.roll import LeaseSettings

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy

GROUP = LeaseGroup("default", {"nodeworthy.io/test": "lease"})
PATH = LEASES.path(namespace="default")
QUICK = LeaseSettings(renew=0.2, duration=2, retry=0.05)


class Replica:
    """A member of the group, and a way to wait until it knows something."""

    def __init__(self, client: Client, name: str, settings: LeaseSettings) -> None:
        self.ready = "no"
        self._changed = asyncio.Event()
        self.membership = Membership(
            client,
            GROUP,
            name,
            annotations=lambda: {"ready": self.ready},
            on_change=self._changed.set,
            settings=settings,
        )

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def wait_for(self, *names: str) -> None:
        await self.wait_until(lambda: set(self.membership.present) == set(names))


@asynccontextmanager
async def replica(client: Client, name: str, settings: LeaseSettings = QUICK) -> AsyncIterator[Replica]:
    made = Replica(client, name, settings)
    task = asyncio.create_task(made.membership.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])


def read(cluster: "Cluster", name: str) -> Any:
    return cluster.admin.request("GET", f"{PATH}/{name}")


async def test_a_replica_makes_its_lease_renews_it_and_removes_it(client: Client, cluster: "Cluster") -> None:
    async with replica(client, "one") as one:
        await one.wait_for("one")
        assert one.membership.has_lease(1)
        assert not one.membership.has_lease(2)
        made = read(cluster, "one").body
        assert made["metadata"]["labels"] == dict(GROUP.labels)
        assert (made["spec"]["holderIdentity"], made["spec"]["leaseDurationSeconds"]) == ("one", 2)
        later = await asyncio.to_thread(
            cluster.admin.wait_for, PATH, "one", lambda lease: lease["spec"] != made["spec"]
        )
        assert later["spec"]["renewTime"] > made["spec"]["renewTime"]
    assert read(cluster, "one").status == 404


async def test_replicas_know_each_other_and_what_each_says_of_itself(client: Client) -> None:
    async with replica(client, "one") as one, replica(client, "two") as two:
        await one.wait_for("one", "two")
        two.ready = "yes"
        two.membership.announce()
        await one.wait_until(lambda: one.membership.present["two"].metadata.annotations == {"ready": "yes"})


async def test_who_leaves_is_gone_without_a_wait(client: Client) -> None:
    async with replica(client, "one", LeaseSettings(renew=0.2, duration=60)) as one:
        async with replica(client, "two", LeaseSettings(renew=0.2, duration=60)):
            await one.wait_for("one", "two")
        await one.wait_for("one")


async def test_who_is_silent_is_gone_after_its_time_whatever_its_clock_said(client: Client, cluster: "Cluster") -> None:
    spec = {"holderIdentity": "two", "leaseDurationSeconds": 1, "renewTime": "2099-01-01T00:00:00.000000Z"}
    body = {"metadata": {"name": "two", "labels": dict(GROUP.labels)}, "spec": spec}
    cluster.admin.must("POST", PATH, body)
    try:
        async with replica(client, "one") as one:
            await one.wait_for("one", "two")
            await one.wait_for("one")
    finally:
        cluster.admin.request("DELETE", f"{PATH}/two")


async def test_a_lease_that_somebody_removed_is_made_again(client: Client, cluster: "Cluster") -> None:
    async with replica(client, "one") as one:
        await one.wait_for("one")
        uid = read(cluster, "one").body["metadata"]["uid"]
        cluster.admin.must("DELETE", f"{PATH}/one")
        await asyncio.to_thread(cluster.admin.wait_for, PATH, "one", lambda lease: lease["metadata"]["uid"] != uid)


async def test_without_the_api_server_the_lease_ends_and_nobody_counts_as_gone(
    proxied: Client, fault_proxy: "FaultProxy"
) -> None:
    settings = LeaseSettings(renew=0.2, duration=1, retry=0.05)
    async with replica(proxied, "one", settings) as one, replica(proxied, "two", settings) as two:
        await one.wait_for("one", "two")
        fault = fault_proxy.answer("*", "leases", 500, times=float("inf"))
        await until(lambda: not one.membership.has_lease(0) and not two.membership.has_lease(0))
        assert "answered 500" in one.membership.problem
        assert set(one.membership.present) == {"one", "two"}
        fault.left = 0
        await until(lambda: one.membership.has_lease(0))
        assert set(one.membership.present) == {"one", "two"}
    assert one.membership.problem == ""


async def test_leases_of_crashed_replicas_are_removed(client: Client, cluster: "Cluster") -> None:
    body = {"metadata": {"name": "crashed", "labels": dict(GROUP.labels)}, "spec": {"holderIdentity": "crashed"}}
    cluster.admin.must("POST", PATH, body)
    async with replica(client, "one", LeaseSettings(renew=0.1, duration=1, forget=0.5)):
        await until(lambda: read(cluster, "crashed").status == 404)
