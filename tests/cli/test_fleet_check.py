"""``nodeworthy check --on NODE|all`` end to end: the installed program, and the services in this process on a real bus."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.composing import Identity
from nodeworthy.bus.connection import connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import DETECTOR, labels_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.records import Session
from nodeworthy.bus.snapshots import SnapshotPublisher
from nodeworthy.bus.store import Store
from nodeworthy.bus.streams import define_streams, ensure_streams
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy_cli import exits
from nodeworthy_cli.fleet_question import is_on_bus, read_nodes_option
from nodeworthy_resolver import app as resolver_app
from nodeworthy_resolver.oci import RegistryAccess
from nodeworthy_resolver.settings import Settings as ResolverSettings
from nodeworthy_validator import app as validator_app
from nodeworthy_validator.settings import Settings

if TYPE_CHECKING:
    from tests.cli.conftest import Done, Nodeworthy
    from tests.conftest import Oras, StartNats

SECONDS = 30
SPEC = """
version: v1alpha1
compatibilities:
- tag: card
  weight: 7
  rules:
  - name: card
    matchFeatures:
    - feature: pci.device
      matchExpressions: {vendor: {op: In, value: ["10de"]}}
"""


def machine(vendor: str | None, architecture: str = "amd64") -> Snapshot:
    contents = {"system.architecture": FeatureSet(attributes={"architecture": architecture})}
    if vendor is not None:
        contents["pci.device"] = FeatureSet(instances=({"vendor": vendor},))
    return Snapshot(contents, catalogue=frozenset({"system.architecture", "pci.device"}))


NODES = {
    "card-1": machine("10de"),
    "card-2": machine("10de"),
    "other": machine("8086"),
    "arm": machine("10de", "arm64"),
    "blind": machine(None),
}


@dataclass
class Fleet:
    """A bus with nodes and services, and the program on it."""

    nodeworthy: "Nodeworthy"
    url: str
    image: str

    async def check(self, *arguments: str, code: int, **more: Any) -> "Done":
        run = partial(self.nodeworthy, "check", *arguments, "--server", self.url, code=code, **more)
        return await asyncio.to_thread(run)


@pytest.fixture
async def fleet(
    nats_server: "StartNats",
    nodeworthy: "Nodeworthy",
    referrers_registry: str,
    oras: "Oras",
    layout: Callable[..., str],
) -> AsyncIterator[Fleet]:
    layout("app")
    image = f"{referrers_registry}/team/app:1"
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", image)
    settings = ConnectionSettings(servers=(nats_server().url,))
    stop, ready = asyncio.Event(), [asyncio.Event(), asyncio.Event()]
    async with connect(settings) as connection:
        store = Store(connection, Names())
        await ensure_streams(connection, define_streams(Names()))
        for name, snapshot in NODES.items():
            await SnapshotPublisher(store, Identity(name, DETECTOR, Session("boot", 1))).publish(snapshot)
        memory = LabelMemory(labels={"gpu": LabelEntry(LabelState.APPLIED, "yes")})
        for name in ("card-1", "card-2"):
            await store.put(Bucket.LABELS, labels_key(name), payloads.encode(make_record(name, memory)))
        resolver = ResolverSettings(bus=settings, registries=RegistryAccess(plain_http=True))
        async with asyncio.TaskGroup() as group:
            group.create_task(resolver_app.run(resolver, stop, ready[0]))
            group.create_task(validator_app.run(Settings(bus=settings), stop, ready[1]))
            async with asyncio.timeout(SECONDS):
                for event in ready:
                    await event.wait()
            yield Fleet(nodeworthy, settings.servers[0], image)
            stop.set()


async def test_one_node_of_the_bus_is_answered_as_this_machine_is(fleet: Fleet) -> None:
    done = await fleet.check(fleet.image, "--on", "card-1", "--spec", "-", input=SPEC, code=exits.YES)
    assert done.stdout.startswith(f"{fleet.image} on card-1: compatible (score 7)\n")
    assert "met     pci.device vendor   10de     10de" in done.stdout
    done = await fleet.check(fleet.image, "--on", "other", "--spec", "-", "-o", "json", input=SPEC, code=exits.NO)
    assert json.loads(done.stdout)["verdict"] == "incompatible"
    done = await fleet.check(fleet.image, "--on", "nobody", code=exits.UNKNOWN)
    assert "nobody has published facts of node nobody" in done.stdout


async def test_many_nodes_are_told_in_groups_with_the_reason(fleet: Fleet) -> None:
    done = await fleet.check(fleet.image, "--on", "all", "--spec", "-", input=SPEC, code=exits.YES)
    lines = done.stdout.splitlines()
    assert lines[0] == f"{fleet.image}: compatible"
    assert "of 5 nodes: 2 compatible, 2 incompatible, 1 unknown" in lines[1]
    assert any("card-1, card-2" in line and "compatible (7)" in line for line in lines)
    assert any("arm" in line and "the node is linux/arm64" in line for line in lines)
    done = await fleet.check(fleet.image, "--on", "all", "--spec", "-", "-o", "json", input=SPEC, code=exits.YES)
    reply = json.loads(done.stdout)
    assert [verdict["node"] for verdict in reply["verdicts"]] == sorted(NODES)
    assert reply["totals"][0]["counts"] == {"compatible": 2, "incompatible": 2, "unknown": 1}


EXIT_CODES: list[tuple[tuple[str, ...], int]] = [
    (("--on", "card-1,card-2", "--require", "all"), exits.YES),
    (("--on", "card-1,other", "--require", "all"), exits.NO),
    (("--on", "card-1,other"), exits.YES),
    (("--on", "card-1,blind", "--require", "all"), exits.UNKNOWN),
    (("--on", "other,arm"), exits.NO),
    (("--on", "other,blind"), exits.UNKNOWN),
    (("--on", "other,nobody"), exits.UNKNOWN),
    (("--selector", "metadata.name in (other,arm)"), exits.NO),
    (("--selector", "gpu=yes"), exits.YES),
    (("--selector", "gpu=yes", "--require", "all"), exits.UNKNOWN),  # the labels of three nodes are not known
    (("--selector", "metadata.name=zzz"), exits.USAGE),
    (("--selector", "a b c"), exits.USAGE),
    (("--on", "all", "--tag", "fast"), exits.USAGE),
    (("--on", "all", "--plain-http"), exits.USAGE),
    (("--on", "a,,b"), exits.USAGE),
]


async def test_the_exit_code_says_yes_no_usage_or_unknown(fleet: Fleet) -> None:
    for options, code in EXIT_CODES:
        await fleet.check(fleet.image, "--spec", "-", *options, input=SPEC, code=code)


async def test_of_several_images_the_exit_code_is_the_first_of_2_1_3_0(fleet: Fleet) -> None:
    host = fleet.image.partition("/")[0]
    on = ("--on", "card-1", "--spec", "-", "-o", "json")
    done = await fleet.check(fleet.image, f"{host}/nothing:1", *on, input=SPEC, code=exits.USAGE)
    assert [verdict["image"] for verdict in json.loads(done.stdout)] == [fleet.image]
    assert "nothing:1" in done.stderr
    await fleet.check(fleet.image, "127.0.0.1:1/down:1", *on, input=SPEC, code=exits.UNKNOWN)
    done = await fleet.check("127.0.0.1:1/down:1", "--on", "all", code=exits.UNKNOWN)
    assert "127.0.0.1:1" in done.stdout
    await fleet.check("oci:app", "--on", "all", code=exits.USAGE)
    await fleet.check("UPPER/x", "--on", "all", code=exits.USAGE)


def test_a_bus_that_is_not_there_is_unknown_and_the_way_out_is_told(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("check", "app:1", "--on", "all", "--server", "nats://127.0.0.1:1", code=exits.UNKNOWN)
    assert "nodeworthy up" in done.stderr


def test_a_bus_without_a_validator_is_unknown_and_the_way_out_is_told(
    nodeworthy: "Nodeworthy", nats_server: "StartNats"
) -> None:
    ask = ("check", "app:1", "--on", "all", "--server", nats_server().url, "--timeout", "1")
    assert "nodeworthy validator" in nodeworthy(*ask, code=exits.UNKNOWN).stderr


def test_options_that_say_nothing_without_the_bus_are_refused(nodeworthy: "Nodeworthy") -> None:
    for option in (("--require", "all"), ("--server", "nats://x"), ("--selector", "a=b", "--on", "this")):
        assert "says nothing here" in nodeworthy("check", "app:1", *option, code=exits.USAGE).stderr


@pytest.mark.parametrize(
    ("on", "expected"), [("this", False), ("-", False), ("./a", False), ("a.json", False), ("all", True), ("a,b", True)]
)
def test_a_node_is_told_from_a_file_by_its_name(on: str, expected: bool) -> None:
    assert is_on_bus(on) is expected


def test_a_list_of_nodes_names_each_once() -> None:
    assert read_nodes_option("b, a,b") == ("b", "a")
    assert read_nodes_option("all") == ()
