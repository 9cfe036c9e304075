import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from io import StringIO
from typing import Any

import pytest

from nodeworthy.errors import UsageError
from nodeworthy.processes import (
    Limits,
    LogFormat,
    Service,
    ServiceFailedError,
    ServiceOverdueError,
    configure_logs,
    run_services,
)

Main = Callable[[asyncio.Event, asyncio.Event], Coroutine[Any, Any, None]]
SHORT = Limits(slow_start=0.01, stop=0.05, cancel=0.05)


async def serve(stop: asyncio.Event, ready: asyncio.Event) -> None:
    ready.set()
    await stop.wait()


def failing(error: Exception) -> Main:
    async def main(_stop: asyncio.Event, _ready: asyncio.Event) -> None:
        raise error

    return main


@pytest.fixture
def events() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The log so far."""
    stream = StringIO()
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    configure_logs(form=LogFormat.JSON, stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.captureWarnings(capture=False)
    root.handlers, root.level = before, level


async def test_services_run_until_they_are_told_to_stop() -> None:
    stop, seen = asyncio.Event(), []

    async def main(stop: asyncio.Event, ready: asyncio.Event) -> None:
        seen.append("started")
        ready.set()
        await stop.wait()
        seen.append("stopped")

    await run_services([Service("a", main), Service("b", main)], stop, on_ready=stop.set)
    assert seen == ["started", "started", "stopped", "stopped"]


async def test_readiness_is_told_once_and_only_when_every_service_has_it() -> None:
    stop, go = asyncio.Event(), asyncio.Event()
    told: list[str] = []

    async def late(stop: asyncio.Event, ready: asyncio.Event) -> None:
        await go.wait()
        assert told == []
        ready.set()
        await stop.wait()

    async def quick(stop: asyncio.Event, ready: asyncio.Event) -> None:
        ready.set()
        go.set()
        await stop.wait()

    def tell() -> None:
        told.append("ready")
        stop.set()

    await run_services([Service("late", late), Service("quick", quick)], stop, on_ready=tell)
    assert told == ["ready"]


async def test_a_slow_start_is_named_in_the_log(events: Callable[[], list[dict[str, Any]]]) -> None:
    stop, told = asyncio.Event(), asyncio.Event()

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 # logging's signature
            told.set()

    logging.getLogger().addHandler(Teller())

    async def slow(stop: asyncio.Event, ready: asyncio.Event) -> None:
        await told.wait()
        ready.set()
        await stop.wait()

    await run_services([Service("slow", slow), Service("quick", serve)], stop, limits=SHORT, on_ready=stop.set)
    assert [(line["event"], line["services"]) for line in events()] == [("process.not_ready", ["slow"])]


async def test_one_failure_stops_the_others_and_is_told_with_its_service() -> None:
    stop, seen = asyncio.Event(), []

    async def other(stop: asyncio.Event, _ready: asyncio.Event) -> None:
        await stop.wait()
        seen.append("stopped")

    cause = UsageError("no such rule", why="it is not there", todo="write it")
    with pytest.raises(ServiceFailedError) as caught:
        await run_services([Service("labeler", failing(cause)), Service("other", other)], stop)
    assert caught.value.diagnostics() == ("labeler failed", "no such rule: it is not there", "write it")
    assert caught.value.__cause__ is cause
    assert seen == ["stopped"]


async def test_a_defect_is_told_with_its_kind_and_traced_in_the_log(events: Callable[[], list[dict[str, Any]]]) -> None:
    with pytest.raises(ServiceFailedError, match="detector failed: KeyError: 'x'"):
        await run_services([Service("detector", failing(KeyError("x")))], asyncio.Event())
    (line,) = events()
    assert (line["event"], line["service"], line["level"]) == ("process.service_failed", "detector", "error")
    assert "KeyError" in line["trace"]


async def test_of_two_failures_the_first_is_raised_and_both_are_in_the_log(
    events: Callable[[], list[dict[str, Any]]],
) -> None:
    async def fail_later(stop: asyncio.Event, _ready: asyncio.Event) -> None:
        await stop.wait()
        raise ValueError("second")

    services = [Service("b", fail_later), Service("a", failing(ValueError("first")))]
    with pytest.raises(ServiceFailedError, match="a failed: ValueError: first"):
        await run_services(services, asyncio.Event())
    assert [line["service"] for line in events()] == ["a", "b"]


async def test_a_service_that_returns_by_itself_is_a_failure() -> None:
    async def leave(_stop: asyncio.Event, _ready: asyncio.Event) -> None:
        pass

    with pytest.raises(ServiceFailedError, match="without being told"):
        await run_services([Service("a", leave), Service("b", serve)], asyncio.Event())


async def test_a_service_that_does_not_stop_is_cancelled_and_named() -> None:
    stop, seen = asyncio.Event(), []

    async def deaf(_stop: asyncio.Event, ready: asyncio.Event) -> None:
        ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")

    with pytest.raises(ServiceOverdueError) as caught:
        await run_services([Service("deaf", deaf), Service("b", serve)], stop, limits=SHORT, on_ready=stop.set)
    assert caught.value.services == ("deaf",)
    assert seen == ["cleaned up"]


async def test_cancelling_the_whole_cancels_every_service() -> None:
    seen = []
    ready = asyncio.Event()

    async def main(_stop: asyncio.Event, own: asyncio.Event) -> None:
        own.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")

    running = asyncio.create_task(run_services([Service("a", main)], asyncio.Event(), on_ready=ready.set))
    await ready.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen == ["cleaned up"]


async def test_no_services_at_all_stop_as_well() -> None:
    stop = asyncio.Event()
    await run_services([], stop, on_ready=stop.set)
    assert stop.is_set()
