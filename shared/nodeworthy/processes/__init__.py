"""The frame that every service's process stands in: signals, readiness, a bounded shutdown, logs.

A service is one coroutine function with this signature, bound to its settings when it is listed::

    async def run(settings: Settings, stop: asyncio.Event, ready: asyncio.Event) -> None

It sets ``ready`` when it can answer (and may clear it while it cannot), works until ``stop`` is set, then cleans up and
returns; :class:`Service` names it and :func:`run_services` runs one or several of them. Belongs here: what a process needs
whatever it does. Does not belong here: the bus, HTTP, metrics, and any import outside the standard library: the detector
stands in this frame too.
"""

from nodeworthy.processes.events import EventLog
from nodeworthy.processes.frame import run_main, run_process
from nodeworthy.processes.logs import LogFormat, configure_logs
from nodeworthy.processes.services import (
    DEFAULT_LIMITS,
    Limits,
    Service,
    ServiceFailedError,
    ServiceOverdueError,
    run_services,
)
from nodeworthy.processes.variables import read_number, read_port, read_seconds

__all__ = [
    "DEFAULT_LIMITS",
    "EventLog",
    "Limits",
    "LogFormat",
    "Service",
    "ServiceFailedError",
    "ServiceOverdueError",
    "configure_logs",
    "read_number",
    "read_port",
    "read_seconds",
    "run_main",
    "run_process",
    "run_services",
]
