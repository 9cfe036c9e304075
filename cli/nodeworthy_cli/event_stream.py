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
    wake, reconnected = asyncio.Event(), asyncio.Event()

    async def hear(_message: Msg) -> None:
        wake.set()

    def listen(state: ConnectionState) -> None:
        if state is not ConnectionState.DISCONNECTED:
            reconnected.set()
            wake.set()

    connection = store.connection
    async with connection.subscribed(subjects, hear):
        with connection.listening(listen):
            cursor = await _last_sequence(store, subjects)
            on_start()
            waits: list[float] = []
            while not connection.closed.is_set():
                try:
                    if reconnected.is_set():
                        reconnected.clear()
                        cursor = await _cursor_now(store, subjects, cursor)
                    async for stored in _read_on(store, subjects, cursor):
                        cursor = stored.revision
                        yield stored
                except BusUnreachableError as error:
                    _LOG.warning("cli.events_unread", error=str(error))
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if waits:
                    await asyncio.sleep(waits.pop(0))
                elif await _wait(wake):
                    waits = [*STORING_SECONDS]
    raise BusError("the bus closed the connection for good")


async def _read_on(store: Store, subjects: str, cursor: int) -> AsyncIterator[Stored]:
    is_last = False
    while not is_last:
        page = await store.read(store.names.events_stream, subjects, cursor)
        is_last = page.is_last
        for stored in page.messages:
            cursor = stored.revision
            yield stored


async def _cursor_now(store: Store, subjects: str, cursor: int) -> int:
    """Where to read on after a reconnect: a stream that ends before the cursor is a new one, and read from its start."""
    return cursor if await _last_sequence(store, subjects) >= cursor else 0


async def _last_sequence(store: Store, subjects: str) -> int:
    query = msgspec.json.encode({"last_by_subj": subjects})
    message = await store.connection.request(f"$JS.API.DIRECT.GET.{store.names.events_stream}", query)
    if (message.headers or {}).get("Status") == "404":
        return 0
    return read_stored(message).revision


async def _wait(wake: asyncio.Event) -> bool:
    """Wait for a hint, but not for ever; whether there was one."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(POLL_SECONDS):
            await wake.wait()
    heard = wake.is_set()
    wake.clear()
    return heard
