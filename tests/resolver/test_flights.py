import asyncio
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import BusBusyError, RegistryUnreachableError
from nodeworthy_resolver.flights import Flights

if TYPE_CHECKING:
    from tests.resolver.conftest import Clock


class Work:
    """A job that ends when the test says so, and counts how often it was begun."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = asyncio.Event()
        self.end = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self) -> str:
        self.count += 1
        self.begun.set()
        await self.end.wait()
        if self.failure:
            raise self.failure
        return "landed"


@pytest.fixture
async def work() -> Work:
    return Work()


@pytest.fixture
async def flights(clock: "Clock") -> Flights[str]:
    return Flights(most=2, failure_seconds=5, clock=clock)


async def test_callers_with_one_question_share_one_job(flights: Flights[str], work: Work) -> None:
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(flights.join("image", work, name="job")) for _ in range(10)]
        await work.begun.wait()
        work.end.set()
    assert {caller.result() for caller in callers} == {"landed"}
    assert work.count == 1
    assert len(flights) == 0


async def test_a_caller_who_leaves_ends_nothing(flights: Flights[str], work: Work) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await flights.join("image", work, name="job")
    async with asyncio.TaskGroup() as group:
        later = group.create_task(flights.join("image", work, name="job"))
        await asyncio.sleep(0)
        work.end.set()
    assert later.result() == "landed"
    assert work.count == 1


async def test_a_failure_is_remembered_for_a_moment(flights: Flights[str], work: Work, clock: "Clock") -> None:
    work.failure = RegistryUnreachableError("down")
    work.end.set()
    for _ in range(3):
        with pytest.raises(RegistryUnreachableError, match="down"):
            await flights.join("image", work, name="job")
    assert work.count == 1
    clock.now += 6
    work.failure = None
    assert await flights.join("image", work, name="job") == "landed"


async def test_that_there_was_no_place_is_not_remembered(flights: Flights[str], work: Work) -> None:
    work.failure = BusBusyError("full")
    work.end.set()
    with pytest.raises(BusBusyError, match="full"):
        await flights.join("image", work, name="job")
    work.failure = None
    assert await flights.join("image", work, name="job") == "landed"


async def test_a_failure_of_one_question_is_none_of_another(flights: Flights[str], work: Work) -> None:
    work.failure = RegistryUnreachableError("down")
    work.end.set()
    with pytest.raises(RegistryUnreachableError):
        await flights.join("image", work, name="job")
    work.failure = None
    assert await flights.join("other", work, name="job") == "landed"


async def test_the_number_of_jobs_is_bounded(flights: Flights[str], work: Work) -> None:
    async with asyncio.TaskGroup() as group:
        for name in ("one", "two"):
            group.create_task(flights.join(name, work, name=name))
        await work.begun.wait()
        with pytest.raises(BusBusyError, match="2 lookups"):
            await flights.join("three", work, name="three")
        work.end.set()


async def test_a_mistake_in_a_job_reaches_its_callers_and_the_log(
    flights: Flights[str], work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    work.failure = ZeroDivisionError()
    work.end.set()
    with pytest.raises(ZeroDivisionError):
        await flights.join("image", work, name="job")
    assert "resolver.job_failed" in caplog.text


async def test_closing_waits_for_jobs(flights: Flights[str], work: Work) -> None:
    async with asyncio.TaskGroup() as group:
        caller = group.create_task(flights.join("image", work, name="job"))
        await work.begun.wait()
        closing = group.create_task(flights.close(10))
        await asyncio.sleep(0)
        work.end.set()
        await closing
    assert caller.result() == "landed"


async def test_closing_breaks_off_what_takes_too_long_and_tells_the_callers_to_ask_again(
    flights: Flights[str], work: Work
) -> None:
    caller = asyncio.ensure_future(flights.join("image", work, name="job"))
    await work.begun.wait()
    await flights.close(0.001)
    with pytest.raises(BusBusyError, match="stops"):
        await caller


async def test_a_caller_that_is_cancelled_sees_a_cancellation(flights: Flights[str], work: Work) -> None:
    caller = asyncio.ensure_future(flights.join("image", work, name="job"))
    await work.begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    work.end.set()
    await flights.close(10)


async def test_nothing_is_begun_after_closing(flights: Flights[str], work: Work) -> None:
    await flights.close(10)
    with pytest.raises(BusBusyError, match="stops"):
        await flights.join("image", work, name="job")
    assert work.count == 0
