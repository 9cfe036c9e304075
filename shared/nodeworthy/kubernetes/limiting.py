"""How many requests are sent, and how fast."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable


class Limiter:
    """At most so many requests at a time, and so many in a second after a burst (a token bucket).

    Args:
        rate: Requests in a second, over a longer time.
        burst: Requests that are let through at once after a rest.
        parallel: Requests that are under way at a time.
        clock: Seconds, monotonic.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        parallel: int,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._step = 1 / rate
        self._saved = (burst - 1) * self._step
        self._clock = clock
        self._sleep = sleep
        self._places = asyncio.Semaphore(parallel)
        self._due = float("-inf")
        self._paused_until = float("-inf")

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The time in which one request may be under way."""
        async with self._places:
            await self._wait()
            yield

    def pause(self, seconds: float) -> None:
        """Let nobody begin for so long: the server asked for it."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    async def _wait(self) -> None:
        now = self._clock()
        self._due = max(self._due, now - self._saved)
        wait = self._due - now
        self._due += self._step
        if wait > 0:
            await self._sleep(wait)
        while (pause := self._paused_until - self._clock()) > 0:
            await self._sleep(pause)
