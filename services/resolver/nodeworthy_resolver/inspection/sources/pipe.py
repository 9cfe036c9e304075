"""Layers on their way into the thread that reads them: event loop here, thread there, a bounded number of pieces between.

Decompressing and reading archives takes minutes of a processor for the largest images. A thread does it: what is heavy in it
releases the interpreter, and the rest yields to the event loop every few milliseconds.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.sources.opened import Progress

_ROOM = 16
"""Pieces on the way, each of some 100 kB as they come from the network."""
_STEP = 1024 * 1024
"""Bytes after which progress is told again."""

_Result = TypeVar("_Result")


class Watch:
    """Tells how far a thread is, and makes it end."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._progress = progress
        self._total = total
        self._done = self._told = 0
        self._is_stopped = threading.Event()

    def stop(self) -> None:
        """Let the thread end at its next piece."""
        self._is_stopped.set()

    def watched(self, pieces: Iterator[bytes]) -> Generator[bytes, None, None]:
        """The same pieces, in the thread."""
        for piece in pieces:
            self.check()
            self._done += len(piece)
            if self._done - self._told >= _STEP or self._done >= self._total:
                self._told = self._done
                self._loop.call_soon_threadsafe(self._progress, min(self._done, self._total), self._total)
            yield piece

    def check(self) -> None:
        """Raise in a thread that is to end.

        Raises:
            InspectionError: it is.
        """
        if self._is_stopped.is_set():
            raise stopped()


def stopped() -> InspectionError:
    """The error of a thread that was told to end; whoever told it sees it never."""
    return InspectionError("the inspection was stopped")


class Pipe:
    """A sink for the pieces of one layer at a time, and their other end in a thread."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(_ROOM)
        self._pieces: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()
        self._given = self._came = 0

    def start(self) -> None:
        """Another layer comes."""
        self._given = self._came = 0

    def begin(self) -> None:
        """The layer's bytes come from its first one on; those that were given on before are passed over."""
        self._came = 0

    async def take(self, piece: bytes) -> None:
        """Give a piece on as soon as there is room."""
        new = piece[max(self._given - self._came, 0) :]
        self._came += len(piece)
        if new:
            await self._room.acquire()
            self._given += len(new)
            self._pieces.put(new)

    def end(self) -> None:
        """The layer is complete."""
        self._pieces.put(None)

    def fail(self, error: BaseException) -> None:
        """The layer cannot be had: the thread raises that."""
        self._pieces.put(error)

    def stop(self) -> None:
        """Let the thread end, also where it waits for a piece."""
        self._watch.stop()
        self.fail(stopped())

    @contextmanager
    def opened(self) -> Iterator[Iterator[bytes]]:
        """The pieces of the next layer, in the thread."""
        yield self._watch.watched(self._received())

    def _received(self) -> Iterator[bytes]:
        while (piece := self._pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            self._loop.call_soon_threadsafe(self._room.release)
            yield piece


async def run_thread(
    work: Callable[[], _Result], stop: Callable[[], None], discard: Callable[[_Result], None]
) -> _Result:
    """What some work in a thread of its own gives. Cancelled, it waits until the thread ended, which ``stop`` asks for.

    ``discard`` takes back a result that came too late.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="inspection") as threads:
        future = threads.submit(work)
        try:
            await _ended(future)
        except asyncio.CancelledError:
            stop()
            await _ended(future)
            if future.exception() is None:
                discard(future.result())
            raise
        return future.result()


async def _ended(future: Future[_Result]) -> None:
    """Wait for the end of a thread's work, whatever it was."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    await ended.wait()
