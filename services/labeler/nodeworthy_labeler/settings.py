"""What can be set about the labeler; the only module of it that reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.sweeping import SweepSettings
from nodeworthy.bus.watching import WatchSettings
from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.config import find_access, find_in_cluster
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.roll import LeaseSettings
from nodeworthy.labels import LabelSettings
from nodeworthy.processes import read_number, read_port

MAX_REPLICAS = 5
"""What NATS allows for the replicas of a stream."""


@dataclass(frozen=True)
class Membership:
    """When labelers tell each other that they are there; all times in seconds."""

    beat: float = 3.0
    """Between two signs of life: two of three may be lost."""
    lease: float = 10.0
    """How long a sign of life counts. A node of a labeler that was killed is served again after this, at most 15 s later."""
    join: float = 0.5
    """How long a new labeler listens for others before it takes nodes: they answer at once, the network takes 0.1 s."""


class TargetKind(StrEnum):
    """Where labels end up."""

    AUTO = "auto"
    """Kubernetes in a pod and where a kubeconfig is named, else the bucket."""
    KUBERNETES = "kubernetes"
    BUCKET = "bucket"


@dataclass(frozen=True)
class ClusterSettings:
    """The Kubernetes cluster whose Nodes are labelled."""

    access: Access
    """Where its API server is, and what it is shown."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """How much is asked of it."""
    lease: LeaseSettings = field(default_factory=LeaseSettings)
    """Membership: a node of a labeler that was killed is served again within 15 s."""
    node_feature_namespaces: frozenset[str] = frozenset()
    """Namespaces whose NodeFeature objects are taken; empty: all, as in NFD. Whoever may write such an object decides what
    nodes are labelled."""
    gone_seconds: float = 3600.0
    """How long a Node is gone before what the bus holds of it is removed: a machine that is set up anew keeps its name."""
    info_seconds: float = 600.0
    """How often a Node without a detector is read for what its kubelet says: as often as a detector renews its facts."""
    status_seconds: float = 10.0
    """How often it is looked whether the statuses of rules and groups are to be written: 5,000 nodes take half a second."""
    instance: str = ""
    """Who we are in Events; in a pod its name."""


@dataclass(frozen=True)
class Pace:
    """How much is done at once, and what is waited for; all times in seconds."""

    poll: float = 1.0
    """How often the folder of rules is looked at. A change counts when it was there twice, so it takes two of these."""
    batch: int = 4000
    """Nodes of which the labels are computed together: 0.3 s on one core, in which nothing else is done."""
    writes: int = 16
    """Requests at once, as on Kubernetes (design); more only wait inside the server."""
    retry_first: float = 0.25
    """After a write that failed; it doubles up to :attr:`retry_most`."""
    retry_most: float = 5.0
    check_streams: float = 60.0
    """Between two looks whether all streams are there; while a bucket cannot be read it is looked every second."""


@dataclass(frozen=True)
class Settings:
    """One labeler."""

    cluster: str = "local"
    """The cluster's name on the bus."""
    bus: ConnectionSettings = field(default_factory=ConnectionSettings)
    rules: Path | None = None
    """A folder of rule files (``--rules DIR``), where there is no cluster that has rule objects; ``None``: no rules."""
    labels: LabelSettings = field(default_factory=LabelSettings)
    """Default labels, prefix and quota."""
    membership: Membership = field(default_factory=Membership)
    pace: Pace = field(default_factory=Pace)
    watch: WatchSettings = field(default_factory=WatchSettings)
    """Of facts and of records: how late a lost store may be noticed."""
    sweep: SweepSettings = field(default_factory=SweepSettings)
    kubernetes: ClusterSettings | None = None
    """The cluster whose Nodes are labelled; ``None``: the bucket is all there is."""
    replicas: int | None = None
    """How many servers hold each stream; ``None``: one for those that are made, any for those that are there."""
    http_port: int | None = None
    """Where /healthz, /readyz and /metrics are; 0 takes a free port, ``None`` serves none."""
    http_host: str = "127.0.0.1"
    """In a pod 0.0.0.0, since the kubelet asks from outside; nothing there is secret."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of a process that was started with these variables.

    The variables are the command line's options, in capitals behind ``NODEWORTHY_``. An empty one is one that is not set.

    Raises:
        UsageError: a variable does not have a value that it may have, or a cluster is asked for and none is known.
        DocumentError: a kubeconfig has mistakes.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings()
    rules = given.get("NODEWORTHY_RULES")
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        rules=Path(rules) if rules else None,
        kubernetes=_read_cluster(given),
        replicas=read_number(given, "NODEWORTHY_REPLICAS", least=1, most=MAX_REPLICAS),
        http_port=read_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )


def _read_cluster(given: Mapping[str, str]) -> ClusterSettings | None:
    """The cluster, if one is named. A ``~/.kube/config`` alone is no wish: who tries the program must not label by it."""
    try:
        kind = TargetKind(given.get("NODEWORTHY_TARGET", TargetKind.AUTO))
    except ValueError as error:
        kinds = ", ".join(TargetKind)
        value = given["NODEWORTHY_TARGET"][:40]
        raise UsageError(f"NODEWORTHY_TARGET={value!r} cannot be used", why=f"it is one of {kinds}") from error
    if kind is TargetKind.BUCKET:
        return None
    kubeconfig = given.get("NODEWORTHY_KUBECONFIG")
    if kind is TargetKind.KUBERNETES or kubeconfig:
        home = Path(given.get("HOME", "/"))
        access = find_access(given, home, kubeconfig=Path(kubeconfig) if kubeconfig else None)
    else:
        found = find_in_cluster(given)
        if found is None:
            return None
        access = found
    namespaces = given.get("NODEWORTHY_NODE_FEATURE_NAMESPACES", "").split(",")
    return ClusterSettings(
        access,
        node_feature_namespaces=frozenset(name.strip() for name in namespaces if name.strip()),
        instance=given.get("HOSTNAME", ""),
    )
