"""The proxy passes on what it is not told to break, and breaks what it is told to, as often as it is told to."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import pytest
import pytest_asyncio
from tests.kubernetes.api import MERGE

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy

NODES = "/api/v1/nodes"
WATCH = f"{NODES}?watch=1&fieldSelector=metadata.name%3Dproxied"
LABELLED = {"metadata": {"labels": {"a": "b"}}}
BROKEN = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError)


@pytest_asyncio.fixture
async def client(fault_proxy: "FaultProxy", cluster: "Cluster") -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {cluster.tokens['admin']}"}
    async with aiohttp.ClientSession(fault_proxy.url, headers=headers) as session:
        yield session


class Reply(NamedTuple):
    """An answer that was read to its end, so that its connection is free again."""

    status: int
    headers: Mapping[str, str]
    body: Any


async def get(client: aiohttp.ClientSession, path: str, **headers: str) -> Reply:
    async with client.get(path, headers=headers) as answer:
        return Reply(answer.status, answer.headers, await answer.json())


async def patch(client: aiohttp.ClientSession) -> Reply:
    content = {"Content-Type": MERGE}
    async with client.patch(f"{NODES}/proxied", data=json.dumps(LABELLED), headers=content) as answer:
        return Reply(answer.status, answer.headers, await answer.json())


def read_label(cluster: "Cluster") -> str | None:
    label: str | None = cluster.admin.must("GET", f"{NODES}/proxied")["metadata"]["labels"].get("a")
    return label


async def test_a_request_reaches_the_api_server_and_is_listed(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    assert (await patch(client)).status == 200
    assert read_label(cluster) == "b"
    (request,) = fault_proxy.requests
    assert (request.method, request.path, request.content_type) == ("PATCH", f"{NODES}/proxied", MERGE)
    assert json.loads(request.body) == LABELLED


async def test_a_query_arrives_as_it_was_sent(client: aiohttp.ClientSession, cluster: "Cluster") -> None:
    cluster.create_node("proxied", {"x.io/y": "1"})
    reply = await get(client, f"{NODES}?labelSelector=x.io%2Fy%20in%20(1,2)")
    assert [node["metadata"]["name"] for node in reply.body["items"]] == ["proxied"]


async def test_compressed_answers_stay_compressed(client: aiohttp.ClientSession, cluster: "Cluster") -> None:
    cluster.create_node("proxied", {f"x.io/{number}": "v" * 60 for number in range(2000)})  # over 128 KiB
    reply = await get(client, f"{NODES}/proxied", **{"Accept-Encoding": "gzip"})
    assert reply.headers["Content-Encoding"] == "gzip"
    assert reply.body["metadata"]["name"] == "proxied"


@pytest.mark.parametrize(("status", "reason"), [(409, "Conflict"), (422, "Invalid"), (500, "InternalError")])
async def test_an_answer_is_given_in_place_of_the_api_server_as_often_as_told(
    status: int, reason: str, fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault = fault_proxy.answer("PATCH", "/nodes/proxied$", status, times=2)
    replies = [await patch(client), await patch(client)]
    assert [(reply.status, reply.body["reason"]) for reply in replies] == [(status, reason)] * 2
    assert read_label(cluster) is None
    assert (await patch(client)).status == 200
    assert fault.hits == 2


async def test_too_many_requests_says_when_to_come_back(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession
) -> None:
    fault_proxy.answer("*", NODES, 429, retry_after=7)
    reply = await get(client, NODES)
    assert (reply.status, reply.headers["Retry-After"]) == (429, "7")


async def test_other_methods_and_paths_are_left_alone(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault = fault_proxy.answer("PATCH", "/nodes/other$", 500)
    assert (await patch(client)).status == 200
    assert (await get(client, f"{NODES}/other")).status == 404
    assert fault.hits == 0


async def test_a_dropped_request_does_nothing(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault_proxy.drop("PATCH", "/nodes/proxied$")
    with pytest.raises(BROKEN):
        await patch(client)
    assert read_label(cluster) is None


async def test_a_lost_answer_was_carried_out(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault_proxy.lose_answer("PATCH", "/nodes/proxied$")
    with pytest.raises(BROKEN):
        await patch(client)
    assert read_label(cluster) == "b"


async def test_a_held_request_is_carried_out_when_it_is_released(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault = fault_proxy.hold("PATCH", "/nodes/proxied$")
    async with asyncio.TaskGroup() as tasks:
        held = tasks.create_task(patch(client))
        await fault.reached.wait()
        assert read_label(cluster) is None
        assert not held.done()
        fault_proxy.heal()
    assert held.result().status == 200
    assert read_label(cluster) == "b"


async def test_events_of_a_watch_come_as_they_happen(client: aiohttp.ClientSession, cluster: "Cluster") -> None:
    cluster.create_node("proxied")
    async with client.get(WATCH) as answer:
        assert await read_event(answer) == ("ADDED", None)
        cluster.admin.must("PATCH", f"{NODES}/proxied", LABELLED, content=MERGE)
        assert await read_event(answer) == ("MODIFIED", "b")


async def test_events_of_a_watch_can_be_doubled_and_lost(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    fault_proxy.rewrite("GET", "watch=1", lambda line: [] if b'"MODIFIED"' in line else [line, line])
    async with client.get(WATCH) as answer:
        assert [await read_event(answer), await read_event(answer)] == [("ADDED", None)] * 2
        cluster.admin.must("PATCH", f"{NODES}/proxied", LABELLED, content=MERGE)
        cluster.delete_node("proxied")
        assert [await read_event(answer), await read_event(answer)] == [("DELETED", "b")] * 2


async def test_a_watch_can_be_broken(
    fault_proxy: "FaultProxy", client: aiohttp.ClientSession, cluster: "Cluster"
) -> None:
    cluster.create_node("proxied")
    async with client.get(WATCH) as answer:
        await read_event(answer)
        fault_proxy.break_connections()
        with pytest.raises(BROKEN):
            await read_event(answer)


async def read_event(answer: aiohttp.ClientResponse) -> tuple[str, str | None]:
    """The next event's type, and the label that these tests set."""
    async with asyncio.timeout(20):
        event = json.loads(await answer.content.readline())
    return event["type"], event["object"]["metadata"]["labels"].get("a")
