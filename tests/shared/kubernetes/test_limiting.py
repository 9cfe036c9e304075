"""The limiter on a clock of the test's own."""

import asyncio
import contextlib

from nodeworthy.kubernetes.limiting import Limiter


class Clock:
    """Time goes on while somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 0.0

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def make(clock: Clock, *, rate: float = 10, burst: int = 3, parallel: int = 100) -> Limiter:
    return Limiter(rate, burst, parallel, clock=clock.read, sleep=clock.sleep)


async def begin(limiter: Limiter, clock: Clock, count: int) -> list[float]:
    """When each of some requests began."""
    begun = []
    for _ in range(count):
        async with limiter.turn():
            begun.append(round(clock.now, 6))
    return begun


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    clock = Clock()
    assert await begin(make(clock), clock, 6) == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_a_rest_saves_one_burst_and_not_more() -> None:
    clock = Clock()
    limiter = make(clock)
    await begin(limiter, clock, 3)
    clock.now = 1000
    assert await begin(limiter, clock, 5) == [1000, 1000, 1000, 1000.1, 1000.2]


async def test_nobody_begins_while_the_server_wants_to_be_left_alone() -> None:
    clock = Clock()
    limiter = make(clock)
    limiter.pause(5)
    limiter.pause(2)
    assert await begin(limiter, clock, 2) == [5, 5]


async def test_so_many_are_under_way_at_a_time() -> None:
    limiter = make(Clock(), parallel=2)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(limiter.turn())
        third = asyncio.ensure_future(begin(limiter, Clock(), 1))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not third.done()
    assert await third == [0]
