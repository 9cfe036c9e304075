"""One resolver of a cluster at a time asks a registry the same question; the others wait and find the answer in the cache.

A turn is an entry of bucket ``images`` that is created only where none is, and that the bus forgets after
:data:`TURN_SECONDS`, so that a resolver which died holds nobody up for longer. It is a courtesy and no lock: where the bus
does not answer, or the turn takes too long, whoever waits asks the registry too, which costs requests and nothing else.

What a registry says in the place of an image has no entry of its own in the cache: it stands in the turn that is over, for
:attr:`~nodeworthy_resolver.settings.Lifetimes.failure` seconds. Only what the registry said itself: that it cannot be
reached, or lets this resolver not in, may be the matter of one resolver alone.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable

import msgspec

from nodeworthy.bus import keys, payloads
from nodeworthy.bus.failures import error_reply
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.requests import ErrorCode, ErrorReply
from nodeworthy.bus.resolving import image_error
from nodeworthy.bus.store import Store
from nodeworthy.errors import (
    BusConflictError,
    BusError,
    BusRequestError,
    ImageNotFoundError,
    NodeworthyError,
    PayloadError,
    RegistryBusyError,
    RegistryContentError,
)
from nodeworthy_resolver.cache import MAX_SKEW_SECONDS
from nodeworthy_resolver.records import TurnRecord

TURN_SECONDS = 10
"""A cold look-up takes a tenth of a second to some seconds. The bus counts whole seconds."""
_OVER_SECONDS = 1
"""For which it is said that a turn is over; then its entry goes."""
_FIRST_POLL, _LONGEST_POLL = 0.02, 0.25
"""Seconds between two looks at somebody else's turn."""
_SHARED = (ImageNotFoundError, RegistryBusyError, RegistryContentError)
_SHARED_CODES = frozenset({ErrorCode.NOT_FOUND, ErrorCode.UNAVAILABLE})
"""How the bus calls them."""


class TurnOverError(Exception):
    """Somebody else asked the registry meanwhile: what it said is in the cache, or is ``failure``."""

    def __init__(self, failure: NodeworthyError | None) -> None:
        super().__init__()
        self.failure = failure


class Turn:
    """One question's turn; :meth:`begin` is called before a registry is asked for the first time."""

    def __init__(self, store: Store, question: str, *, failure_seconds: float, clock: Callable[[], float]) -> None:
        self._store = store
        self._question = question
        self._failure_seconds = failure_seconds
        self._clock = clock
        self._key = keys.tag_key(f"turn {question}")
        self._revision: int | None = None
        self._deciding = asyncio.Lock()
        self._is_decided = False
        self._over: TurnOverError | None = None
        self._failure: NodeworthyError | None = None

    async def begin(self) -> None:
        """Take the turn, or wait until whoever has it is done.

        Raises:
            TurnOverError: somebody else had it, and is done; or had it a moment ago, and there was no image.
        """
        async with self._deciding:  # a look-up asks several things at once
            if not self._is_decided:
                with contextlib.suppress(BusError):  # the cache tells of the bus that does not answer
                    self._over = await self._take_or_wait()
                self._is_decided = True
        if self._over is not None:
            raise self._over

    async def end(self) -> None:
        """Let the others go on."""
        if self._revision is None:
            return
        over, seconds = TurnRecord(question=self._question, is_over=True), _OVER_SECONDS
        if isinstance(self._failure, _SHARED) and self._failure_seconds > 0:
            over = msgspec.structs.replace(over, failure=error_reply(self._failure), looked=int(self._clock()))
            seconds = math.ceil(self._failure_seconds)
        with contextlib.suppress(BusError):  # the bus forgets it soon
            await self._put(over, expected=self._revision, seconds=seconds)

    def fail(self, error: NodeworthyError) -> None:
        """Take note of what came in the place of an answer, for those who would ask the same."""
        self._failure = error

    async def _take_or_wait(self) -> TurnOverError | None:
        poll, waited = _FIRST_POLL, 0.0
        while waited < TURN_SECONDS:
            stored = await self._store.get(Bucket.IMAGES, self._key)
            held = None if stored is None or stored.is_removal else self._parse(stored.data)
            if held is None or held.is_over:
                failure = self._recall(held)
                if waited or failure:
                    return TurnOverError(failure)
                with contextlib.suppress(BusConflictError):
                    taken = TurnRecord(question=self._question)
                    expected = stored.revision if stored else 0
                    self._revision = await self._put(taken, expected=expected, seconds=TURN_SECONDS)
                    return None
            await asyncio.sleep(poll)
            waited += poll
            poll = min(poll * 2, _LONGEST_POLL)
        return None

    async def _put(self, record: TurnRecord, *, expected: int, seconds: int) -> int:
        data = payloads.encode(record)
        return await self._store.put(Bucket.IMAGES, self._key, data, expected=expected, seconds_to_live=seconds)

    def _parse(self, data: bytes) -> TurnRecord | None:
        try:
            record = payloads.decode(data, TurnRecord)
        except PayloadError:
            return None  # nobody's turn
        return record if record.question == self._question else None

    def _recall(self, held: TurnRecord | None) -> NodeworthyError | None:
        """What the registry said to another resolver, while that is believed; an entry that none writes says nothing."""
        if held is None or held.failure is None or held.failure.code not in _SHARED_CODES:
            return None
        age = self._clock() - held.looked
        return _error(held.failure) if -MAX_SKEW_SECONDS <= age < self._failure_seconds else None


def _error(reply: ErrorReply) -> NodeworthyError:
    return image_error(BusRequestError(reply.what, code=reply.code, why=reply.why, todo=reply.todo))


@contextlib.asynccontextmanager
async def turn(
    store: Store, question: str, *, failure_seconds: float, clock: Callable[[], float]
) -> AsyncIterator[Turn]:
    """A turn that ends with the context, whatever became of it; see :class:`Turn`.

    Args:
        store: the bus.
        question: the same for all who would ask a registry the same.
        failure_seconds: how long it is believed that a registry gave no image.
        clock: Unix time.
    """
    mine = Turn(store, question, failure_seconds=failure_seconds, clock=clock)
    try:
        yield mine
    except NodeworthyError as error:
        mine.fail(error)
        raise
    finally:
        await mine.end()
