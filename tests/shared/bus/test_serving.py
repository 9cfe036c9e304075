import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.asking import ask
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import TIMEOUT_HEADER, VALIDATOR_SERVICE, Endpoint, Names
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorReply, NodesReply, NodesRequest, ValidateReply, ValidateRequest
from nodeworthy.bus.serving import (
    DEFAULT_TIMEOUT_MS,
    LONGEST_TIMEOUT_MS,
    Served,
    Serving,
    ServingSettings,
    read_timeout,
)
from nodeworthy.errors import (
    BusBusyError,
    BusNobodyError,
    BusRequestError,
    BusUnreachableError,
    ImageNotFoundError,
    PayloadError,
    RegistryUnreachableError,
    UsageError,
)
from nodeworthy.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from tests.shared.bus.conftest import Connect, Eventually

REQUEST = ValidateRequest(image="alpine", node="n1")
REPLY = ValidateReply(verdicts=(Verdict("alpine", "n1", Answer.COMPATIBLE, "it fits"),))
Handle = Callable[[ValidateRequest], Awaitable[Message]]


class Serve(Protocol):
    def __call__(
        self, connection: Connection, handle: Handle, settings: ServingSettings | None = ...
    ) -> contextlib.AbstractAsyncContextManager[Serving]: ...


@pytest.fixture
def serving(names: Names) -> Serve:
    """Serve ``validate`` while the context lasts."""

    @contextlib.asynccontextmanager
    async def serve(
        connection: Connection, handle: Handle, settings: ServingSettings | None = None
    ) -> AsyncIterator[Serving]:
        service = Serving(connection, names, VALIDATOR_SERVICE, "1.2.3", settings=settings or ServingSettings())
        served = Served(Endpoint.VALIDATE, ValidateRequest, ValidateReply, handle)
        ready, stop = asyncio.Event(), asyncio.Event()
        ready.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(service.run([served], ready, stop))
            await until_served(connection, names)
            yield service
            stop.set()

    return serve


async def until_served(connection: Connection, names: Names) -> None:
    async with asyncio.timeout(10):
        while True:
            with contextlib.suppress(BusNobodyError):
                info = await connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")
                if names.endpoint(Endpoint.VALIDATE).encode() in info.data:
                    return
            await asyncio.sleep(0.005)


async def answer(request: ValidateRequest) -> ValidateReply:
    assert request == REQUEST
    return REPLY


async def test_a_question_is_answered(connecting: "Connect", names: Names, serving: Serve) -> None:
    connection = await connecting()
    async with serving(connection, answer) as service:
        assert await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply) == REPLY
        assert service.counts == {"answered": 1}


async def test_json_is_answered_in_json(connecting: "Connect", names: Names, serving: Serve) -> None:
    connection = await connecting()
    async with serving(connection, answer):
        body = b'{"image": "alpine", "node": "n1"}'
        message = await connection.request(names.endpoint(Endpoint.VALIDATE), body)
    assert json.loads(message.data) == {
        "version": 1,
        "verdicts": [{"image": "alpine", "node": "n1", "verdict": "compatible", "reason": "it fits"}],
    }


@pytest.mark.parametrize(
    ("body", "code", "why"),
    [
        (b"{", "bad-request", "truncated"),
        (b"\xc1", "bad-request", ""),
        (b'{"image": 5}', "bad-request", "Expected `str`"),
        (b'{"limit": 100000}', "bad-request", "<= 1000"),
        (b'{"version": 2}', "newer-version", "reads version 1"),
        (json.dumps({"images": ["x"] * 101}).encode(), "bad-request", "length <= 100"),
    ],
)
async def test_a_bad_request_is_told_what_is_wrong(
    connecting: "Connect", names: Names, serving: Serve, body: bytes, code: str, why: str
) -> None:
    connection = await connecting()
    async with serving(connection, answer):
        message = await connection.request(names.endpoint(Endpoint.VALIDATE), body)
        assert message.headers is not None
        assert message.headers["Nats-Service-Error-Code"] == code
        reply = payloads.decode(message.data, ErrorReply)
        assert reply.code == code
        assert why in reply.why
        assert payloads.format_of(message.data) is payloads.format_of(body)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such node"), "bad-request"),
        (ImageNotFoundError("no such image"), "not-found"),
        (RegistryUnreachableError("no registry", why="connection refused", todo="try again"), "unavailable"),
        (BusBusyError("the resolver is busy"), "busy"),
        (BusRequestError("no such image", code="not-found"), "not-found"),
        (BusRequestError("strange", code="of-the-future"), "internal"),
        (PayloadError("too large", too_large=True), "too-large"),
        (ZeroDivisionError("secret detail"), "internal"),
    ],
)
async def test_what_a_handler_raises_reaches_who_asked(
    connecting: "Connect", names: Names, serving: Serve, error: Exception, code: str
) -> None:
    connection = await connecting()

    async def fail(_: ValidateRequest) -> ValidateReply:
        raise error

    async with serving(connection, fail) as service:
        with pytest.raises((BusRequestError, BusBusyError)) as told:
            await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply)
        assert service.counts == {code: 1}
    assert getattr(told.value, "code", "busy") == code
    assert "secret" not in str(told.value.diagnostics())
    if isinstance(error, RegistryUnreachableError):
        assert told.value.diagnostics() == error.diagnostics()


async def test_a_fast_question_overtakes_a_slow_one(connecting: "Connect", names: Names, serving: Serve) -> None:
    connection = await connecting()
    release = asyncio.Event()

    async def maybe_wait(request: ValidateRequest) -> ValidateReply:
        if request.image == "slow":
            await release.wait()
        return REPLY

    async with serving(connection, maybe_wait):
        slow = asyncio.create_task(
            ask(connection, names, Endpoint.VALIDATE, ValidateRequest(image="slow"), ValidateReply, seconds=30)
        )
        assert await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply) == REPLY
        release.set()
        assert await slow == REPLY


async def test_more_than_it_takes_is_answered_busy(
    connecting: "Connect", names: Names, serving: Serve, eventually: "Eventually"
) -> None:
    connection = await connecting()
    release = asyncio.Event()

    async def wait(_: ValidateRequest) -> ValidateReply:
        await release.wait()
        return REPLY

    async with serving(connection, wait, ServingSettings(tasks=3)) as service:
        asked = [
            asyncio.create_task(ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply, seconds=30))
            for _ in range(3)
        ]
        await eventually(lambda: service.in_work == 3)
        with pytest.raises(BusBusyError, match="the service is busy"):
            await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply)
        release.set()
        assert await asyncio.gather(*asked) == [REPLY] * 3


async def test_work_that_is_past_its_deadline_is_ended(
    connecting: "Connect", names: Names, serving: Serve, eventually: "Eventually"
) -> None:
    connection = await connecting()
    ended = asyncio.Event()

    async def wait(_: ValidateRequest) -> ValidateReply:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return REPLY

    async with serving(connection, wait) as service:
        message = await connection.request(
            names.endpoint(Endpoint.VALIDATE), payloads.encode(REQUEST), headers={TIMEOUT_HEADER: "50"}
        )
        assert payloads.decode(message.data, ErrorReply).code == "timeout"
        assert ended.is_set()
        with pytest.raises((BusRequestError, BusUnreachableError)):
            await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply, seconds=0.1)
        await eventually(lambda: service.in_work == 0)


@pytest.mark.parametrize(
    ("header", "milliseconds"),
    [
        ("50", 50),
        ("999999999", LONGEST_TIMEOUT_MS),
        *((bad, DEFAULT_TIMEOUT_MS) for bad in ("", "0", "-5", "1e3", "9" * 30, "²", "soon")),
    ],
)
def test_a_deadline_is_bounded_and_a_bad_one_is_none(header: str, milliseconds: int) -> None:
    assert read_timeout({TIMEOUT_HEADER: header}) == milliseconds
    assert read_timeout(None) == DEFAULT_TIMEOUT_MS


async def test_what_nobody_waits_for_is_not_done(
    connecting: "Connect", names: Names, serving: Serve, eventually: "Eventually"
) -> None:
    connection = await connecting()

    async def never(_: ValidateRequest) -> ValidateReply:
        pytest.fail("was called")

    async with serving(connection, never) as service:
        await connection.publish(names.endpoint(Endpoint.VALIDATE), payloads.encode(REQUEST))
        await eventually(lambda: service.counts == {"unasked": 1})


async def test_a_reply_that_is_too_large_is_told(connecting: "Connect", names: Names, serving: Serve) -> None:
    connection = await connecting()

    async def much(_: ValidateRequest) -> ValidateReply:
        return ValidateReply(verdicts=(), notices=("x" * payloads.MAX_BODY_BYTES,))

    async with serving(connection, much):
        with pytest.raises(BusRequestError, match="a ValidateReply has") as error:
            await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply)
    assert error.value.code == "bad-request"


async def test_nobody_answers_before_a_service_is_ready_but_it_is_found(
    connecting: "Connect", names: Names, eventually: "Eventually"
) -> None:
    connection = await connecting()
    service = Serving(connection, names, VALIDATOR_SERVICE, "1.2.3")
    ready, stop = asyncio.Event(), asyncio.Event()
    served = Served(Endpoint.VALIDATE, ValidateRequest, ValidateReply, answer)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(service.run([served], ready, stop))
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(BusNobodyError):
                    found = json.loads((await connection.request(f"$SRV.PING.{VALIDATOR_SERVICE}")).data)
                    break
        assert found["metadata"]["cluster"] == "test"
        with pytest.raises(BusNobodyError, match=r"no validator answers on nodeworthy\.test\.validate") as error:
            await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply)
        assert "nodeworthy validator" in error.value.todo
        ready.set()
        await until_served(connection, names)
        assert await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply) == REPLY
        stop.set()
        await eventually(running.done)
    with pytest.raises(BusNobodyError):
        await ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply)


async def test_what_an_endpoint_takes_and_gives_can_be_looked_up(
    connecting: "Connect", serving: Serve, names: Names
) -> None:
    connection = await connecting()
    async with serving(connection, answer):
        info = json.loads((await connection.request(f"$SRV.INFO.{VALIDATOR_SERVICE}")).data)
    (endpoint,) = info["endpoints"]
    assert (endpoint["name"], endpoint["subject"]) == ("validate", names.endpoint(Endpoint.VALIDATE))
    schema = json.loads(endpoint["metadata"]["request-schema"])
    assert "image" in schema["$defs"]["ValidateRequest"]["properties"]
    assert "verdicts" in json.loads(endpoint["metadata"]["reply-schema"])["$defs"]["ValidateReply"]["properties"]


async def test_two_replicas_share_the_questions(connecting: "Connect", names: Names, serving: Serve) -> None:
    one, other, asker = await connecting(), await connecting(), await connecting()
    async with serving(one, answer) as first, serving(other, answer) as second:
        await asyncio.gather(
            *(ask(asker, names, Endpoint.VALIDATE, REQUEST, ValidateReply, seconds=10) for _ in range(60))
        )
        assert first.counts["answered"] + second.counts["answered"] == 60
        assert min(first.counts["answered"], second.counts["answered"]) > 5  # NATS draws lots


async def test_what_is_in_work_when_the_service_ends_is_still_answered(
    connecting: "Connect", names: Names, serving: Serve, eventually: "Eventually"
) -> None:
    connection = await connecting()
    release = asyncio.Event()

    async def wait(_: ValidateRequest) -> ValidateReply:
        await release.wait()
        return REPLY

    async with serving(connection, wait) as service:
        asked = asyncio.create_task(ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply, seconds=30))
        await eventually(lambda: service.in_work == 1)
        asyncio.get_running_loop().call_later(0.1, release.set)
    assert await asked == REPLY


async def test_work_that_does_not_end_with_its_service_is_ended(
    connecting: "Connect", names: Names, serving: Serve, eventually: "Eventually"
) -> None:
    connection = await connecting()

    async def wait(_: ValidateRequest) -> ValidateReply:
        await asyncio.Event().wait()
        return REPLY

    async with asyncio.timeout(10):
        async with serving(connection, wait, ServingSettings(drain_seconds=0.1)) as service:
            asked = asyncio.create_task(ask(connection, names, Endpoint.VALIDATE, REQUEST, ValidateReply, seconds=60))
            await eventually(lambda: service.in_work == 1)
    asked.cancel()


async def test_an_empty_body_asks_with_every_default(connecting: "Connect", names: Names) -> None:
    connection = await connecting()

    async def list_nodes(request: NodesRequest) -> NodesReply:
        assert request == NodesRequest()
        return NodesReply(nodes=(), total=7)

    ready, stop = asyncio.Event(), asyncio.Event()
    ready.set()
    service = Serving(connection, names, VALIDATOR_SERVICE, "1.2.3")
    async with asyncio.TaskGroup() as group:
        group.create_task(service.run([Served(Endpoint.NODES, NodesRequest, NodesReply, list_nodes)], ready, stop))
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(BusNobodyError):
                    message = await connection.request(names.endpoint(Endpoint.NODES))
                    break
                await asyncio.sleep(0.005)
        stop.set()
    assert json.loads(message.data) == {"version": 1, "nodes": [], "total": 7}
