"""``nodeworthy checkup`` with a bus: the validator and the resolver in this process answer the installed program."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.cli.checkup.conftest import PushImage, Shop, report_of

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.requests import MAX_NODES, Undeclared
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.images import ImageKnowledge
from nodeworthy.verdicts import Answer
from nodeworthy_cli import exits
from nodeworthy_cli.checkup.judging import BusJudge, Known
from nodeworthy_resolver import app as resolver_app
from nodeworthy_resolver.oci import RegistryAccess
from nodeworthy_resolver.settings import Settings as ResolverSettings
from nodeworthy_validator import app as validator_app
from nodeworthy_validator.settings import Settings

if TYPE_CHECKING:
    from tests.cli.conftest import Done, Nodeworthy
    from tests.conftest import StartNats

SECONDS = 30


@dataclass
class Services:
    """A bus with services, and the program on it."""

    nodeworthy: "Nodeworthy"
    url: str
    store: Store

    async def publish(self, node: str, architecture: str) -> None:
        """The facts of a node."""
        contents = {"system.architecture": FeatureSet(attributes={"architecture": architecture})}
        snapshot = Snapshot(contents, catalogue=frozenset({"system.architecture"}))
        await SnapshotPublisher(self.store, Identity(node, DETECTOR, Session("boot", 1))).publish(snapshot)

    async def checkup(self, *arguments: str, code: int, input: str | None = None) -> "Done":  # noqa: A002 # as subprocess
        command = ("checkup", *arguments, "--server", self.url, "-o", "json")
        return await asyncio.to_thread(lambda: self.nodeworthy(*command, input=input, code=code))


@pytest.fixture
async def services(nats_server: "StartNats", nodeworthy: "Nodeworthy") -> AsyncIterator[Services]:
    settings = ConnectionSettings(servers=(nats_server().url,))
    stop, ready = asyncio.Event(), [asyncio.Event(), asyncio.Event()]
    async with connect(settings) as connection:
        await ensure_streams(connection, define_streams(Names()))
        resolver = ResolverSettings(bus=settings, registries=RegistryAccess(plain_http=True))
        async with asyncio.TaskGroup() as group:
            group.create_task(resolver_app.run(resolver, stop, ready[0]))
            group.create_task(validator_app.run(Settings(bus=settings), stop, ready[1]))
            async with asyncio.timeout(SECONDS):
                for event in ready:
                    await event.wait()
            yield Services(nodeworthy, settings.servers[0], Store(connection, Names()))
            stop.set()


async def test_a_list_is_held_against_every_node_of_the_bus(services: Services, push: PushImage) -> None:
    await services.publish("amd", "amd64")
    await services.publish("arm", "arm64")
    one, both = push("one", "amd64"), push("both", "amd64", "arm64")
    dead = "127.0.0.1:1/team/app:1"

    done = await services.checkup("--file", "-", input=f"{one}\n{both}\n{dead}\n", code=exits.NO)

    assert report_of(done.stdout, one)["risk"] == "platform-missing"
    assert report_of(done.stdout, one)["missing"] == ["linux/arm64"]
    assert report_of(done.stdout, one)["failing"][0]["nodes"] == ["arm"]
    assert report_of(done.stdout, both)["risk"] == "undeclared"
    assert report_of(done.stdout, both)["platforms"] == ["linux/amd64", "linux/arm64"]
    assert report_of(done.stdout, dead)["risk"] == "unknown"


async def test_only_the_nodes_that_are_named_count(services: Services, push: PushImage) -> None:
    await services.publish("amd", "amd64")
    await services.publish("arm", "arm64")

    done = await services.checkup("--file", "-", "--on", "amd", input=push("one", "amd64"), code=exits.UNKNOWN)

    assert json.loads(done.stdout)["nodes"] == 1
    assert json.loads(done.stdout)["images"][0]["risk"] == "undeclared"


async def test_a_node_that_nobody_knows_is_a_usage_error(services: Services) -> None:
    done = await services.checkup("--file", "-", "--on", "nobody", input="127.0.0.1:1/app", code=exits.USAGE)

    assert "there is no node nobody" in done.stderr


async def test_the_files_of_images_are_looked_at_if_asked(services: Services, push: PushImage) -> None:
    await services.publish("amd", "amd64")
    image = push("one", "amd64")

    done = await services.checkup("--file", "-", "--inspect", input=image, code=exits.UNKNOWN)

    assert report_of(done.stdout, image)["inspected"]
    assert "neither an entrypoint nor a command is named" in report_of(done.stdout, image)["reason"]


async def test_the_workloads_of_a_cluster_are_held_against_what_the_bus_knows_of_its_nodes(
    services: Services, shop: Shop, push: PushImage
) -> None:
    amd, arm, blind = shop.node("amd"), shop.node("arm", "arm64"), shop.node("blind")
    await services.publish(amd, "amd64")
    await services.publish(arm, "arm64")
    await services.publish("elsewhere", "s390x")
    stuck, pinned = push("stuck", "amd64"), push("pinned", "amd64")
    shop.pod("stuck", stuck, arm)
    shop.workload("Deployment", "pinned", pinned, pod={"nodeSelector": {"kubernetes.io/hostname": amd}})
    options = tuple(option for option in shop.options if option != "--plain-http")

    done = await services.checkup(*options, code=exits.NO)

    assert json.loads(done.stdout)["nodes"] == 3
    assert report_of(done.stdout, stuck)["reason"].startswith(f"cannot run on the only node where it runs ({arm})")
    assert report_of(done.stdout, stuck)["counts"] == {"incompatible": 1, "unknown": 2}
    assert report_of(done.stdout, pinned)["risk"] == "undeclared"
    assert blind not in report_of(done.stdout, pinned)["reason"]


async def test_more_nodes_than_one_question_takes_are_asked_about_in_parts(services: Services, push: PushImage) -> None:
    await services.publish("node-0", "amd64")
    names = [f"node-{number}" for number in range(MAX_NODES + 1)]
    image = push("app", "amd64")
    known = Known(image, ImageKnowledge(image, "", "", ()))

    (fare,) = await BusJudge(services.store, seconds=SECONDS).ask([known], names, Undeclared.COMPATIBLE)

    assert fare.counts == {Answer.COMPATIBLE: 1, Answer.UNKNOWN: MAX_NODES}
    assert [(group.answer, group.count) for group in fare.groups] == [
        (Answer.UNKNOWN, MAX_NODES - 1),
        (Answer.COMPATIBLE, 1),
        (Answer.UNKNOWN, 1),
    ]


def test_a_bus_that_is_not_there_is_unknown(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("checkup", "--file", "-", "--server", "nats://127.0.0.1:1", input="nginx", code=exits.UNKNOWN)

    assert done.stderr.startswith("error: ")
