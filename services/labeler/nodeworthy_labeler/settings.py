"""What can be set about the labeler; the only module of it that reads the environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.sweeping import SweepSettings
from nodeworthy.bus.watching import WatchSettings
from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.config import find_access, find_in_cluster
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.kubernetes.roll import LeaseSettings
from nodeworthy.labels import LabelSettings
from nodeworthy.processes import EventLog, read_number, read_port
from nodeworthy.rules.labels import taint_effect_problem, taint_name_problem

_TAINT_KEY = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""With a namespace, as all that the labeler gives (Kubernetes documentation, "Labels and Selectors", syntax)."""

_LOG = EventLog("labeler")

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
    """Kubernetes in a pod and where a kubeconfig or a context of it is named, else the bucket."""
    KUBERNETES = "kubernetes"
    BUCKET = "bucket"


class StartupTaint(NamedTuple):
    """A taint that new nodes come with, and that is to go when they are labelled."""

    key: str
    effect: str = ""
    """Empty: every effect that a taint of this key has."""

    def is_like(self, key: str, effect: str) -> bool:
        """Whether a taint of this key and effect is meant."""
        return key == self.key and (not self.effect or effect == self.effect)

    def __str__(self) -> str:
        return f"{self.key}:{self.effect}" if self.effect else self.key


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
    node_feature_labels: bool = True
    """Off: of NodeFeature objects other than a node's own only the features are taken (``labels.acceptance``)."""
    gone_seconds: float = 3600.0
    """How long a Node is gone before what the bus holds of it is removed: a machine that is set up anew keeps its name."""
    info_seconds: float = 600.0
    """How often a Node without a detector is read for what its kubelet says: as often as a detector renews its facts."""
    status_seconds: float = 10.0
    """How often it is looked whether the statuses of rules and groups are to be written: 5,000 nodes take half a second."""
    instance: str = ""
    """Who we are in Events; in a pod its name."""
    startup_taint: StartupTaint | None = None
    """Removed from a Node once its first labels are complete; ``None``: no taint is."""
    has_health_condition: bool = False
    """Whether Nodes get the condition ``HardwareFactsHealthy``: one write of a Node's status for each change of it."""
    health_seconds: float = 10.0
    """How often it is looked whether conditions are to be written: as often as for statuses, and cheaper."""
    stale_seconds: float = 1500.0
    """How old a detector's last word may be: it renews it every 600 s give or take 60, so that two of these may be lost."""


@dataclass(frozen=True)
class Pace:
    """How much is done at once, and what is waited for; all times in seconds."""

    poll: float = 1.0
    """How often the folder of rules is looked at. A change counts when it was there twice, so it takes two of these."""
    batch: int = 1000
    """Nodes of which the labels are computed together: 60 ms on one core, in which nothing else is done. 4,000 at a time
    cost some hundredths less in all, but 0.3 s at once, and 10 MB."""
    writes: int = 16
    """Requests at once, as on Kubernetes (design); more only wait inside the server."""
    retry_first: float = 0.25
    """After a write that failed; it doubles up to :attr:`retry_most`."""
    retry_most: float = 5.0
    check_streams: float = 60.0
    """Between two looks whether all streams are there; while a bucket cannot be read it is looked every second."""
    report: float = 5.0
    """Between two looks whether what is said of the rules in force is still true. One costs a request; where facts or rules
    have changed, half a second of work with 5,000 nodes, in batches; on Kubernetes the statuses of objects need it too."""


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


def load_label_settings(path: Path) -> LabelSettings:
    """The settings of labels in a file; what is good to know of it goes to the log.

    Raises:
        UsageError: the file cannot be read.
        DocumentError: it has mistakes.
    """
    from nodeworthy.labels.settings_file import read_label_settings

    settings, notices = read_label_settings(path)
    for notice in notices:
        _LOG.warning("labeler.labels_config_notice", notice=str(notice))
    return settings


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of a process that was started with these variables.

    The variables are the command line's options, in capitals behind ``NODEWORTHY_``. An empty one is one that is not set.

    Raises:
        UsageError: a variable does not have a value that it may have, or a cluster is asked for and none is known.
        DocumentError: a kubeconfig or the settings of labels have mistakes.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings()
    rules, file = given.get("NODEWORTHY_RULES"), given.get("NODEWORTHY_LABELS_CONFIG")
    labels = load_label_settings(Path(file)) if file else settings.labels
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        rules=Path(rules) if rules else None,
        labels=labels,
        kubernetes=_read_cluster(given, labels),
        replicas=read_number(given, "NODEWORTHY_REPLICAS", least=1, most=MAX_REPLICAS),
        http_port=read_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )


def _read_cluster(given: Mapping[str, str], labels: LabelSettings) -> ClusterSettings | None:
    """The cluster, if one is named. A ``~/.kube/config`` alone is no wish: who tries the program must not label by it."""
    try:
        kind = TargetKind(given.get("NODEWORTHY_TARGET", TargetKind.AUTO))
    except ValueError as error:
        kinds = ", ".join(TargetKind)
        value = given["NODEWORTHY_TARGET"][:40]
        raise UsageError(f"NODEWORTHY_TARGET={value!r} cannot be used", why=f"it is one of {kinds}") from error
    if kind is TargetKind.BUCKET:
        return None
    kubeconfig, context = given.get("NODEWORTHY_KUBECONFIG"), given.get("NODEWORTHY_CONTEXT", "")
    if kind is TargetKind.KUBERNETES or kubeconfig or context:
        home = Path(given.get("HOME", "/"))
        access = find_access(given, home, kubeconfig=Path(kubeconfig) if kubeconfig else None, context=context)
    else:
        found = find_in_cluster(given)
        if found is None:
            return None
        access = found
    namespaces = given.get("NODEWORTHY_NODE_FEATURE_NAMESPACES", "").split(",")
    return ClusterSettings(
        access,
        node_feature_namespaces=frozenset(name.strip() for name in namespaces if name.strip()),
        node_feature_labels=labels.acceptance.node_feature_labels,
        instance=given.get("HOSTNAME", ""),
        startup_taint=_read_taint(given.get("NODEWORTHY_STARTUP_TAINT", "")),
        has_health_condition=_read_switch(given, "NODEWORTHY_HEALTH_CONDITION"),
    )


def _read_taint(text: str) -> StartupTaint | None:
    """A taint of ``KEY`` or ``KEY:EFFECT``. Kubernetes' own are refused: they say what its controllers know of a node."""
    if not text:
        return None
    key, _, effect = text.partition(":")
    problem = taint_name_problem(key) or (taint_effect_problem(effect) if ":" in text else None)
    why = str(problem) if problem else "" if _TAINT_KEY.fullmatch(key) else "a taint is named KEY or KEY:EFFECT"
    if why:
        raise UsageError(f"NODEWORTHY_STARTUP_TAINT={text[:80]!r} cannot be used", why=why)
    return StartupTaint(key, effect)


def _read_switch(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").lower()
    if text not in ("true", "false"):
        raise UsageError(f"{name}={given[name][:40]!r} cannot be used", why="it is true or false")
    return text == "true"
