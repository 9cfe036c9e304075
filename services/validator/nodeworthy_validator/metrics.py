"""What the validator counts, in a registry of metrics of its own: several services run in one process."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from nodeworthy.web import RepliesCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The exposition format that :meth:`Metrics.expose` writes (Prometheus documentation, "Exposition formats")."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60)
"""From a warm answer about one node to a first look at an image in a slow registry."""


class CacheResult(StrEnum):
    """How what is known of an image was found."""

    HIT = "hit"
    MISS = "miss"
    FAILED = "failed"
    """The resolver did not know, or did not answer in time."""


class Metrics:
    """The validator's metrics. No label holds a name of an image or a node: their number has no bound."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "nodeworthy_validator_request_seconds",
            "Time from request to answer",
            ("endpoint",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.images = Counter("nodeworthy_validator_images", "Images looked up", ("result",), registry=self.registry)
        self.answers = Counter(
            "nodeworthy_validator_answers", "Images judged, by what was answered", ("answer",), registry=self.registry
        )
        self.http = Counter(
            "nodeworthy_validator_http_replies", "Replies by HTTP", ("path", "status"), registry=self.registry
        )
        self.nodes = Gauge("nodeworthy_validator_nodes", "Nodes that are known", registry=self.registry)
        self.refused = Gauge(
            "nodeworthy_validator_refused_snapshots",
            "Snapshots that could not be read or taken",
            registry=self.registry,
        )
        self.refused_labels = Gauge(
            "nodeworthy_validator_refused_labels", "Records of labels that could not be read", registry=self.registry
        )
        self.content_bytes = Gauge(
            "nodeworthy_validator_content_bytes", "Distinct contents of feature sets", registry=self.registry
        )

    def watch_replies(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Show the replies by outcome, which the bus counts."""
        self.registry.register(RepliesCollector("validator", read))

    def expose(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self.registry)
