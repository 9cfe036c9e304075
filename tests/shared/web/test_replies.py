from prometheus_client import CollectorRegistry, generate_latest

from nodeworthy.web import RepliesCollector


def test_replies_are_told_by_outcome_as_they_are_when_somebody_looks() -> None:
    counts = {"not-found": 2, "answered": 40}
    registry = CollectorRegistry()
    registry.register(RepliesCollector("resolver", lambda: counts))
    counts["answered"] += 1
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    assert lines == [
        'nodeworthy_resolver_replies_total{outcome="answered"} 41.0',
        'nodeworthy_resolver_replies_total{outcome="not-found"} 2.0',
    ]


def test_before_the_first_reply_there_is_the_metric_without_any_outcome() -> None:
    registry = CollectorRegistry()
    registry.register(RepliesCollector("validator", dict))
    text = generate_latest(registry).decode()
    assert "# TYPE nodeworthy_validator_replies_total counter" in text
    assert "outcome=" not in text
