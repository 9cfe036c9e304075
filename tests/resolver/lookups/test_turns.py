"""Several resolvers, one question at a time to a registry."""

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.failures import error_reply
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import ErrorCode, ErrorReply
from nodeworthy.bus.store import Store
from nodeworthy.errors import ImageNotFoundError, NodeworthyError, RegistryDeniedError, RegistryError
from nodeworthy_resolver import turns
from nodeworthy_resolver.oci.store import Content
from nodeworthy_resolver.records import TurnRecord
from nodeworthy_resolver.settings import Lifetimes, Settings
from nodeworthy_resolver.turns import Turn, TurnOverError, turn

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder, Clock, FaultyRegistry, Reply
    from tests.resolver.lookups.conftest import OpenReplica

REMEMBERING = Settings(lifetimes=Lifetimes(failure=5))
"""Failures are remembered for so many seconds, as the defaults have it."""


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


async def outcome(replica: "OpenReplica", name: str, settings: Settings = REMEMBERING) -> type[BaseException] | None:
    """The failure of a look-up by a resolver that was just started."""
    try:
        await replica(settings)(name)
    except NodeworthyError as error:
        return type(error)
    return None


async def test_that_there_is_no_image_is_asked_by_one_of_all_replicas(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", clock: "Clock", build: "Builder"
) -> None:
    for _ in range(3):
        assert await outcome(open_replica, faulty.name) is ImageNotFoundError
    assert len(faulty.seen) == 1
    with pytest.raises(ImageNotFoundError, match="not found or no permission") as caught:
        await open_replica(REMEMBERING)(faulty.name)
    assert "log in" in caught.value.todo
    clock.now += 6
    faulty.tags["v1"] = build.image()
    assert await outcome(open_replica, faulty.name) is None


async def test_replicas_that_ask_at_once_for_what_is_not_there_ask_once(
    open_replica: "OpenReplica", faulty: "FaultyRegistry"
) -> None:
    async with asyncio.TaskGroup() as group:
        askers = [group.create_task(outcome(open_replica, faulty.name)) for _ in range(4)]
    assert [asker.result() for asker in askers] == [ImageNotFoundError] * 4
    assert len(faulty.seen) == 1


async def test_who_wants_a_fresh_answer_asks_although_there_was_no_image(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    assert await outcome(open_replica, faulty.name) is ImageNotFoundError
    faulty.tags["v1"] = build.image()
    assert await open_replica(REMEMBERING)(faulty.name, fresh=True)


async def test_a_registry_that_serves_nobody_is_not_asked_by_the_next_replica(
    open_replica: "OpenReplica", faulty: "FaultyRegistry"
) -> None:
    faulty.take_down()
    assert [await outcome(open_replica, faulty.name) for _ in range(2)][1] is RegistryError
    assert len(faulty.seen) == 1


async def test_a_denial_may_be_the_matter_of_one_replicas_login_and_is_not_shared(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", reply: "Reply"
) -> None:
    faulty.script("GET", "manifests/v1", reply(403), reply(403))
    assert [await outcome(open_replica, faulty.name) for _ in range(2)] == [RegistryDeniedError] * 2
    assert len(faulty.seen) == 2


@pytest.mark.usefixtures("declared")
async def test_that_a_tag_is_gone_takes_no_artifact_from_what_is_asked_by_digest(
    open_replica: "OpenReplica", faulty: "FaultyRegistry", clock: "Clock"
) -> None:
    found = await open_replica(REMEMBERING)(faulty.name)
    tag = faulty.tags.pop("v1")
    clock.now += 61
    assert await outcome(open_replica, faulty.name) is ImageNotFoundError
    by_digest = await open_replica(REMEMBERING)(f"{faulty.host}/team/app@{tag.digest}")
    assert by_digest.knowledge.images == found.knowledge.images


@pytest.mark.parametrize(
    ("question", "code", "looked"),
    [
        ("another question", ErrorCode.NOT_FOUND, 1000),
        ("question", ErrorCode.DENIED, 1000),
        ("question", ErrorCode.NOT_FOUND, 994),
        ("question", ErrorCode.NOT_FOUND, 1061),
    ],
    ids=["of another question", "that is not shared", "that is old", "from the future"],
)
async def test_a_failure_is_not_believed(
    question: str, code: ErrorCode, looked: int, bus: Store, clock: "Clock"
) -> None:
    failure = ErrorReply(code=code, what="no")
    record = TurnRecord(question=question, is_over=True, failure=failure, looked=looked)
    await bus.put(Bucket.IMAGES, keys.tag_key("turn question"), payloads.encode(record))
    await make(bus, clock).begin()


async def test_a_failure_says_at_every_replica_what_the_registry_said(bus: Store, clock: "Clock") -> None:
    said = ImageNotFoundError("no image", why="the registry answered 404", todo="check the name")
    mine = make(bus, clock)
    await mine.begin()
    mine.fail(said)
    await mine.end()
    with pytest.raises(TurnOverError) as caught:
        await make(bus, clock).begin()
    assert caught.value.failure is not None
    assert error_reply(caught.value.failure) == error_reply(said)


def make(bus: Store, clock: "Clock", question: str = "question") -> Turn:
    return Turn(bus, question, failure_seconds=5, clock=clock)


async def test_a_turn_is_had_by_one_and_then_by_the_next(bus: Store, clock: "Clock") -> None:
    async with turn(bus, "question", failure_seconds=5, clock=clock) as mine:
        await mine.begin()
        await mine.begin()
        other = make(bus, clock)
        waiting = asyncio.create_task(other.begin())
        await make(bus, clock, "another question").begin()
        assert not waiting.done()
    with pytest.raises(TurnOverError):
        await waiting
    with pytest.raises(TurnOverError):
        await other.begin()
    await make(bus, clock).begin()


async def test_a_turn_that_takes_too_long_is_not_waited_for(
    bus: Store, clock: "Clock", monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(bus, clock).begin()
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.05)
    await make(bus, clock).begin()


async def test_an_entry_that_no_resolver_wrote_holds_nobody_up(bus: Store, clock: "Clock") -> None:
    await bus.put(Bucket.IMAGES, keys.tag_key("turn question"), b"junk")
    await make(bus, clock).begin()


async def test_a_bus_that_does_not_answer_holds_nobody_up(bus: Store, clock: "Clock") -> None:
    await bus.connection.close()
    async with turn(bus, "question", failure_seconds=5, clock=clock) as mine:
        await mine.begin()
