"""What the resolver counts, in a registry of metrics of its own: several services run in one process."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from nodeworthy.web import RepliesCollector
from nodeworthy_resolver.oci.registry.traffic import Traffic

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The exposition format that :meth:`Metrics.expose` writes (Prometheus documentation, "Exposition formats")."""

_SECONDS = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60)
"""From an answer of the cache to a registry that uses up its time."""

_INSPECTION_SECONDS = (1, 5, 15, 60, 300, 1800)
"""From an image of one program to one with ten gigabytes of libraries."""


class CacheResult(StrEnum):
    """How the cache served one question, or took one answer."""

    HIT = "hit"
    MISS = "miss"
    EXPIRED = "expired"
    STALE = "stale"
    """Expired, and served all the same, because the registry is down."""
    REJECTED = "rejected"
    """What was there cannot have been written by a resolver."""
    TOO_LARGE = "too-large"
    CONFLICT = "conflict"
    """Another resolver, or an attached artifact, came first."""
    FAILED = "failed"
    """The bus did not answer."""


_KINDS = {  # a record's name to what a person calls it
    "TagRecord": "tag",
    "ImageRecord": "image",
    "SearchRecord": "search",
    "InspectionRecord": "inspection",
}


class TrafficCollector(Collector):
    """What registries were asked, read when somebody looks."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; Prometheus's own name for the method."""
        name, traffic = "nodeworthy_resolver_registry", self._traffic
        requests = CounterMetricFamily(f"{name}_requests", "Requests to registries", labels=("method", "outcome"))
        for labels, count in sorted(traffic.requests.items()):
            requests.add_metric(labels, count)
        waits = CounterMetricFamily(f"{name}_wait_seconds", "Waits before a request is sent again", labels=("reason",))
        for reason, seconds in sorted(traffic.waits.items()):
            waits.add_metric((reason,), seconds)
        yield from (requests, waits)
        held = "Requests that were not sent, since the registry asked to be left alone"
        yield CounterMetricFamily(f"{name}_held_back", held, value=traffic.held_back)
        yield GaugeMetricFamily(f"{name}_paused", "Registries that are left alone now", value=traffic.paused)
        left = "Smallest part of a rate limit that any registry says is left; 1 where none has one"
        yield GaugeMetricFamily(f"{name}_rate_limit_left_ratio", left, value=traffic.lowest_left)


class Metrics:
    """The resolver's metrics. No label holds a name of an image or a registry: their number has no bound."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "nodeworthy_resolver_request_seconds",
            "Time from request to answer",
            ("endpoint",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.cache = Counter(
            "nodeworthy_resolver_cache", "Uses of bucket images", ("kind", "result"), registry=self.registry
        )
        self.registry_errors = Counter(
            "nodeworthy_resolver_registry_errors", "Lookups that a registry failed", ("error",), registry=self.registry
        )
        self.inspections = Counter(
            "nodeworthy_resolver_inspections", "Images whose files were looked at", ("outcome",), registry=self.registry
        )
        self.inspection_seconds = Histogram(
            "nodeworthy_resolver_inspection_seconds",
            "Time for looking at one image's files",
            buckets=_INSPECTION_SECONDS,
            registry=self.registry,
        )
        self.lookups = Gauge("nodeworthy_resolver_lookups", "Lookups under way", registry=self.registry)

    def watch(self, *, replies: Callable[[], Mapping[str, int]], lookups: Callable[[], int]) -> None:
        """Show what others count: replies by outcome, and the lookups under way."""
        self.registry.register(RepliesCollector("resolver", replies))
        self.lookups.set_function(lookups)

    def watch_registries(self, traffic: Traffic) -> None:
        """Show what registries were asked, and how they hold us back."""
        self.registry.register(TrafficCollector(traffic))

    def count_cache(self, kind: str, result: CacheResult) -> None:
        """Count one use of the cache for a record of this name."""
        self.cache.labels(_KINDS[kind], result).inc()

    def expose(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self.registry)
