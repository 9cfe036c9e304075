import asyncio
from typing import TYPE_CHECKING

import pytest

from nodeworthy import errors
from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.requests import ErrorCode, ErrorReply, ResolveReply, ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.images import ImageKnowledge

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Connect

REQUEST = ResolveRequest(reference="registry.example/app:v1")
REPLY = ResolveReply(knowledge=ImageKnowledge("registry.example/app:v1", "sha256:" + "0" * 64, "", ()), looked=1)


class Resolver:
    """Answers on the resolver's subject as a test says; ``None`` is a replica that was killed with the question."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._subject = names.endpoint(Endpoint.RESOLVE)
        self.asked = 0
        self.answers: list[ErrorReply | ResolveReply | None] = []

    async def listen(self) -> None:
        await self._connection.subscribe(self._subject, self._answer)

    async def _answer(self, message: Msg) -> None:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            return
        headers = {"Nats-Service-Error-Code": str(answer.code)} if isinstance(answer, ErrorReply) else None
        await self._connection.publish(message.reply, payloads.encode(answer), headers=headers)


@pytest.fixture
async def resolver(connecting: "Connect", names: Names) -> Resolver:
    return Resolver(await connecting(), names)


@pytest.fixture
async def asker(connecting: "Connect") -> Connection:
    return await connecting()


async def test_a_resolver_that_is_not_ready_yet_is_waited_for(
    resolver: Resolver, asker: Connection, names: Names
) -> None:
    resolver.answers = [REPLY]
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(resolve(asker, names, REQUEST, seconds=10))
        await asyncio.wait({waiting}, timeout=0.1)
        assert not waiting.done()
        await resolver.listen()
    assert waiting.result() == REPLY


async def test_a_question_that_died_with_its_replica_is_asked_again(
    resolver: Resolver, asker: Connection, names: Names
) -> None:
    resolver.answers = [None, None, REPLY]
    await resolver.listen()
    assert await resolve(asker, names, REQUEST, seconds=10, try_seconds=0.1) == REPLY
    assert resolver.asked == 3


@pytest.mark.parametrize("code", [ErrorCode.BUSY, ErrorCode.TIMEOUT])
async def test_a_resolver_that_is_busy_or_slow_is_asked_again(
    code: ErrorCode, resolver: Resolver, asker: Connection, names: Names
) -> None:
    resolver.answers = [ErrorReply(code=code, what="not now"), REPLY]
    await resolver.listen()
    assert await resolve(asker, names, REQUEST, seconds=10) == REPLY


async def test_a_resolver_that_is_slow_to_the_end_tells_of_its_registry(
    resolver: Resolver, asker: Connection, names: Names
) -> None:
    resolver.answers = [ErrorReply(code=ErrorCode.TIMEOUT, what="the service did not answer in time")]
    await resolver.listen()
    with pytest.raises(errors.RegistryUnreachableError, match="did not answer in time"):
        await resolve(asker, names, REQUEST, seconds=0.3)
    assert resolver.asked > 1


async def test_the_askers_time_is_kept(resolver: Resolver, asker: Connection, names: Names) -> None:
    resolver.answers = [None]
    await resolver.listen()
    begun = asyncio.get_running_loop().time()
    with pytest.raises(errors.BusUnreachableError):
        await resolve(asker, names, REQUEST, seconds=0.3)
    assert asyncio.get_running_loop().time() - begun < 2


async def test_without_any_resolver_it_is_said_that_none_runs(asker: Connection, names: Names) -> None:
    with pytest.raises(errors.BusNobodyError, match="no resolver answers"):
        await resolve(asker, names, REQUEST, seconds=0.2)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.BAD_REQUEST, errors.UsageError),
        (ErrorCode.NOT_FOUND, errors.ImageNotFoundError),
        (ErrorCode.DENIED, errors.RegistryDeniedError),
        (ErrorCode.UNAVAILABLE, errors.RegistryError),
        (ErrorCode.INTERNAL, errors.BusRequestError),
        (ErrorCode.TOO_LARGE, errors.BusRequestError),
    ],
)
async def test_an_answer_that_stands_is_the_error_that_the_resolver_met(
    code: ErrorCode, error: type[errors.NodeworthyError], resolver: Resolver, asker: Connection, names: Names
) -> None:
    resolver.answers = [ErrorReply(code=code, what="app:v1 is denied", why="403", todo="log in")]
    await resolver.listen()
    with pytest.raises(error) as caught:
        await resolve(asker, names, REQUEST, seconds=10)
    assert type(caught.value) is error
    assert caught.value.diagnostics() == ("app:v1 is denied", "403", "log in")
    assert resolver.asked == 1
