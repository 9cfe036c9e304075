"""The reflector on a real API server, behind a proxy that loses, doubles and breaks what it is told to."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.api import MERGE
from tests.shared.kubernetes.fake_api import FakeApi, refuse, reply, until

from nodeworthy.kubernetes import reflector, requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy.kubernetes.reflector import Absent, Change, Complete, Gone, Put, Reflector, ReflectorSettings
from nodeworthy.kubernetes.resources import NODES, Resource

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy

FAST = ReflectorSettings(retry_first=0.02, retry_most=0.1)
LIST, WATCH = r"/nodes\?(?!.*watch=)", r"/nodes\?.*watch="
SELECTOR = "test=reflector"
LABELS = {"test": "reflector"}
NODE_LIST = requests.list_all(NODES, label_selector=SELECTOR, is_metadata=True)


class Told:
    """What a reflector told, as the test waits for it."""

    def __init__(self, followed: Reflector) -> None:
        self.followed = followed
        self.queue: asyncio.Queue[Change] = asyncio.Queue()

    async def run(self) -> None:
        async for change in self.followed.changes():
            self.queue.put_nowait(change)

    async def next(self) -> Change:
        async with asyncio.timeout(20):
            return await self.queue.get()

    async def take(self, count: int) -> list[Change]:
        return [await self.next() for _ in range(count)]

    async def words_until(self, last: str) -> list[str]:
        """What is told until then, in the words of :func:`names`, without that all was listed again.

        The API server ends the watches of a kind when it sets up anew the definition that has just come.
        """
        words: list[str] = []
        while last not in words:
            words += names([await self.next()])
        return [word for word in words if word != "complete again"]


@asynccontextmanager
async def following(
    client: Client, objects: requests.Request = NODE_LIST, settings: ReflectorSettings = FAST
) -> AsyncIterator[Told]:
    told = Told(Reflector(client, objects, settings))
    task = asyncio.create_task(told.run())
    try:
        yield told
    finally:
        task.cancel()
        await asyncio.wait([task])


def names(changes: Iterable[Change]) -> list[str]:
    """Each change in a word: ``+n1``, ``-n1``, ``complete``, ``complete again``, ``absent``."""
    words = []
    for change in changes:
        match change:
            case Put():
                words.append(f"+{change.key}")
            case Gone():
                words.append(f"-{change.key}")
            case Complete():
                words.append("complete" if change.is_first else "complete again")
            case Absent():
                words.append("absent")
    return words


def label(cluster: "Cluster", node: str, value: str) -> None:
    cluster.admin.must("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {"x": value}}}, content=MERGE)


def label_of(change: Change) -> str:
    assert isinstance(change, Put)
    found: str = json.loads(change.data)["metadata"]["labels"].get("x", "")
    return found


async def test_everything_is_told_first_and_then_every_change(client: Client, cluster: "Cluster") -> None:
    for number in range(5):
        cluster.create_node(f"r{number}", LABELS)
    async with following(client, settings=replace(FAST, page=2)) as told:
        assert sorted(names(await told.take(5))) == [f"+r{number}" for number in range(5)]
        assert await told.next() == Complete(is_first=True)
        label(cluster, "r3", "1")
        change = await told.next()
        assert (names([change]), label_of(change)) == (["+r3"], "1")
        cluster.delete_node("r4")
        assert names([await told.next()]) == ["-r4"]


async def test_metadata_alone_is_asked_for(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("r0", LABELS)
    async with following(client) as told:
        listed, _ = await told.take(2)
        label(cluster, "r0", "1")
        for change in (listed, await told.next()):
            assert isinstance(change, Put)
            document = json.loads(change.data)
            assert (document["kind"], set(document)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})


async def test_whole_objects_come_where_they_are_asked_for(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("r0", LABELS)
    async with following(client, requests.list_all(NODES, label_selector=SELECTOR)) as told:
        change = await told.next()
        assert isinstance(change, Put)
        assert json.loads(change.data)["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.4"


async def test_after_a_lost_connection_every_change_is_told_once(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    for number in range(3):
        cluster.create_node(f"r{number}", LABELS)
    async with following(proxied) as told:
        await told.take(4)
        held = fault_proxy.hold("GET", WATCH)
        fault_proxy.break_connections()
        async with asyncio.timeout(20):
            await held.reached.wait()
        label(cluster, "r0", "1")
        label(cluster, "r1", "1")
        cluster.delete_node("r2")
        label(cluster, "r0", "2")
        fault_proxy.heal()
        changes = await told.take(4)
        assert names(changes) == ["+r0", "+r1", "-r2", "+r0"]
        assert [label_of(changes[0]), label_of(changes[3])] == ["1", "2"]
        label(cluster, "r1", "end")
        assert label_of(await told.next()) == "end"
    assert sum("watch=" not in request.path for request in fault_proxy.requests) == 1


async def test_a_compacted_version_is_listed_anew_and_what_is_gone_is_told(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    for number in range(3):
        cluster.create_node(f"r{number}", LABELS)
    async with following(proxied) as told:
        await told.take(4)
        held = fault_proxy.hold("GET", WATCH)
        fault_proxy.break_connections()
        async with asyncio.timeout(20):
            await held.reached.wait()
        cluster.delete_node("r0")
        cluster.delete_node("r1")
        cluster.create_node("r1", LABELS)
        cluster.compact()
        await asyncio.to_thread(cluster.restart_api_server)
        fault_proxy.heal()
        changes = await told.take(4)
        assert names(changes) == ["-r1", "+r1", "-r0", "complete again"]
        assert isinstance(changes[0], Gone)
        assert isinstance(changes[1], Put)
        assert changes[0].uid != changes[1].uid


async def test_an_api_server_that_comes_back_is_followed_on(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("r0", LABELS)
    async with following(client) as told:
        await told.take(2)
        await asyncio.to_thread(cluster.restart_api_server)
        label(cluster, "r0", "1")
        change = await told.next()
        while not isinstance(change, Put):
            assert change == Complete(is_first=False)
            change = await told.next()
        assert label_of(change) == "1"
        assert told.followed.problem == ""


async def test_events_that_come_twice_or_late_are_told_once(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    passed: list[bytes] = []

    def repeat(line: bytes) -> Iterable[bytes]:
        """Each event twice, and behind it all those before it."""
        passed.append(line)
        return [line, line, *passed[:-1]]

    cluster.create_node("r0", LABELS)
    fault_proxy.rewrite("GET", WATCH, repeat)
    async with following(proxied) as told:
        await told.take(2)
        label(cluster, "r0", "1")
        label(cluster, "r0", "2")
        cluster.delete_node("r0")
        changes = await told.take(3)
        assert names(changes) == ["+r0", "+r0", "-r0"]
        cluster.create_node("r1", LABELS)
        assert names([await told.next()]) == ["+r1"]


async def test_an_event_that_is_lost_on_the_way_is_found_by_the_next_list(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    cluster.create_node("r0", LABELS)
    fault_proxy.rewrite("GET", WATCH, lambda _: ())
    async with following(proxied, settings=replace(FAST, relist=0.5, watch=1)) as told:
        await told.take(2)
        label(cluster, "r0", "1")
        changes = await told.take(2)
        assert (names(changes), label_of(changes[0])) == (["+r0", "complete again"], "1")


@pytest.mark.parametrize("status", [500, 410, 409, 429])
async def test_refusals_are_waited_out_and_told_as_the_problem(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy", status: int
) -> None:
    cluster.create_node("r0", LABELS)
    fault_proxy.answer("GET", LIST, status, times=2)
    fault_proxy.answer("GET", WATCH, status, times=3)
    held = fault_proxy.hold("GET", WATCH)
    async with following(proxied) as told:
        assert names(await told.take(2)) == ["+r0", "complete"]
        async with asyncio.timeout(20):
            await held.reached.wait()
        if status == 429:  # says nothing of the objects, so that there is no new list
            assert f"answered {status}" in told.followed.problem
        fault_proxy.heal()
        label(cluster, "r0", "1")
        changes = [await told.next()]
        while isinstance(changes[-1], Complete):
            changes.append(await told.next())
        assert label_of(changes[-1]) == "1"
        assert told.followed.problem == ""


async def test_a_spoilt_line_is_no_change_and_ends_the_watch(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    cluster.create_node("r0", LABELS)
    fault_proxy.rewrite("GET", WATCH, lambda line: [line.replace(b'"object"', b'"thing"')])
    async with following(proxied) as told:
        await told.take(2)
        label(cluster, "r0", "1")
        changes = await told.take(2)
        assert (names(changes), label_of(changes[0])) == (["+r0", "complete again"], "1")


async def test_a_kind_that_is_not_installed_is_told_once_and_followed_when_it_is(
    client: Client, cluster: "Cluster"
) -> None:
    things = Resource("reflector.test", "v1", "things", "Thing", is_namespaced=True)
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.reflector.test"},
        "spec": {
            "group": "reflector.test",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    async with following(client, requests.list_all(things)) as told:
        assert await told.next() == Absent()
        assert "404" in told.followed.problem
        cluster.admin.must("POST", crds, crd)
        try:
            assert await told.next() == Complete(is_first=True)
            thing = {"apiVersion": "reflector.test/v1", "kind": "Thing", "metadata": {"name": "one"}}
            path = things.path(namespace="default")
            cluster.admin.must("POST", path, thing)
            assert names([await told.next()]) == ["+default/one"]
        finally:
            cluster.admin.must("DELETE", f"{crds}/things.reflector.test")
        # The watch of a definition that goes ends with the removals of its objects.
        assert await told.words_until("absent") == ["-default/one", "absent"]


async def test_who_may_not_read_waits_for_the_right(cluster: "Cluster") -> None:
    access = find_access({}, cluster.folder, kubeconfig=cluster.write_kubeconfig("stranger"))
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = {
        "metadata": {"name": "reflector-test"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]}],
    }
    subject = {"kind": "User", "name": "stranger", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "reflector-test", "apiGroup": "rbac.authorization.k8s.io"}
    async with Client(access) as client, following(client) as told:
        await until(lambda: "403" in told.followed.problem)
        try:
            cluster.admin.must("POST", f"{rbac}/clusterroles", role)
            binding = {"metadata": {"name": "reflector-test"}, "subjects": [subject], "roleRef": reference}
            cluster.admin.must("POST", f"{rbac}/clusterrolebindings", binding)
            assert await told.next() == Complete(is_first=True)
        finally:
            cluster.admin.request("DELETE", f"{rbac}/clusterrolebindings/reflector-test")
            cluster.admin.request("DELETE", f"{rbac}/clusterroles/reflector-test")


# What no real server does when asked to


ONE = {"metadata": {"resourceVersion": "5"}, "items": [{"metadata": {"name": "a", "uid": "u", "resourceVersion": "3"}}]}


async def test_a_proxy_that_ends_watches_at_once_is_told_and_does_not_make_a_busy_loop(api: FakeApi) -> None:
    api.replies = [reply(body=ONE), reply(body=b"")]
    async with Client(api.access) as client, following(client, settings=replace(FAST, retry_first=0.05)) as told:
        await told.take(2)
        await until(lambda: len(api.seen) >= 4)
        assert "the watch ended at once" in told.followed.problem
    assert [seen.query.get("watch") for seen in api.seen[:4]] == [None, "true", "true", "true"]


async def test_a_bookmark_moves_the_version_to_go_on_from(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "_AT_ONCE", 0)
    bookmark = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}\n'
    api.replies = [reply(body=ONE), reply(body=bookmark), refuse(429, headers={"Retry-After": "0"})]
    async with Client(api.access) as client, following(client) as told:
        await told.take(2)
        await until(lambda: len(api.seen) >= 3)
    assert [seen.query.get("resourceVersion") for seen in api.seen[:3]] == [None, "5", "9"]
    assert api.seen[1].query["allowWatchBookmarks"] == "true"


async def test_an_object_without_a_name_is_a_problem_and_no_change(api: FakeApi) -> None:
    api.replies = [reply(body={**ONE, "items": [{"metadata": {}}]}), reply(body=ONE), reply(body=b"")]
    async with Client(api.access) as client, following(client) as told:
        assert names(await told.take(2)) == ["+a", "complete"]
