"""Replies on the bus as a metric: the bus counts them, ``/metrics`` tells them."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class RepliesCollector(Collector):
    """``nodeworthy_SERVICE_replies_total`` by outcome, read when somebody looks.

    Args:
        service: The service's name, as in ``resolver``.
        read: The number of replies by outcome, as :attr:`nodeworthy.bus.serving.Serving.counts` holds them.
    """

    def __init__(self, service: str, read: Callable[[], Mapping[str, int]]) -> None:
        self._name = f"nodeworthy_{service}_replies"
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The metric as it is now; Prometheus's own name for the method."""
        family = CounterMetricFamily(self._name, "Replies on the bus by outcome", labels=("outcome",))
        for outcome, count in sorted(self._read().items()):
            family.add_metric((outcome,), count)
        yield family
