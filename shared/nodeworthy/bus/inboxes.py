"""Questions with many answers: an inbox that stays subscribed, and takes the answers of each question apart."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.errors import BusDeniedError, BusUnreachableError

MAX_ANSWERS = 10_000
"""Of one question; a page of JetStream has a tenth."""


class _Question:
    """What came so far, and a future for the end."""

    def __init__(self, is_last: Callable[[Msg], bool]) -> None:
        self.answers: list[Msg] = []
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_last = is_last

    def take(self, message: Msg) -> None:
        self.answers.append(message)
        if not self.ended.done() and (self._is_last(message) or len(self.answers) == MAX_ANSWERS):
            self.ended.set_result(None)


class Inbox:
    """One subscription below the connection's inbox prefix, for as long as the connection lives."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._prefix = f"{connection.settings.inbox_prefix}.many.{connection.client.new_inbox().rpartition('.')[2]}"
        self._questions: dict[str, _Question] = {}
        self._numbers = itertools.count()
        self._subscribing = asyncio.Lock()
        self._is_subscribed = False

    async def ask(self, subject: str, body: bytes, *, is_last: Callable[[Msg], bool]) -> list[Msg]:
        """Publish a question and collect its answers, up to and with the one that is the last.

        Raises:
            BusDeniedError: this user may not publish there, or has another inbox prefix.
            BusUnreachableError: an answer did not come in time, or there were more than :data:`MAX_ANSWERS`.
        """
        await self._subscribe()
        number = str(next(self._numbers))
        question = self._questions[number] = _Question(is_last)
        refused = self._connection.denials.expect(subject)
        try:
            await self._connection.publish(subject, body, reply=f"{self._prefix}.{number}")
            await self._wait(question, refused, subject)
        finally:
            del self._questions[number]
            self._connection.denials.forget(subject, refused)
        if not is_last(question.answers[-1]):
            raise BusUnreachableError(f"too many answers on {subject}", why=f"the limit is {MAX_ANSWERS:,}")
        return question.answers

    async def _subscribe(self) -> None:
        async with self._subscribing:
            if not self._is_subscribed:
                await self._connection.subscribe(f"{self._prefix}.*", self._sort)
                self._is_subscribed = True

    async def _sort(self, message: Msg) -> None:
        question = self._questions.get(message.subject.rpartition(".")[2])
        if question is not None:  # an answer that comes after its question gave up means nothing
            question.take(message)

    async def _wait(self, question: _Question, refused: asyncio.Future[str], subject: str) -> None:
        """Wait for the end; the limit is for each answer, since a page may be large and the way long."""
        seconds = self._connection.settings.request_seconds
        waiting: set[asyncio.Future[Any]] = {question.ended, refused}
        before = -1
        while not question.ended.done():
            if refused.done():
                raise BusDeniedError(f"this user may not publish to {subject}")
            if len(question.answers) == before:
                raise BusUnreachableError(f"no answer on {subject}", why=f"waited {seconds:g} s")
            before = len(question.answers)
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
