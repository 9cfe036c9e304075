"""What the labeler counts, in a registry of metrics of its own: several services run in one process."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The exposition format that :meth:`Metrics.expose` writes (Prometheus documentation, "Exposition formats")."""

Numbers = Mapping[str, tuple[str, float | Mapping[str, float]]]
"""Name to what it means, and its value now or its values by state."""


class _Present(Collector):
    """Values that others hold, read when somebody looks."""

    def __init__(self, read: Callable[[], Numbers]) -> None:
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (meaning, value) in self._read().items():
            by_state = isinstance(value, Mapping)
            family = GaugeMetricFamily(f"nodeworthy_labeler_{name}", meaning, labels=("state",) if by_state else ())
            for state, number in value.items() if isinstance(value, Mapping) else [("", value)]:
                family.add_metric((state,) if by_state else (), number)
            yield family


class Metrics:
    """The labeler's metrics. No label holds a name of a node or a rule: their number has no bound."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.write_failures = Counter(
            "nodeworthy_labeler_write_failures",
            "Writes of which it is not known whether they were done; each is tried again",
            registry=self.registry,
        )
        self.node_failures = Counter(
            "nodeworthy_labeler_node_failures",
            "Nodes whose labels could not be computed or written, and stay until something changes",
            registry=self.registry,
        )

    def watch(self, read: Callable[[], Numbers]) -> None:
        """Show what others count."""
        self.registry.register(_Present(read))

    def expose(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self.registry)
