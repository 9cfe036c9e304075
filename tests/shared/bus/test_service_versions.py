"""The version that a service is found with, by the stock client too."""

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies
from nats.micro.service import SEMVER_REGEX

from nodeworthy.bus.names import RESOLVER_SERVICE, VALIDATOR_SERVICE, Names
from nodeworthy.bus.serving import Serving, semantic_version

if TYPE_CHECKING:
    from tests.conftest import NatsCli, NatsServer
    from tests.shared.bus.conftest import Connect

NUMBERS = strategies.lists(strategies.integers(0, 10**6).map(str), min_size=1, max_size=4).map(".".join)
ENDINGS = strategies.tuples(
    strategies.sampled_from(["", "a1", "b20", "rc3"]),
    strategies.sampled_from(["", ".post1"]),
    strategies.sampled_from(["", ".dev7"]),
    strategies.sampled_from(["", "+local.1", "+g0123abc"]),
).map("".join)


@pytest.mark.parametrize(
    ("python", "semantic"),
    [
        ("0.1.0", "0.1.0"),
        ("1.2", "1.2.0"),
        ("0.2.0rc1", "0.2.0-rc1"),
        ("0.2.0.dev12", "0.2.0-dev12"),
        ("0.2.0.post1", "0.2.0+post1"),
        ("0.2.0b1.dev2+g0123abc", "0.2.0-b1+dev2.g0123abc"),
    ],
)
def test_a_python_version_is_told_as_a_semantic_one(python: str, semantic: str) -> None:
    assert semantic_version(python) == semantic


@given(NUMBERS, ENDINGS)
def test_every_python_version_makes_one_that_nats_takes(numbers: str, ending: str) -> None:
    assert SEMVER_REGEX.match(semantic_version(numbers + ending))


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0rc1"])
async def test_the_stock_client_shows_the_version_of_every_service(
    version: str, server: "NatsServer", connecting: "Connect", names: Names, nats_cli: "NatsCli"
) -> None:
    connection, ready, stop = await connecting(), asyncio.Event(), asyncio.Event()
    ready.set()
    services = [Serving(connection, names, name, version) for name in (RESOLVER_SERVICE, VALIDATOR_SERVICE)]
    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(service.run([], ready, stop))
        for service in services:
            await service.answering.wait()
        listed = await asyncio.to_thread(nats_cli, "--server", server.url, "micro", "ls", "--json")
        alone = await asyncio.to_thread(nats_cli, "--server", server.url, "micro", "ls", VALIDATOR_SERVICE)
        stop.set()
    # In the table of all services the client leaves a cell empty that is equal to the one above.
    assert semantic_version(version) in alone.stdout
    found = {one["name"]: (one["version"], one["metadata"]) for one in json.loads(listed.stdout)}
    expected = (semantic_version(version), {"cluster": names.cluster, "version": version})
    assert found == {RESOLVER_SERVICE: expected, VALIDATOR_SERVICE: expected}
