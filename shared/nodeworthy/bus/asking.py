"""Asking a service: a typed request with a deadline, and a typed reply or a clear error; once, or until there is an answer.

A replica may be killed with the question in its hands, none may be ready for a moment, or all may be busy. An answer may
also honestly take long, so :class:`Asking` gives no try up: after some patience the same question goes out once more, and
the first answer counts. What is asked so changes nothing, and answering it twice harms nobody.
"""

import asyncio
import random
from typing import Generic, TypeVar

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.failures import raise_reply
from nodeworthy.bus.names import TIMEOUT_HEADER, Endpoint, Names
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorCode, ErrorReply
from nodeworthy.errors import BusBusyError, BusError, BusNobodyError, BusRequestError, BusUnreachableError

PATIENCE_SECONDS = 2.0
"""How long one try is waited for alone, doubled with each: kept answers take milliseconds, a look at a registry about a
second, and dead replicas never answer."""
PAUSE_SECONDS = 0.05
"""After a refusal; doubled with each up to :data:`LONGEST_PAUSE_SECONDS`, jittered by half of it."""
LONGEST_PAUSE_SECONDS = 0.5
_LEAST_SECONDS = 0.05
"""With less time left the question is not asked again: an answer over the bus takes milliseconds, on a busy machine ten."""

_Reply = TypeVar("_Reply", bound=Message)

_ERROR_CODE_HEADER = "Nats-Service-Error-Code"
"""NATS ADR-32: a reply with it tells an error."""

_MARGIN_SECONDS = 0.25
"""The service is told to stop by itself a little before the asker does, so that its answer still arrives."""

_ENDPOINT_SERVICES = {Endpoint.RESOLVE: "resolver", Endpoint.ATTACH: "resolver"}


async def ask(
    connection: Connection,
    names: Names,
    endpoint: Endpoint,
    request: Message,
    reply: type[_Reply],
    *,
    seconds: float = 2.0,
) -> _Reply:
    """Ask, and wait at most ``seconds`` for the answer.

    Raises:
        BusNobodyError: no service answers there.
        BusUnreachableError: no answer in time.
        BusBusyError: the service has as many requests in work as it takes.
        BusRequestError: the service answered with an error.
        PayloadError: the request is too large, or the answer cannot be read.
        BusDeniedError: this user may not ask.
    """
    deadline = max(int((seconds - min(_MARGIN_SECONDS, seconds / 10)) * 1000), 1)
    subject = names.endpoint(endpoint)
    try:
        message = await connection.request(
            subject, payloads.encode(request), seconds=seconds, headers={TIMEOUT_HEADER: str(deadline)}
        )
    except BusNobodyError as error:
        service = _ENDPOINT_SERVICES.get(endpoint, "validator")
        raise BusNobodyError(
            f"no {service} answers on {subject}",
            why="none runs in this cluster, or none is ready yet",
            todo=f"start one with: nodeworthy {service}; or see what runs with: nats micro ls",
        ) from error
    except BusUnreachableError as error:
        raise BusUnreachableError(error.what, why=error.why, todo="ask again, or give it more time") from error
    return read_reply(message, reply)


def read_reply(message: Msg, reply: type[_Reply]) -> _Reply:
    """The reply of a message; raises what :func:`ask` raises for an answer."""
    if (message.headers or {}).get(_ERROR_CODE_HEADER):
        raise_reply(payloads.decode(message.data, ErrorReply))
    return payloads.decode(message.data, reply)


class Asking(Generic[_Reply]):
    """One question, until it is answered or its time is over."""

    def __init__(
        self, connection: Connection, names: Names, endpoint: Endpoint, request: Message, reply: type[_Reply]
    ) -> None:
        self._connection = connection
        self._names = names
        self._endpoint = endpoint
        self._request = request
        self._reply = reply
        self._tries: set[asyncio.Task[_Reply | BusError]] = set()
        self._end = 0.0

    async def run(self, seconds: float, patience: float) -> _Reply:
        """The first answer.

        Raises:
            BusNobodyError: no service answers there.
            BusUnreachableError: there was no answer within ``seconds``.
            BusBusyError: every replica had too much to do until then.
            BusRequestError: the service answered with an error.
            BusError: the question is too large, may not be asked, or its answer cannot be read.
        """
        self._end = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            outcome = await self._decide(group, patience)
            for left in self._tries:
                left.cancel()
        if isinstance(outcome, BusError):
            raise outcome
        return outcome

    def _left(self) -> float:
        return self._end - asyncio.get_running_loop().time()

    async def _decide(self, group: asyncio.TaskGroup, patience: float) -> _Reply | BusError:
        pause = PAUSE_SECONDS
        refusal: BusError = BusUnreachableError(
            f"no answer on {self._names.endpoint(self._endpoint)}", todo="ask again, or give it more time"
        )
        while self._left() > 0:
            self._tries.add(group.create_task(self._try(), name=f"ask {self._endpoint}"))
            while self._tries:
                outcome = await self._first_outcome(min(patience, max(self._left(), 0)))
                if outcome is None:
                    patience *= 2
                    break
                if not isinstance(outcome, BusError) or not _is_passing(outcome):
                    return outcome
                refusal = outcome
            else:
                wait = pause * (0.5 + random.random() / 2)  # noqa: S311 # no secret
                if wait + _LEAST_SECONDS >= self._left():
                    return refusal  # the reason, which whoever waits no longer than we do must still hear
                await asyncio.sleep(wait)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return refusal

    async def _try(self) -> _Reply | BusError:
        """One try with all the time that is left; raising would end the others."""
        seconds = max(self._left(), 0.001)
        try:
            return await ask(self._connection, self._names, self._endpoint, self._request, self._reply, seconds=seconds)
        except BusError as error:
            return error

    async def _first_outcome(self, seconds: float) -> _Reply | BusError | None:
        """How the first of the tries ended; ``None``: none did within ``seconds``."""
        done, _ = await asyncio.wait(self._tries, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return None
        ended = done.pop()
        self._tries.discard(ended)
        return ended.result()


def _is_passing(error: BusError) -> bool:
    """Whether the same question may be answered in a moment."""
    is_slow = isinstance(error, BusRequestError) and error.code == ErrorCode.TIMEOUT
    return is_slow or isinstance(error, BusUnreachableError | BusBusyError)
