"""Asking a validator, for whoever needs the answer: the command line, pipelines, other programs.

A replica may be killed with the question in its hands, none may be ready for a moment, or all may be busy. A first look at
an image may also honestly take long, so a try is not given up: after some patience the same question goes out once more, and
the first answer counts. Answers change nothing, so a question that is answered twice harms nobody.
"""

import asyncio
import random
from typing import Generic, TypeVar

from nodeworthy import errors
from nodeworthy.bus.asking import ask
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import (
    ExplainReply,
    ExplainRequest,
    NodesReply,
    NodesRequest,
    ValidateReply,
    ValidateRequest,
)
from nodeworthy.bus.resolving import is_passing

PATIENCE_SECONDS = 2.0
"""How long one try is waited for alone, doubled with each: warm answers take milliseconds, dead replicas never answer."""
PAUSE_SECONDS = 0.05
"""After a refusal; doubled with each up to :data:`LONGEST_PAUSE_SECONDS`, jittered by half of it."""
LONGEST_PAUSE_SECONDS = 0.5

_Reply = TypeVar("_Reply", bound=Message)


async def validate(
    connection: Connection,
    names: Names,
    request: ValidateRequest,
    *,
    seconds: float,
    patience: float = PATIENCE_SECONDS,
) -> ValidateReply:
    """Whether images run on nodes; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.VALIDATE, request, ValidateReply).run(seconds, patience)


async def explain(
    connection: Connection, names: Names, request: ExplainRequest, *, seconds: float, patience: float = PATIENCE_SECONDS
) -> ExplainReply:
    """One verdict in full; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.EXPLAIN, request, ExplainReply).run(seconds, patience)


async def list_nodes(
    connection: Connection, names: Names, request: NodesRequest, *, seconds: float, patience: float = PATIENCE_SECONDS
) -> NodesReply:
    """A page of the nodes that validators know; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.NODES, request, NodesReply).run(seconds, patience)


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
        self._tries: set[asyncio.Task[_Reply | errors.BusError]] = set()
        self._end = 0.0

    async def run(self, seconds: float, patience: float) -> _Reply:
        """The first answer.

        Raises:
            BusNobodyError: no validator answers.
            BusUnreachableError: there was no answer within ``seconds``.
            BusBusyError: every validator had too much to do until then.
            BusRequestError: the validator answered with an error.
            BusError: the question is too large, may not be asked, or its answer cannot be read.
        """
        self._end = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            outcome = await self._decide(group, patience)
            for left in self._tries:
                left.cancel()
        if isinstance(outcome, errors.BusError):
            raise outcome
        return outcome

    def _left(self) -> float:
        return self._end - asyncio.get_running_loop().time()

    async def _decide(self, group: asyncio.TaskGroup, patience: float) -> _Reply | errors.BusError:
        pause = PAUSE_SECONDS
        refusal: errors.BusError = errors.BusUnreachableError(
            f"no answer on {self._names.endpoint(self._endpoint)}", todo="ask again, or give it more time"
        )
        while self._left() > 0:
            self._tries.add(group.create_task(self._try(), name=f"ask {self._endpoint}"))
            while self._tries:
                outcome = await self._first_outcome(min(patience, max(self._left(), 0)))
                if outcome is None:
                    patience *= 2
                    break
                if not isinstance(outcome, errors.BusError) or not is_passing(outcome):
                    return outcome
                refusal = outcome
            else:
                jitter = 0.5 + random.random() / 2  # noqa: S311 # no secret
                await asyncio.sleep(min(pause * jitter, max(self._left(), 0)))
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return refusal

    async def _try(self) -> _Reply | errors.BusError:
        """One try with all the time that is left; raising would end the others."""
        seconds = max(self._left(), 0.001)
        try:
            return await ask(self._connection, self._names, self._endpoint, self._request, self._reply, seconds=seconds)
        except errors.BusError as error:
            return error

    async def _first_outcome(self, seconds: float) -> _Reply | errors.BusError | None:
        """How the first of the tries ended; ``None``: none did within ``seconds``."""
        done, _ = await asyncio.wait(self._tries, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return None
        ended = done.pop()
        self._tries.discard(ended)
        return ended.result()
