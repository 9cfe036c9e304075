"""Services that run side by side in one process until they are told to stop, or one of them fails."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from nodeworthy.errors import NodeworthyError
from nodeworthy.processes.events import EventLog

_LOG = EventLog("processes")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a process may take for what it does around its work, in seconds."""

    slow_start: float = 10
    """After this a line in the log names the services that are not ready; nothing else happens."""
    stop: float = 10
    """From ``stop`` to the end of every service, else they are cancelled. Kubernetes kills a pod after 30 s by default, and
    what stands around this process needs a part of that."""
    cancel: float = 3
    """From the cancellation to the end of the process, else it exits as it is."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Service:
    """One service of a process: its name, and its main bound to its settings."""

    name: str
    main: Callable[[asyncio.Event, asyncio.Event], Coroutine[Any, Any, None]]
    """Takes ``stop``, set by the frame, and ``ready``, set by the service."""


class ServiceFailedError(NodeworthyError):
    """A service of this process failed, or ended without being told to; the others were stopped."""

    def __init__(self, service: str, cause: BaseException | None) -> None:
        self.service = service
        todo = ""
        if isinstance(cause, NodeworthyError):
            why, todo = str(cause), cause.todo
        elif cause:
            why = f"{type(cause).__name__}: {cause}"
        else:
            why = "it returned without being told to stop"
        super().__init__(f"{service} failed", why=why, todo=todo)
        self.__cause__ = cause


class ServiceOverdueError(NodeworthyError):
    """Services did not end in time when they were told to, and were cancelled."""

    def __init__(self, services: Sequence[str], seconds: float) -> None:
        self.services = tuple(services)
        super().__init__(f"{', '.join(services)} did not stop within {seconds:g} s", why="it was cancelled")


async def run_services(
    services: Sequence[Service],
    stop: asyncio.Event,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_ready: Callable[[], None] | None = None,
) -> None:
    """Run the services until ``stop`` is set, then wait for all of them; ``stop`` is also set when one of them ends.

    The services stop at the same time: they depend on the bus and not on each other. ``on_ready`` is called once, when every
    service has said that it is ready. A service that swallows its cancellation keeps this from returning; the process's
    watchdog ends that.

    Raises:
        ServiceFailedError: a service raised, or returned early; the first one, the others are in the log.
        ServiceOverdueError: a service had to be cancelled.
    """
    failures: list[NodeworthyError] = []
    ready = {service.name: asyncio.Event() for service in services}
    async with asyncio.TaskGroup() as group:
        tasks = {
            group.create_task(_run_one(service, stop, ready[service.name], failures), name=service.name)
            for service in services
        }
        announcing = group.create_task(_announce(ready, limits.slow_start, on_ready), name="ready")
        await stop.wait()
        announcing.cancel()
        await _wait_for_end(tasks, limits.stop, failures)
    if failures:
        raise failures[0]


async def _run_one(
    service: Service, stop: asyncio.Event, ready: asyncio.Event, failures: list[NodeworthyError]
) -> None:
    """Run one service; its failure is noted, not raised, so that the others may end in peace."""
    try:
        await service.main(stop, ready)
    except Exception as error:  # noqa: BLE001 # the boundary of a service: whatever it is, the others stop cleanly
        failures.append(ServiceFailedError(service.name, error))
        is_ours = isinstance(error, NodeworthyError)
        _LOG.error("process.service_failed", service=service.name, error=error, exception=None if is_ours else error)
    else:
        if not stop.is_set():
            failures.append(ServiceFailedError(service.name, None))
            _LOG.error("process.service_ended", service=service.name)
    finally:
        stop.set()


async def _announce(ready: dict[str, asyncio.Event], slow_start: float, on_ready: Callable[[], None] | None) -> None:
    try:
        async with asyncio.timeout(slow_start):
            await _wait_for_all(ready)
    except TimeoutError:
        _LOG.warning("process.not_ready", services=[name for name, event in ready.items() if not event.is_set()])
        await _wait_for_all(ready)
    if on_ready:
        on_ready()


async def _wait_for_all(ready: dict[str, asyncio.Event]) -> None:
    for event in ready.values():
        await event.wait()


async def _wait_for_end(tasks: set[asyncio.Task[None]], seconds: float, failures: list[NodeworthyError]) -> None:
    _, late = await asyncio.wait(tasks, timeout=seconds) if tasks else (set(), set())
    if not late:
        return
    names = sorted(task.get_name() for task in late)
    _LOG.error("process.services_overdue", services=names, seconds=seconds)
    failures.append(ServiceOverdueError(names, seconds))
    for task in late:
        task.cancel()
