"""The detector's wiring: configuration, detection, presence on the bus and pages, in one task group."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from nodeworthy.bus.composing import Identity
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Names, Topic
from nodeworthy.bus.records import Session
from nodeworthy.bus.sessions import read_session
from nodeworthy.processes import EventLog
from nodeworthy_detector.configuration_file import ConfigurationFile
from nodeworthy_detector.detection import Detection
from nodeworthy_detector.handlers import handle_rescan
from nodeworthy_detector.health_server import Pages, serve_pages
from nodeworthy_detector.hostfs import open_root
from nodeworthy_detector.metrics import Metrics
from nodeworthy_detector.pages import make_pages
from nodeworthy_detector.presence import Presence
from nodeworthy_detector.settings import CONFIGURATION, Settings
from nodeworthy_detector.sources import SOURCES, Source
from nodeworthy_detector.sources.kernel_log import KernelLogSource

_LOG = EventLog("detector")


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
        UsageError: a name, the host root, the configuration, the HTTP port or the kernel's boot id cannot be used.
        DocumentError: the configuration is wrong.
        BusDeniedError: the bus refused the user.
        BusSupersededError: a newer detector of this boot publishes this node's facts.
        BusError: the connection was closed for good.
    """
    host = open_root(settings.host_root)
    check_names(settings)
    file = open_configuration(settings)
    await file.load()
    identity = Identity(settings.node, DETECTOR, session or read_session(Path("/")), settings.node_uid)
    metrics = Metrics()
    if settings.kernel_log:
        sources = (*sources, KernelLogSource())
    detection = Detection(settings, host, sources, file, metrics, lambda *found: presence.offer(*found))  # noqa: PLW0108 # made below
    rescan = partial(handle_rescan, agenda=detection.agenda, sources=detection.source_names, metrics=metrics)
    presence = Presence(settings, identity, metrics, ready, rescan)
    _LOG.info("detector.starting", node=settings.node, cluster=settings.cluster, host_root=str(host))
    try:
        async with contextlib.AsyncExitStack() as stack:
            detection.open()
            stack.callback(detection.close)
            pages = make_pages(settings.node, metrics, detection, ready)
            await stack.enter_async_context(_serving(settings, pages))
            group = await stack.enter_async_context(asyncio.TaskGroup())
            tasks = (
                group.create_task(detection.run(), name="observe"),
                group.create_task(detection.follow_configuration(), name="configuration"),
                group.create_task(detection.run_programs(), name="programs"),
                group.create_task(presence.run(), name="presence"),
            )
            await stop.wait()
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        error = first_error(errors)
        raise error from error.__cause__


def open_configuration(settings: Settings) -> ConfigurationFile:
    """The configuration file: the one that was named, which must be there, or the usual one, which need not."""
    named = settings.configuration
    return ConfigurationFile(named or CONFIGURATION, is_required=named is not None)


def check_names(settings: Settings) -> None:
    """Find out before anything runs whether node and cluster have names that the bus can carry.

    Raises:
        UsageError: one has not.
    """
    Names(settings.cluster).node_subject(Topic.HEARTBEAT, settings.node)


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
