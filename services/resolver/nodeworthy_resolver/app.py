"""The resolver's wiring: bus, registries, cache, endpoints and probes."""

import asyncio
import contextlib
import importlib.metadata
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from nodeworthy.bus.connection import Connection, connect, reconnect_delay
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import RESOLVER_SERVICE, Endpoint, Names
from nodeworthy.bus.requests import AttachReply, AttachRequest, ResolveReply, ResolveRequest
from nodeworthy.bus.serving import Served, Serving, ServingSettings
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusUnreachableError
from nodeworthy.processes import EventLog
from nodeworthy_resolver.asking import Admission
from nodeworthy_resolver.attaching import Attachments
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.handlers import handle_attach, handle_resolve
from nodeworthy_resolver.lookups import Lookups, Resources
from nodeworthy_resolver.metrics import Metrics
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.probes import serve_probes
from nodeworthy_resolver.settings import Settings

_LOG = EventLog("resolver")


async def run(settings: Settings, stop: asyncio.Event, ready: asyncio.Event) -> None:
    """Run the resolver until ``stop``; ``ready`` is set when it answers.

    Raises:
        UsageError: the cluster's name, the HTTP port, a file or the settings of the bus cannot be used.
        BusDeniedError: the bus refused the user.
        BusUnreachableError: the connection was closed for good.
    """
    Names(settings.cluster)  # a wrong name is told before anything is opened
    metrics = Metrics()
    _LOG.info("resolver.starting", cluster=settings.cluster, allow_attach=settings.allow_attach)
    state = _State()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(
            serve_probes(settings.http_host, settings.http_port, metrics=metrics, why_not_ready=state.why_not_ready)
        )
        client = await stack.enter_async_context(RegistryClient(settings.registries))
        connection = await stack.enter_async_context(_connected(settings.bus, stop))
        if connection is None:
            return
        state.connection = connection
        await _serve(settings, connection, _make_work(settings, connection, client, metrics), metrics, stop, ready)


class _State:
    """Whether the resolver answers, for whoever routes requests to it."""

    connection: Connection | None = None

    def why_not_ready(self) -> str:
        """Empty if it is."""
        return "" if self.connection and self.connection.is_connected else "there is no connection to the bus"


@dataclass(frozen=True)
class _Work:
    """What the resolver answers with."""

    endpoints: tuple[Served[Any], ...]
    flights: tuple[Flights[Any], ...]
    """The jobs that may go on after their askers left."""


def _make_work(settings: Settings, connection: Connection, client: RegistryClient, metrics: Metrics) -> _Work:
    bounds, lifetimes = settings.bounds, settings.lifetimes
    store = Store(connection, Names(settings.cluster))
    cache = ImageCache(store, metrics, value_bytes=bounds.value_bytes, clock=time.time)
    admission = Admission(bounds.lookups_per_registry)
    looking: Flights[ResolveReply] = Flights(most=bounds.lookups, failure_seconds=lifetimes.failure)
    writing: Flights[AttachReply] = Flights(most=bounds.lookups, failure_seconds=0)
    lookups = Lookups(Resources(client, cache, admission, metrics, time.time), looking, settings)
    attachments = Attachments(client, cache, admission, writing, is_allowed=settings.allow_attach)
    resolve = partial(handle_resolve, lookups=lookups, metrics=metrics)
    attach = partial(handle_attach, attachments=attachments, metrics=metrics)
    return _Work(
        endpoints=(
            Served(Endpoint.RESOLVE, ResolveRequest, ResolveReply, resolve),
            Served(Endpoint.ATTACH, AttachRequest, AttachReply, attach),
        ),
        flights=(looking, writing),
    )


async def _serve(
    settings: Settings, connection: Connection, work: _Work, metrics: Metrics, stop: asyncio.Event, ready: asyncio.Event
) -> None:
    version = importlib.metadata.version("nodeworthy")
    bounds = ServingSettings(tasks=settings.bounds.requests)
    serving = Serving(connection, Names(settings.cluster), RESOLVER_SERVICE, version, settings=bounds)
    metrics.watch(replies=lambda: serving.counts, lookups=lambda: sum(map(len, work.flights)))
    # Nothing has to be read first: whatever the cache does not hold, the registries do.
    can_answer = asyncio.Event()
    can_answer.set()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_watch(connection, stop), name="watch the connection")
            for flights in work.flights:
                group.create_task(_close(flights, stop, settings.stop_seconds), name="close lookups")
            announcing = group.create_task(_announce(serving, ready), name="announce")
            await serving.run(work.endpoints, can_answer, stop)
            announcing.cancel()
    except BaseExceptionGroup as errors:
        raise _first(errors) from errors


async def _announce(serving: Serving, ready: asyncio.Event) -> None:
    await serving.answering.wait()
    ready.set()
    _LOG.info("resolver.ready")


async def _watch(connection: Connection, stop: asyncio.Event) -> None:
    """End with ``stop``, or with the connection, which reconnects for ever and is closed only by a fault."""
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(event.wait(), name="watch") for event in (stop, connection.closed)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
    if not stop.is_set():
        raise BusUnreachableError(
            "the bus closed the connection for good", todo="its log says why; then start the resolver again"
        )


async def _close(flights: Flights[Any], stop: asyncio.Event, seconds: float) -> None:
    await stop.wait()
    await flights.close(seconds)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


@contextlib.asynccontextmanager
async def _connected(settings: ConnectionSettings, stop: asyncio.Event) -> AsyncIterator[Connection | None]:
    """A connection, tried for until there is one; ``None`` if ``stop`` came first.

    Raises:
        BusDeniedError: the bus refused the user; trying again would lock it out.
        UsageError: the settings cannot be used.
    """
    async with contextlib.AsyncExitStack() as stack:
        connection = None
        tries = 0
        while connection is None and not stop.is_set():
            try:
                connection = await stack.enter_async_context(connect(settings))
            except BusUnreachableError as error:
                _LOG.warning("resolver.bus_away", error=error)
                await _pause(reconnect_delay(settings, tries, random.random()), stop)  # noqa: S311 # no secret
                tries += 1
        yield connection


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
