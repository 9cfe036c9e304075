"""What can be set about the detector; the only module of it that reads the environment."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.publishing import PublicationSettings
from nodeworthy.bus.snapshots import PublishingSettings
from nodeworthy.errors import UsageError
from nodeworthy_detector.sources.local import FOLDER

MAX_PORT = 65_535


@dataclass(frozen=True)
class Pace:
    """When the machine is looked at; all times in seconds."""

    seconds: float = 120.0
    """Between two looks at everything: a change of which nothing tells is on the bus two minutes later at most. A look costs
    5 ms of processor time, waiting 2 ms a minute, and a detector at rest may take 5 ms a minute."""
    jitter: float = 0.1
    """The part of ``seconds`` by which it varies, so that nodes that started together do not work together."""
    share: float = 0.001
    """The part of one processor that looking may take: on a machine with thousands of devices it looks less often."""
    quiet: float = 0.1
    """How long files must be left alone before they are read, since writers come in bursts."""
    longest: float = 0.5
    """How long a burst may put reading off; an event is to be on the bus within a second."""
    burst: int = 10
    """Looks at once because of changed files, and because of requests, before each has to wait for the next turn."""
    burst_seconds: float = 6.0
    """Until there is one more such look: ten a minute for somebody who writes or asks without end."""
    source: float = 10.0
    """How long one source may take. The slowest needs 2 ms on an idle machine; a mount whose server is gone, for ever."""


@dataclass(frozen=True)
class Settings:
    """One detector."""

    node: str
    """The node's name: the token in every subject and key. In a cluster the Node's name, else the host's."""
    cluster: str = "local"
    """The cluster's name on the bus."""
    node_uid: str = ""
    """The Node object's uid, if whoever starts the detector knows it; it tells a node from an earlier one of that name."""
    host_root: Path = Path("/")
    """The folder that holds the machine's proc, sys, etc and usr; in a container where they are mounted."""
    features_d: str = FOLDER
    """The folder of files that administrators write, as the host sees it."""
    bus: ConnectionSettings = field(default_factory=ConnectionSettings)
    pace: Pace = field(default_factory=Pace)
    publishing: PublishingSettings = field(default_factory=PublishingSettings)
    publication: PublicationSettings = field(default_factory=PublicationSettings)
    http_port: int | None = None
    """Where /healthz, /readyz and /metrics are; 0 takes a free port, ``None`` serves none: on one machine nobody asks."""
    http_host: str = "127.0.0.1"
    """In a pod 0.0.0.0, since the kubelet asks from outside; nothing there is secret, and nobody else needs it."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of a process that was started with these variables.

    ``NODE_NAME`` and ``NODE_UID`` are what a pod gets from the downward API; the others are the command line's options, in
    capitals behind ``NODEWORTHY_``. An empty variable is one that is not set.

    Raises:
        UsageError: a variable does not have a value that it may have.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings(node=given.get("NODE_NAME") or socket.gethostname(), node_uid=given.get("NODE_UID", ""))
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        host_root=Path(given.get("NODEWORTHY_HOST_ROOT", settings.host_root)),
        features_d=given.get("NODEWORTHY_FEATURES_D", settings.features_d),
        pace=replace(settings.pace, seconds=_seconds(given, "NODEWORTHY_SCAN_SECONDS", settings.pace.seconds)),
        http_port=_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )


MIN_SCAN_SECONDS = 1.0
MAX_SCAN_SECONDS = 3600.0
"""Facts are put on the bus anew every ten minutes; an hour later they are a guess."""


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    if name not in given:
        return default
    try:
        value = float(given[name])
    except ValueError:
        value = float("nan")
    if not MIN_SCAN_SECONDS <= value <= MAX_SCAN_SECONDS:
        raise UsageError(
            f"{name}={given[name][:60]!r} cannot be used",
            why=f"it is a number of seconds from {MIN_SCAN_SECONDS:g} to {MAX_SCAN_SECONDS:g}",
        )
    return value


def _port(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    text = given[name]
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_PORT):
        raise UsageError(f"{name}={text[:60]!r} cannot be used", why=f"it is a port from 0 to {MAX_PORT:,}")
    return int(text)
