"""The resolver's wiring: bus, registries, cache, endpoints and probes."""

import asyncio
import contextlib
import importlib.metadata
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from nodeworthy.bus.connecting import connected, wait_for_end
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import RESOLVER_SERVICE, Endpoint, Names
from nodeworthy.bus.requests import AttachReply, AttachRequest, ResolveReply, ResolveRequest
from nodeworthy.bus.serving import Served, Serving, ServingSettings
from nodeworthy.bus.store import Store
from nodeworthy.errors import first_error
from nodeworthy.kubernetes.client import Client
from nodeworthy.platforms import Platform
from nodeworthy.processes import EventLog
from nodeworthy.requirements import Inspection
from nodeworthy.web import Counted, serve_probes
from nodeworthy_resolver.asking import Admission
from nodeworthy_resolver.attaching import Attachments
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.handlers import handle_attach, handle_resolve
from nodeworthy_resolver.inspection.apart import Job, inspect_apart
from nodeworthy_resolver.inspection.limits import ENGINE
from nodeworthy_resolver.inspections import Inspections, Look
from nodeworthy_resolver.lookups import Lookups, Resources
from nodeworthy_resolver.metrics import CONTENT_TYPE, Metrics
from nodeworthy_resolver.oci import Reference
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.pull_secrets import PullSecrets
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
    access = settings.access
    _LOG.info(
        "resolver.starting",
        cluster=settings.cluster,
        allow_attach=settings.allow_attach,
        allow_private=access.allow_private,
        allowed_hosts=list(access.allowed_hosts),
        hosts_folder=str(access.hosts_folder or ""),
        credentials=[str(path) for path in ((access.config,) if access.config else access.default_configs)],
    )
    state = _State()
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(
            serve_probes(
                settings.http_host,
                settings.http_port,
                service="resolver",
                counted=Counted(metrics.expose, CONTENT_TYPE),
                why_not_ready=state.why_not_ready,
            )
        )
        secrets = await _open_pull_secrets(settings, stack)
        client = await stack.enter_async_context(RegistryClient(access, credentials=secrets))
        metrics.watch_registries(client.traffic)
        connection = await stack.enter_async_context(connected(settings.bus, stop, "resolver"))
        if connection is None:
            return
        state.connection = connection
        work = _make_work(settings, connection, client, _make_look(settings, secrets), metrics)
        await _serve(settings, connection, work, metrics, stop, ready)


async def _open_pull_secrets(settings: Settings, stack: contextlib.AsyncExitStack) -> PullSecrets | None:
    if settings.pull_secrets is None:
        return None
    cluster = await stack.enter_async_context(Client(settings.pull_secrets.access, user_agent="nodeworthy-resolver"))
    return PullSecrets(cluster, settings.pull_secrets.namespaces, time.monotonic)


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


def _make_look(settings: Settings, secrets: PullSecrets | None) -> Look:
    """What looks at an image's files, a few images at once."""
    places = asyncio.Semaphore(settings.inspection.at_once)

    async def look(reference: Reference, claimed: Platform | None) -> Inspection:
        async with places:
            credential = await secrets.find(reference.credentials_key, reference.repository) if secrets else None
            job = Job(reference, settings.access, credential, settings.inspection.folder, claimed)
            return await inspect_apart(job, settings.inspection.seconds)

    return look


def _make_work(
    settings: Settings, connection: Connection, client: RegistryClient, look: Look, metrics: Metrics
) -> _Work:
    bounds, lifetimes = settings.bounds, settings.lifetimes
    store = Store(connection, Names(settings.cluster))
    cache = ImageCache(store, metrics, value_bytes=bounds.value_bytes, clock=time.time)
    admission = Admission(bounds.lookups_per_registry)
    looking: Flights[ResolveReply] = Flights(most=bounds.lookups, failure_seconds=lifetimes.failure)
    writing: Flights[AttachReply] = Flights(most=bounds.lookups, failure_seconds=0)
    lookups = Lookups(Resources(client, cache, store, admission, metrics, time.time), looking, settings)
    attachments = Attachments(client, cache, admission, writing, is_allowed=settings.allow_attach)
    inspecting: Flights[Inspection] = Flights(
        most=settings.inspection.at_once + settings.inspection.waiting, failure_seconds=lifetimes.failure
    )
    inspections = Inspections(
        look, cache, inspecting, settings.inspection, metrics, engine=ENGINE, reply_bytes=bounds.reply_bytes
    )
    resolve = partial(handle_resolve, lookups=lookups, inspections=inspections, metrics=metrics)
    attach = partial(handle_attach, attachments=attachments, metrics=metrics)
    return _Work(
        endpoints=(
            Served(Endpoint.RESOLVE, ResolveRequest, ResolveReply, resolve),
            Served(Endpoint.ATTACH, AttachRequest, AttachReply, attach),
        ),
        flights=(looking, writing, inspecting),
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
            group.create_task(wait_for_end(connection, stop, "resolver"), name="watch the connection")
            for flights in work.flights:
                group.create_task(_close(flights, stop, settings.stop_seconds), name="close lookups")
            announcing = group.create_task(_announce(serving, ready), name="announce")
            await serving.run(work.endpoints, can_answer, stop)
            announcing.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors


async def _announce(serving: Serving, ready: asyncio.Event) -> None:
    await serving.answering.wait()
    ready.set()
    _LOG.info("resolver.ready")


async def _close(flights: Flights[Any], stop: asyncio.Event, seconds: float) -> None:
    await stop.wait()
    await flights.close(seconds)
