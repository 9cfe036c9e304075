"""Asking a validator until there is an answer: on a real bus, with validators that fail as they do."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import TIMEOUT_HEADER, Endpoint, Names
from nodeworthy.bus.requests import (
    ErrorCode,
    ErrorReply,
    ExplainReply,
    ExplainRequest,
    NodesReply,
    NodesRequest,
    ValidateReply,
    ValidateRequest,
)
from nodeworthy.bus.validating import explain, list_nodes, validate
from nodeworthy.errors import BusBusyError, BusNobodyError, BusRequestError, BusUnreachableError, PayloadError
from nodeworthy.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Connect

VERDICT = Verdict("app:1", "n1", Answer.COMPATIBLE, "it fits")
REPLY = ValidateReply(verdicts=(VERDICT,))
REQUEST = ValidateRequest(image="app:1")


async def answer(connection: Connection, message: Msg, reply: ValidateReply | ErrorReply = REPLY) -> None:
    headers = {"Nats-Service-Error-Code": str(reply.code)} if isinstance(reply, ErrorReply) else None
    await connection.publish(message.reply, payloads.encode(reply), headers=headers)


def validating(
    connection: Connection, names: Names, handle: Callable[[Msg], Awaitable[None]]
) -> contextlib.AbstractAsyncContextManager[object]:
    return connection.subscribed(names.endpoint(Endpoint.VALIDATE), handle)


async def test_a_question_that_one_validator_took_to_its_grave_is_answered_by_another(
    connecting: "Connect", names: Names
) -> None:
    connection = await connecting()
    seen: list[Msg] = []

    async def handle(message: Msg) -> None:
        seen.append(message)
        if len(seen) == 3:
            await answer(connection, message)

    async with validating(connection, names, handle):
        assert await validate(connection, names, REQUEST, seconds=20, patience=0.05) == REPLY
    deadlines = [int((message.headers or {})[TIMEOUT_HEADER]) for message in seen]
    assert deadlines == sorted(deadlines, reverse=True)
    assert 19_000 < deadlines[0] <= 19_750


async def test_an_answer_that_takes_long_is_waited_for(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    seen: list[Msg] = []

    async def handle(message: Msg) -> None:
        seen.append(message)
        if len(seen) == 2:  # the answer to the first question, late
            await answer(connection, seen[0])

    async with validating(connection, names, handle):
        assert await validate(connection, names, REQUEST, seconds=20, patience=0.05) == REPLY


async def test_a_busy_validator_is_asked_again(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    refusals = iter([ErrorReply(code=ErrorCode.BUSY, what="busy")] * 3)

    async def handle(message: Msg) -> None:
        await answer(connection, message, next(refusals, REPLY))

    async with validating(connection, names, handle):
        assert await validate(connection, names, REQUEST, seconds=20) == REPLY


async def test_a_validator_that_comes_later_is_found(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    asking = asyncio.create_task(validate(connection, names, REQUEST, seconds=20))
    await asyncio.sleep(0)

    async def handle(message: Msg) -> None:
        await answer(connection, message)

    async with validating(connection, names, handle):
        assert await asking == REPLY


@pytest.mark.parametrize(
    ("replies", "error"),
    [
        ([], BusUnreachableError),
        ([ErrorReply(code=ErrorCode.BUSY, what="busy")] * 1000, BusBusyError),
        ([ErrorReply(code=ErrorCode.NOT_FOUND, what="no such image")], BusRequestError),
        ([b"\xc1"], PayloadError),
    ],
    ids=["silence", "busy", "not found", "nonsense"],
)
async def test_what_stands_in_the_way_is_told_in_time(
    replies: list[ErrorReply | bytes], error: type[Exception], connecting: "Connect", names: Names
) -> None:
    connection = await connecting()
    left = iter(replies)

    async def handle(message: Msg) -> None:
        reply = next(left, None)
        if isinstance(reply, bytes):
            await connection.publish(message.reply, reply)
        elif reply is not None:
            await answer(connection, message, reply)

    async with validating(connection, names, handle), asyncio.timeout(10):
        with pytest.raises(error):
            await validate(connection, names, REQUEST, seconds=0.3, patience=0.1)


async def test_without_a_validator_the_way_out_is_told(connecting: "Connect", names: Names) -> None:
    with pytest.raises(BusNobodyError) as caught:
        await validate(await connecting(), names, REQUEST, seconds=0.1)
    assert "nodeworthy validator" in caught.value.todo


async def test_explanations_and_nodes_are_asked_in_the_same_way(connecting: "Connect", names: Names) -> None:
    connection = await connecting()
    seen: list[bytes] = []

    def reply_with(reply: ExplainReply | NodesReply) -> Callable[[Msg], Awaitable[None]]:
        async def handle(message: Msg) -> None:
            seen.append(message.data)
            await connection.publish(message.reply, payloads.encode(reply))

        return handle

    explained, listed = ExplainReply(verdict=VERDICT), NodesReply(nodes=())
    async with (
        connection.subscribed(names.endpoint(Endpoint.EXPLAIN), reply_with(explained)),
        connection.subscribed(names.endpoint(Endpoint.NODES), reply_with(listed)),
    ):
        request = ExplainRequest(image="app:1", node="n1")
        assert await explain(connection, names, request, seconds=20) == explained
        assert await list_nodes(connection, names, NodesRequest(limit=7), seconds=20) == listed
    assert payloads.decode(seen[0], ExplainRequest) == request
    assert payloads.decode(seen[1], NodesRequest).limit == 7
