"""A bucket as it is and as it changes: all of it first, a mark that this was all, then every change.

A watch holds no consumer: a key-value consumer goes silent for good when its store is lost (measured), and the right to make
one is the right to speak for everybody (:mod:`nodeworthy.bus.store`). It reads on from the last revision that it saw, as
soon as the server says that something was stored, and every few seconds in case nobody said so. It reads everything again
after a reconnect, when the number of messages or the oldest one is not what it should be, and when what was announced is not
there.

Absence is not evidence: a key that is gone without a removal is told with ``is_lost``; whoever reads keeps what it knew.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import ConnectionState
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Extent, Page, Store, Stored, read_stored
from nodeworthy.errors import BusDeniedError, BusError
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")


@dataclass(frozen=True)
class WatchSettings:
    """The times of a watch, in seconds."""

    poll: float = 5.0
    """How late a change may be whose hint was lost; one small request."""
    check: float = 30.0
    """How late a lost store may be noticed while the connection stands; one request that counts, 4 ms at 100,000 keys."""
    retry_first: float = 0.25
    """After a failed read; it doubles up to :attr:`retry_most`, jittered by a half."""
    retry_most: float = 10.0
    lag: float = 0.02
    """A replica may answer before it has what its leader announced; it is asked again after this, then after twice it."""
    lag_tries: int = 5
    gather: float = 0.0
    """How long a change may wait for others that are then read with it, in one request."""


@dataclass(frozen=True, slots=True)
class Put:
    """A key has this value now."""

    key: str
    data: bytes
    revision: int
    time: float
    """Unix time when the bus stored it: the age of the facts."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A key is gone: because somebody removed it, or, with ``is_lost``, for a reason that nobody told."""

    key: str
    is_lost: bool
    revision: int = 0
    """Of the removal; 0: nobody told of one."""


@dataclass(frozen=True, slots=True)
class Complete:
    """Everything that the bucket holds has been told, at the beginning or again after a loss."""

    is_first: bool


Change = Put | Removed | Complete


@dataclass(frozen=True, slots=True)
class _Known:
    revision: int
    time: float
    is_removed: bool


@dataclass(frozen=True, slots=True)
class _Announced:
    revision: int
    at: float
    """When it was heard of, on the loop's clock."""


class Watch:
    """A watch over a bucket that is republished (``nodes``, ``labels``); iterate :meth:`changes` once."""

    def __init__(
        self, store: Store, bucket: Bucket, *, keys: str = ">", settings: WatchSettings = WatchSettings()
    ) -> None:
        self._store = store
        self._bucket = bucket
        self._keys = keys
        self._settings = settings
        self._prefix = store.names.key_subject(bucket, "")
        self._known: dict[str, _Known] = {}
        self._cursor = 0
        self._announced: dict[str, _Announced] = {}
        """Keys of which the server said that it stored something that has not been read yet."""
        self._wake = asyncio.Event()
        self._check_due = 0.0
        self._is_stale = True
        self._is_complete = False
        self.problem = ""
        """Why the bucket cannot be read now; empty when it can."""

    async def changes(self) -> AsyncGenerator[Change]:
        """Every change, for ever; failures of the bus are waited out.

        Raises:
            BusDeniedError: this user may not read the bucket.
        """
        subject = self._store.names.stored_subject(self._bucket, self._keys)
        connection = self._store.connection
        async with connection.subscribed(subject, self._take_hint):
            with connection.listening(self._hear_connection):
                failures = 0
                while True:
                    try:
                        async for change in self._read():
                            yield change
                    except BusDeniedError:
                        raise
                    except BusError as error:
                        failures += 1
                        self._note_problem(str(error))
                        self._is_stale = True
                        await self._pause(failures)
                    else:
                        failures = 0
                        self._note_problem("")

    def has_told(self, stored: Stored) -> bool:
        """Whether what the bucket holds of a key is what was told of it last."""
        known = self._known.get(stored.subject.removeprefix(self._prefix))
        return known == _Known(stored.revision, stored.time, stored.is_removal)

    async def _read(self) -> AsyncIterator[Change]:
        """What there is to tell now; if all was told, wait for a hint or for the next poll first."""
        if self._is_stale:
            async for change in self._read_all():
                yield change
            return
        if await self._wait() and self._settings.gather:
            await asyncio.sleep(self._settings.gather)
        for tries in range(self._settings.lag_tries):
            async for change in self._read_on():
                yield change
            if not self._announced or self._is_stale:
                break
            await asyncio.sleep(self._settings.lag * 2**tries)
        self._doubt_announced()
        await self._check()

    async def _read_all(self) -> AsyncIterator[Change]:
        self._is_stale = False
        self._cursor = 0
        self._announced.clear()
        seen: set[str] = set()
        async for change in self._read_on(seen):
            yield change
        if self._is_stale:  # the connection was lost while reading: begin again
            return
        for key in [key for key in self._known if key not in seen]:
            was_removed = self._known.pop(key).is_removed
            if not was_removed:
                yield Removed(key, is_lost=True)
        yield Complete(is_first=not self._is_complete)
        self._is_complete = True

    async def _read_on(self, seen: set[str] | None = None) -> AsyncIterator[Change]:
        is_last = False
        while not is_last and not self._is_stale:
            page = await self._read_page()
            is_last = page.is_last
            for stored in page.messages:
                self._cursor = max(self._cursor, stored.revision)
                change = self._learn(stored, seen)
                if change is not None:
                    yield change

    async def _read_page(self) -> Page:
        return await self._store.read_bucket(self._bucket, self._cursor, keys=self._keys)

    def _learn(self, stored: Stored, seen: set[str] | None) -> Change | None:
        key = stored.subject.removeprefix(self._prefix)
        if seen is not None:
            seen.add(key)
        announced = self._announced.get(key)
        if announced is not None and announced.revision <= stored.revision:
            del self._announced[key]
        known = self._known.get(key)
        now = _Known(stored.revision, stored.time, stored.is_removal)
        if known == now:
            return None
        self._known[key] = now
        if not stored.is_removal:
            return Put(key, stored.data, stored.revision, stored.time)
        return Removed(key, is_lost=False, revision=stored.revision)

    def _doubt_announced(self) -> None:
        """What no poll since has found is gone, and with it maybe all that was stored before it."""
        overdue = asyncio.get_running_loop().time() - self._settings.poll
        if any(announced.at < overdue for announced in self._announced.values()):
            self._is_stale = True

    async def _check(self) -> None:
        """Find out, if it is time to, whether the store is another one or lost keys: by its size and its oldest message."""
        now = asyncio.get_running_loop().time()
        if now >= self._check_due:
            self._check_due = now + self._settings.check
            if not self._fits(await self._store.measure(self._bucket, keys=self._keys)):
                self._is_stale = True

    def _fits(self, extent: Extent) -> bool:
        if extent.oldest is None:
            return not self._known
        if extent.oldest.revision > self._cursor:
            return False
        known = self._known.get(extent.oldest.subject.removeprefix(self._prefix))
        is_same = known is not None and (known.revision, known.time) == (extent.oldest.revision, extent.oldest.time)
        # More than is known may be on its way; fewer is a loss.
        return is_same and extent.count >= len(self._known)

    async def _wait(self, seconds: float | None = None) -> bool:
        """Wait for a reason to read, at most until the next poll; whether there was one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.poll if seconds is None else seconds):
                await self._wake.wait()
        is_awake = self._wake.is_set()
        self._wake.clear()
        return is_awake

    async def _pause(self, failures: int) -> None:
        longest = min(self._settings.retry_first * 2 ** min(failures - 1, 16), self._settings.retry_most)
        await self._wait(longest * (0.5 + random.random() / 2))  # noqa: S311 # no secret

    def _note_problem(self, problem: str) -> None:
        if problem != self.problem:  # said once, not at every try
            if problem:
                _LOG.warning("bus.watch_failed", bucket=self._bucket, error=problem)
            else:
                _LOG.info("bus.watch_works", bucket=self._bucket)
        self.problem = problem

    async def _take_hint(self, message: Msg) -> None:
        """The server says that it stored something; that is a reason to look, and nothing more is made of it."""
        try:
            hint = read_stored(message)
        except BusError:  # not of the server; the poll finds what there is
            return
        key = hint.subject.removeprefix(self._prefix)
        known = self._known.get(key)
        if hint.revision > self._cursor:
            self._announced[key] = _Announced(hint.revision, asyncio.get_running_loop().time())
        elif known is None or known.time < hint.time:
            # All up to the cursor was read, and this was not among it: the store is another one.
            self._is_stale = True
        self._wake.set()

    def _hear_connection(self, state: ConnectionState) -> None:
        if state is ConnectionState.RECONNECTED:
            self._is_stale = True
            self._wake.set()
