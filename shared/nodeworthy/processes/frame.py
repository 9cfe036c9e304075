"""A process from its first signal to its last second.

SIGTERM, SIGHUP and the first Ctrl-C ask for a clean stop; a Ctrl-C while stopping kills. The signals are taken by Python's
own handlers, not the loop's, so that both work while a callback blocks the loop.
"""

import asyncio
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import FrameType
from typing import Any

from nodeworthy.processes.events import EventLog
from nodeworthy.processes.services import DEFAULT_LIMITS, Limits, Service, run_services

_LOG = EventLog("processes")

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks for an end: an orchestrator, a person, a terminal that was closed."""
_TELL_SECONDS = 1
"""How long the last line of a process that is stuck may take."""
_NEW_OBJECTS = 10_000
"""After so many Python looks for garbage in circles. After 700, its default, it took a twentieth of a labeler's time for
5,000 nodes, and 0.2 s at once."""
OVERDUE_STATUS = 2
"""The exit status of a process that had to end itself; 2 is "environment" for every verb."""


def run_process(
    services: Sequence[Service],
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Run services as this process: until a signal or a failure, and then within the limits.

    Returns when everything stopped cleanly.

    Raises:
        ServiceFailedError: a service failed.
        ServiceOverdueError: a service did not stop in time.
    """

    def settle() -> None:
        gc.freeze()  # all that was read at the start stays, and is not looked through again and again
        if on_ready is not None:
            on_ready()

    async def main(stop: asyncio.Event) -> None:
        await run_services(services, stop, limits=limits, on_ready=settle)

    run_main(main, seconds=limits.stop + limits.cancel)


def run_main(main: Callable[[asyncio.Event], Coroutine[Any, Any, None]], *, seconds: float) -> None:
    """Run a coroutine as this process; ``seconds`` after it was told to stop the process ends, whatever it does.

    For a process that needs something around its services; others take :func:`run_process`.
    """
    stop, watchdog = asyncio.Event(), Watchdog(seconds)
    with _collecting_rarely(), asyncio.Runner() as runner, stop_on_signals(runner.get_loop(), stop, watchdog):
        try:
            runner.run(_run_watched(main, stop, watchdog))
        finally:
            runner.close()  # waits for threads that services started, and is therefore watched too
            watchdog.disarm()


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


async def _run_watched(
    main: Callable[[asyncio.Event], Coroutine[Any, Any, None]], stop: asyncio.Event, watchdog: "Watchdog"
) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            arming = group.create_task(_arm(stop, watchdog), name="watchdog")
            await main(stop)
            arming.cancel()
    except BaseExceptionGroup as errors:
        # Only main can raise here, and its caller knows nothing of groups.
        raise errors.exceptions[0] from errors.exceptions[0].__cause__
    finally:
        watchdog.arm()


async def _arm(stop: asyncio.Event, watchdog: "Watchdog") -> None:
    await stop.wait()
    watchdog.arm()


class Watchdog:
    """Ends the process some seconds after it was armed, from a thread of its own, which no blocked loop can keep from it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: threading.Timer | None = None

    def arm(self) -> None:
        """Start to count; once is enough."""
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()

    def disarm(self) -> None:
        """Everything ended in time."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        # In a thread of its own: who blocks the process may hold the log's lock, when nobody reads the other end.
        telling = threading.Thread(target=self._tell, daemon=True)
        telling.start()
        telling.join(_TELL_SECONDS)
        os._exit(OVERDUE_STATUS)

    def _tell(self) -> None:
        _LOG.error("process.stop_overdue", seconds=self._seconds, status=OVERDUE_STATUS)


@contextlib.contextmanager
def stop_on_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, watchdog: Watchdog) -> Iterator[None]:
    """Set ``stop`` on the signals; only in the main thread of a process that owns its signals.

    A signal that the parent had ignored (``nohup``) stays ignored. Whoever asked for an end and asks again is ignored to the
    very end, so that the process still exits with the status of a clean stop.
    """
    taken: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if taken and number == signal.SIGINT:
            # Nothing of Python's own may run any more: that is what is stuck.
            os._exit(128 + number)
        taken.append(number)
        watchdog.arm()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is at its end anyway
            loop.call_soon_threadsafe(_note, stop, number)

    # A handler of C code is None, and could not be put back.
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if taken and number != signal.SIGINT else handler)


def _note(stop: asyncio.Event, number: int) -> None:
    if not stop.is_set():
        _LOG.info("process.stopping", signal=signal.Signals(number).name)
    stop.set()
