"""What can be set about the detector; the only module of it that reads the environment."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.publishing import PublicationSettings
from nodeworthy.bus.snapshots import PublishingSettings
from nodeworthy.errors import UsageError
from nodeworthy.processes import read_port, read_seconds

CONFIGURATION = Path("/etc/nodeworthy/detector.yaml")
"""Where a configuration is looked for. NFD's own nfd-worker.conf is not: its sleepInterval would mean nothing here."""


@dataclass(frozen=True)
class Pace:
    """When the machine is looked at; all times in seconds."""

    seconds: float = 600.0
    """Between two looks at a source whose changes are told, or are rare: as often as facts are put on the bus anew."""
    poll: float = 10.0
    """Between two looks at devices, and at folders, where nothing tells of their changes. It costs some 30 ms a minute."""
    jitter: float = 0.1
    """The part by which times vary, so that nodes that started together do not work together."""
    share: float = 0.001
    """The part of one processor that looking on a timer may take for each source: on a machine with thousands of devices it
    looks less often."""
    busy_share: float = 0.05
    """The part of one processor that looking because of changes may take for each source."""
    quiet: float = 0.1
    """How long a source must be left alone before it is read, since changes come in bursts."""
    longest: float = 0.5
    """How long a burst may put reading off; an event is to be on the bus within a second."""
    burst: int = 10
    """Looks at one source at once because of changes, and because of requests, before each has to wait for the next turn."""
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
    features_d: str = ""
    """The folder of files that administrators write, as the host sees it; empty: as the configuration says."""
    configuration: Path | None = None
    """The configuration file; ``None``: :data:`CONFIGURATION`, which need not be there."""
    kernel_log: bool = False
    """Whether known lines of the kernel log are facts too: set ``kernellog.event``, whose changes are events."""
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

    ``NODE_NAME`` is what a pod gets from the downward API, ``NODE_UID`` what whoever starts the detector may know; the
    others are the command line's options, in capitals behind ``NODEWORTHY_``. An empty variable is one that is not set.

    Raises:
        UsageError: a variable does not have a value that it may have.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings(node=given.get("NODE_NAME") or socket.gethostname(), node_uid=given.get("NODE_UID", ""))
    seconds = read_seconds(
        given, "NODEWORTHY_SCAN_SECONDS", settings.pace.seconds, least=MIN_SCAN_SECONDS, most=MAX_SCAN_SECONDS
    )
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        host_root=Path(given.get("NODEWORTHY_HOST_ROOT", settings.host_root)),
        features_d=given.get("NODEWORTHY_FEATURES_D", settings.features_d),
        configuration=Path(given["NODEWORTHY_CONFIG"]) if "NODEWORTHY_CONFIG" in given else None,
        kernel_log=_read_switch(given, "NODEWORTHY_KERNEL_LOG"),
        pace=replace(settings.pace, seconds=seconds),
        http_port=read_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )


def _read_switch(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "false").lower()
    if value not in {"true", "false"}:
        raise UsageError(f"{name}={given[name][:60]!r} cannot be used", why="it is true or false")
    return value == "true"


MIN_SCAN_SECONDS = 1.0
MAX_SCAN_SECONDS = 3600.0
"""Facts are put on the bus anew every ten minutes; what was not looked at for an hour is a guess."""
