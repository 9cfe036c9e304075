"""Events on a real API server."""

from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.events import MAX_NOTE, EventSettings, EventType, Recorder, Regarding
from nodeworthy.kubernetes.resources import EVENTS, NODES

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy
    from tests.kubernetes.fixtures import Kubectl

PATH = EVENTS.path(namespace="default")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """A recorder, a node to talk about, and what the API server then has."""

    def __init__(self, client: Client, cluster: "Cluster", name: str, *, most: int = 1000) -> None:
        self.clock = Clock()
        settings = EventSettings(quiet=600, most=most)
        self.recorder = Recorder(
            client, "nodeworthy.io/tests", "pod-1", manager="tests", clock=self.clock, settings=settings
        )
        self.cluster = cluster
        uid = cluster.create_node(name)["metadata"]["uid"]
        self.node = Regarding(NODES, name, uid)

    async def tell(self, note: str = "two values", reason: str = "LabelConflict") -> bool:
        return await self.recorder.record(self.node, reason, note, action="Label", type_=EventType.WARNING)

    def written(self) -> list[dict[str, Any]]:
        items = self.cluster.admin.must("GET", PATH)["items"]
        return [event for event in items if event["regarding"].get("uid") == self.node.uid]


async def test_an_event_about_a_node_is_written_as_kubectl_shows_it(
    client: Client, cluster: "Cluster", kubectl: "Kubectl"
) -> None:
    scene = Scene(client, cluster, "e0")
    assert await scene.tell()
    (event,) = scene.written()
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "LabelConflict", "two values")
    assert (event["action"], event["reportingController"]) == ("Label", "nodeworthy.io/tests")
    assert "two values" in kubectl("describe", "node", "e0").stdout


async def test_the_same_thing_is_told_once_in_a_while_and_counted(client: Client, cluster: "Cluster") -> None:
    scene = Scene(client, cluster, "e1")
    assert await scene.tell()
    assert [await scene.tell() for _ in range(4)] == [False] * 4
    assert len(scene.written()) == 1
    assert "series" not in scene.written()[0]
    scene.clock.now = 601
    assert await scene.tell()
    (event,) = scene.written()
    assert event["series"]["count"] == 6


async def test_another_reason_or_note_is_another_event(client: Client, cluster: "Cluster") -> None:
    scene = Scene(client, cluster, "e2")
    assert [await scene.tell(), await scene.tell("other"), await scene.tell(reason="Other")] == [True] * 3
    assert len(scene.written()) == 3


async def test_an_event_that_is_gone_is_written_anew(client: Client, cluster: "Cluster") -> None:
    scene = Scene(client, cluster, "e3")
    await scene.tell()
    (first,) = scene.written()
    cluster.admin.must("DELETE", f"{PATH}/{first['metadata']['name']}")
    scene.clock.now = 4000
    assert await scene.tell()
    (second,) = scene.written()
    assert second["metadata"]["name"] != first["metadata"]["name"]
    assert "series" not in second


async def test_a_long_note_is_cut_and_a_strange_one_is_made_readable(client: Client, cluster: "Cluster") -> None:
    scene = Scene(client, cluster, "e4")
    assert await scene.tell("ä\n" * 2000)
    (event,) = scene.written()
    assert MAX_NOTE - 4 <= len(event["note"].encode()) <= MAX_NOTE
    assert "\n" not in event["note"]


async def test_only_so_many_are_remembered(client: Client, cluster: "Cluster") -> None:
    scene = Scene(client, cluster, "e5", most=2)
    assert [await scene.tell(note) for note in ("a", "b", "c", "c", "a")] == [True, True, True, False, True]


async def test_an_event_that_cannot_be_written_stops_nothing_and_is_tried_again(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy", caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(proxied, cluster, "e6")
    fault_proxy.answer("POST", "events", 500)
    assert not await scene.tell()
    assert [record.message for record in caplog.records] == ["kubernetes.event_not_written"]
    assert await scene.tell()
    assert len(scene.written()) == 1
