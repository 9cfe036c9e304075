"""The detector's wiring: sources, agenda, presence on the bus and pages, in one task group."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Names, Topic
from nodeworthy.bus.records import Session
from nodeworthy.bus.sessions import read_session
from nodeworthy.features import Snapshot
from nodeworthy.processes import EventLog
from nodeworthy_detector.agenda import Agenda
from nodeworthy_detector.folder_watch import FolderWatch, WatchedSource
from nodeworthy_detector.handlers import handle_rescan
from nodeworthy_detector.health_server import Answer, Pages, serve_pages
from nodeworthy_detector.hostfs import open_root
from nodeworthy_detector.metrics import CONTENT_TYPE, Metrics, write_metrics
from nodeworthy_detector.presence import Presence
from nodeworthy_detector.scanning import Scanner
from nodeworthy_detector.settings import Settings
from nodeworthy_detector.sources import SOURCES, LocalSource, Source, SystemSource

_LOG = EventLog("detector")

OVERDUE_SECONDS = 120.0
"""A look that is this late is a fault of this process: every source hanging for its 10 s takes less."""


async def run(
    settings: Settings,
    stop: asyncio.Event,
    ready: asyncio.Event,
    *,
    session: Session | None = None,
    sources: Sequence[Source] = SOURCES,
) -> None:
    """Run the detector until ``stop``; ``ready`` is set when the bus has acknowledged the first snapshot.

    ``session`` is this run's of this boot, unless it is given; of ``sources`` those that have settings are made anew.

    Raises:
        UsageError: a name, the host root, the HTTP port or the kernel's boot id cannot be used.
        BusDeniedError: the bus refused the user.
        BusSupersededError: a newer detector of this boot publishes this node's facts.
        BusError: the connection was closed for good.
    """
    host = open_root(settings.host_root)
    check_names(settings)
    identity = Identity(settings.node, DETECTOR, session or read_session(Path("/")), settings.node_uid)
    metrics = Metrics()
    agenda = Agenda(settings.pace, asyncio.get_running_loop().time)
    watch = FolderWatch(host, settings.features_d, partial(note_change, agenda, metrics))
    own_sources = make_sources(settings, watch, sources)
    scanner = Scanner(host, own_sources, seconds=settings.pace.source, on_return=agenda.note_change)
    rescan = partial(handle_rescan, agenda=agenda, sources=scanner.names, metrics=metrics)
    presence = Presence(settings, identity, metrics, ready, rescan)
    _LOG.info("detector.starting", node=settings.node, cluster=settings.cluster, host_root=str(host))
    try:
        async with contextlib.AsyncExitStack() as stack:
            watch.open()
            stack.callback(watch.close)
            await stack.enter_async_context(_serving(settings, make_pages(metrics, agenda, ready)))
            group = await stack.enter_async_context(asyncio.TaskGroup())
            tasks = (
                group.create_task(observe(agenda, scanner, watch, presence, metrics), name="observe"),
                group.create_task(presence.run(), name="presence"),
            )
            await stop.wait()
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        error = first_error(errors)
        raise error from error.__cause__


def check_names(settings: Settings) -> None:
    """Find out before anything runs whether node and cluster have names that the bus can carry.

    Raises:
        UsageError: one has not.
    """
    Names(settings.cluster).node_subject(Topic.HEARTBEAT, settings.node)


async def observe(agenda: Agenda, scanner: Scanner, watch: FolderWatch, presence: Presence, metrics: Metrics) -> None:
    """Look whenever it is time, and offer what was found if it is new or somebody waits for it; until cancelled."""
    last: Snapshot | None = None
    while True:
        wanted = await agenda.take()
        snapshot = await scanner.scan(wanted.sources)
        agenda.postpone(scanner.cpu_seconds)
        metrics.features_d_watched = int(watch.is_watching)
        note_pass(metrics, snapshot, scanner.cpu_seconds)
        if snapshot != last or wanted.rescans:
            last = snapshot
            presence.offer(snapshot, wanted.rescans)


def note_change(agenda: Agenda, metrics: Metrics) -> None:
    """A file of features.d changed."""
    metrics.features_d_changes_total += 1
    agenda.note_change("local")


def note_pass(metrics: Metrics, snapshot: Snapshot, cpu_seconds: float) -> None:
    """Count a look; a source that fails, or fails no more, is logged once."""
    metrics.passes_total += 1
    metrics.pass_cpu_seconds = cpu_seconds
    metrics.pass_time_seconds = time.time()
    for name, health in snapshot.sources.items():
        if bool(health.error) != bool(metrics.source_failed.get(name)):
            _LOG.warning(
                "detector.source_failed" if health.error else "detector.source_works", source=name, error=health.error
            )
    metrics.source_failed = {name: int(bool(health.error)) for name, health in snapshot.sources.items()}
    metrics.source_faults = {name: len(health.faults) for name, health in snapshot.sources.items()}


def make_sources(settings: Settings, watch: FolderWatch, sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources, those that can be set as the settings have them."""
    own: dict[str, Source] = {
        "local": WatchedSource(LocalSource(folder=settings.features_d), watch),
        "system": SystemSource(node_name=settings.node),
    }
    return tuple(own.get(source.name, source) for source in sources)


def make_pages(metrics: Metrics, agenda: Agenda, ready: asyncio.Event) -> Pages:
    """What a kubelet and a Prometheus may read. A bus that is away makes a detector not ready, and never unhealthy."""
    clock = asyncio.get_running_loop().time

    def healthz() -> Answer:
        late = clock() - agenda.due
        if late > OVERDUE_SECONDS:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the machine should have been looked at {late:.0f} s ago\n")
        return Answer(HTTPStatus.OK, "ok\n")

    def readyz() -> Answer:
        if not ready.is_set():
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "the bus has acknowledged no snapshot yet\n")
        if not metrics.connected:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "the bus is away\n")
        return Answer(HTTPStatus.OK, "ok\n")

    return {
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": lambda: Answer(HTTPStatus.OK, write_metrics(metrics), CONTENT_TYPE),
    }


@contextlib.asynccontextmanager
async def _serving(settings: Settings, pages: Pages) -> AsyncIterator[None]:
    if settings.http_port is None:
        yield
        return
    async with serve_pages(pages, settings.http_host, settings.http_port) as port:
        _LOG.info("detector.http_listening", host=settings.http_host, port=port)
        yield


def first_error(error: BaseException) -> BaseException:
    """The first error inside nested groups: whoever runs a service knows nothing of its tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
