"""What a kubelet, a Prometheus and a person may read over HTTP."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from nodeworthy_detector.agenda import Agenda
from nodeworthy_detector.detection import Detection
from nodeworthy_detector.health_server import Answer, Pages
from nodeworthy_detector.metrics import CONTENT_TYPE, Metrics, write_metrics

OVERDUE_SECONDS = 120.0
"""A look that is this late is a fault of this process: every source hanging for its 10 s takes less."""


class SourceStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One source on the page /status."""

    state: str
    """``ok``, ``failing`` or ``disabled``."""
    error: str = ""
    faults: tuple[str, ...] = ()
    polled: str = ""
    """Why it is looked at every few seconds."""
    interval: float = 0.0
    """Seconds between two looks, if nothing changes."""
    last: float = 0.0
    """Unix time of the end of the last look; 0: there was none."""
    duration: float = 0.0
    """Seconds that it took."""
    facts: int = 0


class Status(msgspec.Struct, frozen=True):
    """The page /status."""

    node: str
    connected: bool
    sources: Mapping[str, SourceStatus]


def make_pages(node: str, metrics: Metrics, detection: Detection, ready: asyncio.Event) -> Pages:
    """The pages of a detector. A bus that is away makes it not ready, and never unhealthy."""
    return {
        "/healthz": lambda: _tell_health(detection.agenda),
        "/readyz": lambda: _tell_readiness(metrics, ready),
        "/metrics": lambda: Answer(HTTPStatus.OK, write_metrics(metrics), CONTENT_TYPE),
        "/status": lambda: _tell_status(node, metrics, detection),
    }


def _tell_health(agenda: Agenda) -> Answer:
    late = asyncio.get_running_loop().time() - agenda.due
    if late > OVERDUE_SECONDS:
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the machine should have been looked at {late:.0f} s ago\n")
    return Answer(HTTPStatus.OK, "ok\n")


def _tell_readiness(metrics: Metrics, ready: asyncio.Event) -> Answer:
    if not ready.is_set():
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "the bus has acknowledged no snapshot yet\n")
    if not metrics.connected:
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "the bus is away\n")
    return Answer(HTTPStatus.OK, "ok\n")


def _tell_status(node: str, metrics: Metrics, detection: Detection) -> Answer:
    sources = {name: _status(name, detection) for name in sorted(detection.health)}
    body = msgspec.json.encode(Status(node, bool(metrics.connected), sources))
    return Answer(HTTPStatus.OK, body.decode() + "\n", "application/json")


def _status(name: str, detection: Detection) -> SourceStatus:
    health, look = detection.health[name], detection.scanner.looks.get(name)
    return SourceStatus(
        state="disabled" if health.disabled else "failing" if health.error else "ok",
        error=health.error,
        faults=health.faults,
        polled=health.polled,
        interval=detection.agenda.intervals.get(name, 0.0),
        last=look.time if look else 0.0,
        duration=look.seconds if look else 0.0,
        facts=look.facts if look else 0,
    )
