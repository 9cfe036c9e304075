"""Events as they come: read from their stream, so that a lost hint or connection loses none."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection

import msgspec

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import ConnectionState
from nodeworthy.bus.names import Topic, encode_token
from nodeworthy.bus.store import Store, Stored, read_stored
from nodeworthy.errors import BusError, BusUnreachableError
from nodeworthy.processes import EventLog

_LOG = EventLog("cli")

POLL_SECONDS = 5.0
"""How late an event may be whose hint was lost."""
RETRY_SECONDS = 1.0
"""Until a failed read is tried again."""
STORING_SECONDS = (0.01, 0.03, 0.1, 0.3, 0.6)
"""When to read after a hint: the server passes an event on before it has stored it, and one hint may stand for several."""


def event_subjects(store: Store, nodes: Collection[str], set_name: str) -> str:
    """The subject that matches the events of one node or of all, and of one set or of all.

    Raises:
        UsageError: a name is none.
    """
    node = encode_token(next(iter(nodes))) if len(nodes) == 1 else "*"
    return f"{store.names.prefix}.{Topic.EVENTS}.{node}.{encode_token(set_name) if set_name else '*'}"


async def follow_events(
    store: Store, subjects: str, *, on_start: Callable[[], None] = lambda: None
) -> AsyncIterator[Stored]:
    """Every event that is stored from now on; ``on_start`` is called when "now" has come.

    Raises:
        BusNobodyError: there is no stream of events.
        BusDeniedError: this user may not read it.
        BusError: the connection was closed for good.
    """
    wake = asyncio.Event()
    reader = _Reader(store, subjects)

    async def hear(_message: Msg) -> None:
        wake.set()

    def listen(state: ConnectionState) -> None:
        reader.is_doubtful = True
        if state is not ConnectionState.DISCONNECTED:
            wake.set()

    connection = store.connection
    async with connection.subscribed(subjects, hear):
        with connection.listening(listen):
            await reader.start()
            on_start()
            waits: list[float] = []
            while not connection.closed.is_set():
                try:
                    async for stored in reader.read_on():
                        yield stored
                except BusUnreachableError as error:
                    _LOG.warning("cli.events_unread", error=str(error))
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if waits:
                    await asyncio.sleep(waits.pop(0))
                elif await _wait(wake):
                    waits = [*STORING_SECONDS]
                else:
                    reader.is_doubtful = True
    raise BusError("the bus closed the connection for good")


class _Reader:
    """Reads a stream on from the message that was read last, and one that was made anew from its start."""

    def __init__(self, store: Store, subjects: str) -> None:
        self._store = store
        self._subjects = subjects
        self._last: Stored | None = None
        self.is_doubtful = False
        """Whether another stream may be in place of the one that was read."""

    async def start(self) -> None:
        """Begin after what there is now."""
        self._last = await self._get({"last_by_subj": self._subjects})

    async def read_on(self) -> AsyncIterator[Stored]:
        """What came since; ends early where a reconnect puts it in doubt."""
        if self.is_doubtful:
            await self._check()
        is_last = False
        while not is_last:
            cursor = self._last.revision if self._last else 0
            page = await self._store.read(self._store.names.events_stream, self._subjects, cursor)
            is_last = page.is_last
            for stored in page.messages:
                if self.is_doubtful:
                    return  # asked before a reconnect and answered after it, maybe by another stream
                self._last = stored
                yield stored

    async def _check(self) -> None:
        self.is_doubtful = False
        try:
            if self._last is not None and not await self._is_held(self._last):
                self._last = None
        except BusUnreachableError:
            self.is_doubtful = True
            raise

    async def _is_held(self, last: Stored) -> bool:
        """Whether this is still the stream that ``last`` was read from: one made anew counts from 1 again."""
        found = await self._get({"seq": last.revision})
        if found is not None:
            return found.time == last.time
        # Too old to be kept, or never there: a stream that ends before it is another one.
        newest = await self._get({"last_by_subj": self._subjects})
        return newest is not None and newest.revision > last.revision

    async def _get(self, query: dict[str, str | int]) -> Stored | None:
        subject = f"$JS.API.DIRECT.GET.{self._store.names.events_stream}"
        message = await self._store.connection.request(subject, msgspec.json.encode(query))
        return None if (message.headers or {}).get("Status") == "404" else read_stored(message)


async def _wait(wake: asyncio.Event) -> bool:
    """Wait for a hint, but not for ever; whether there was one."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            await wake.wait()
    heard = wake.is_set()
    wake.clear()
    return heard
