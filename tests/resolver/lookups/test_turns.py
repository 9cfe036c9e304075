"""Several resolvers, one question at a time to a registry."""

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from nodeworthy.bus import keys
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import ImageNotFoundError
from nodeworthy_resolver import turns
from nodeworthy_resolver.oci.store import Content
from nodeworthy_resolver.turns import Turn, TurnOverError, turn

if TYPE_CHECKING:
    from tests.resolver.conftest import FaultyRegistry
    from tests.resolver.lookups.conftest import OpenReplica


@pytest.mark.usefixtures("declared")
async def test_many_who_ask_many_replicas_at_once_are_one_question_to_the_registry(
    open_replica: "OpenReplica", faulty: "FaultyRegistry"
) -> None:
    replicas = [open_replica() for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(replica(faulty.name)) for replica in replicas for _ in range(50)]
    assert len({caller.result().knowledge for caller in callers}) == 1
    asked = [(one.method, one.path) for one in faulty.seen]
    assert len(asked) == len(set(asked)), "nothing was asked twice"


async def test_who_asks_by_digest_takes_turns_too(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", declared: Content
) -> None:
    replicas = [open_replica() for _ in range(3)]
    async with asyncio.TaskGroup() as group:
        for replica in replicas:
            group.create_task(replica(f"{faulty.host}/team/app@{declared.digest}"))
    asked = [(one.method, one.path) for one in faulty.seen]
    assert len(asked) == len(set(asked))


async def test_a_failure_of_one_ends_its_turn_and_the_other_asks_for_itself(
    open_replica: "OpenReplica", faulty: "FaultyRegistry"
) -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def wait(_: web.Request) -> web.StreamResponse:
        asked.set()
        await release.wait()
        return web.Response(status=404)

    faulty.script("GET", "manifests/v1", wait)
    first = asyncio.create_task(open_replica()(faulty.name))
    await asked.wait()
    second = asyncio.create_task(open_replica()(faulty.name))
    release.set()
    results = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(result) for result in results] == [ImageNotFoundError] * 2
    assert len(faulty.asked("GET", "manifests/v1")) == 2


async def test_a_turn_is_had_by_one_and_then_by_the_next(bus: Store) -> None:
    async with turn(bus, "question") as mine:
        await mine.begin()
        await mine.begin()
        other = Turn(bus, "question")
        waiting = asyncio.create_task(other.begin())
        await Turn(bus, "another question").begin()
        assert not waiting.done()
    with pytest.raises(TurnOverError):
        await waiting
    with pytest.raises(TurnOverError):
        await other.begin()
    await Turn(bus, "question").begin()


async def test_a_turn_that_takes_too_long_is_not_waited_for(bus: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await Turn(bus, "question").begin()
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.05)
    await Turn(bus, "question").begin()


async def test_an_entry_that_no_resolver_wrote_holds_nobody_up(bus: Store) -> None:
    await bus.put(Bucket.IMAGES, keys.tag_key("turn question"), b"junk")
    await Turn(bus, "question").begin()


async def test_a_bus_that_does_not_answer_holds_nobody_up(bus: Store) -> None:
    await bus.connection.close()
    async with turn(bus, "question") as mine:
        await mine.begin()
