"""One resolver of a cluster at a time asks a registry the same question; the others wait and find the answer in the cache.

A turn is an entry of bucket ``images`` that is created only where none is, and that the bus forgets after
:data:`TURN_SECONDS`, so that a resolver which died holds nobody up for longer. It is a courtesy and no lock: where the bus
does not answer, or the turn takes too long, whoever waits asks the registry too, which costs requests and nothing else.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusConflictError, BusError, PayloadError
from nodeworthy_resolver.records import TurnRecord

TURN_SECONDS = 10
"""A cold look-up takes a tenth of a second to some seconds. The bus counts whole seconds."""
_OVER_SECONDS = 1
"""For which it is said that a turn is over; then its entry goes."""
_FIRST_POLL, _LONGEST_POLL = 0.02, 0.25
"""Seconds between two looks at somebody else's turn."""


class TurnOverError(Exception):
    """Somebody else asked the registry meanwhile: what it said is in the cache."""


class Turn:
    """One question's turn; :meth:`begin` is called before a registry is asked for the first time."""

    def __init__(self, store: Store, question: str) -> None:
        self._store = store
        self._question = question
        self._key = keys.tag_key(f"turn {question}")
        self._revision: int | None = None
        self._deciding = asyncio.Lock()
        self._has_waited: bool | None = None

    async def begin(self) -> None:
        """Take the turn, or wait until whoever has it is done.

        Raises:
            TurnOverError: somebody else had it, and is done.
        """
        async with self._deciding:  # a look-up asks several things at once
            if self._has_waited is None:
                try:
                    self._has_waited = await self._take_or_wait()
                except BusError:
                    self._has_waited = False  # the cache tells of the bus that does not answer
        if self._has_waited:
            raise TurnOverError

    async def end(self) -> None:
        """Let the others go on."""
        if self._revision is None:
            return
        with contextlib.suppress(BusError):  # the bus forgets it soon
            await self._put(is_over=True, expected=self._revision, seconds=_OVER_SECONDS)

    async def _take_or_wait(self) -> bool:
        poll, waited = _FIRST_POLL, 0.0
        while waited < TURN_SECONDS:
            stored = await self._store.get(Bucket.IMAGES, self._key)
            if stored is None or stored.is_removal or _is_over(stored.data):
                if waited:
                    return True
                with contextlib.suppress(BusConflictError):
                    expected = stored.revision if stored else 0
                    self._revision = await self._put(is_over=False, expected=expected, seconds=TURN_SECONDS)
                    return False
            await asyncio.sleep(poll)
            waited += poll
            poll = min(poll * 2, _LONGEST_POLL)
        return False

    async def _put(self, *, is_over: bool, expected: int, seconds: int) -> int:
        data = payloads.encode(TurnRecord(question=self._question, is_over=is_over))
        return await self._store.put(Bucket.IMAGES, self._key, data, expected=expected, seconds_to_live=seconds)


def _is_over(data: bytes) -> bool:
    try:
        return payloads.decode(data, TurnRecord).is_over
    except PayloadError:
        return True  # nobody's turn


@contextlib.asynccontextmanager
async def turn(store: Store, question: str) -> AsyncIterator[Turn]:
    """A turn that ends with the context, whatever became of it."""
    mine = Turn(store, question)
    try:
        yield mine
    finally:
        await mine.end()
