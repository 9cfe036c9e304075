"""What the detector counts, and its text for Prometheus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus's text format, version 0.0.4."""

PREFIX: Final = "nodeworthy_detector_"


def _number(meaning: str) -> Any:  # noqa: ANN401 # as dataclasses.field, whose type is that of the annotation
    return field(default=0, metadata={"help": meaning})


def _by_source(meaning: str) -> Any:  # noqa: ANN401 # as above
    return field(default_factory=dict, metadata={"help": meaning})


@dataclass
class Metrics:
    """Counters (``_total``) and present values; only the event loop changes them."""

    connected: int = _number("1 while the bus is reached.")
    passes_total: int = _number("Looks at the machine.")
    pass_cpu_seconds: float = _number("Processor time of the last look at the machine.")
    pass_time_seconds: float = _number("Unix time of the last look at the machine.")
    blind: int = _number("1 while every source fails.")
    configuration_failed: int = _number("1 while the configuration file cannot be followed; the one before it holds.")
    device_events_total: int = _number("Notices of the kernel about devices and modules.")
    device_events_lost_total: int = _number("How often notices of the kernel were lost; everything was looked at then.")
    folder_changes_total: Mapping[str, int] = _by_source(
        "Notices of changes in a source's folder, before they are gathered."
    )
    snapshots_stored_total: int = _number("Snapshots that the bus acknowledged.")
    snapshot_time_seconds: float = _number("Unix time of the last acknowledged snapshot.")
    publish_failures_total: int = _number("Attempts to publish that failed; each is made again.")
    name_conflict: int = _number("1 when another machine publishes under this node's name.")
    rescans_total: int = _number("Requests to look at once.")
    rescans_refused_total: int = _number("Requests that were too many.")
    bad_requests_total: int = _number("Requests that could not be read.")
    source_failed: Mapping[str, int] = _by_source("1 where a source's last look failed as a whole.")
    source_faults: Mapping[str, int] = _by_source("Files, devices and lines that a source left out.")
    source_disabled: Mapping[str, int] = _by_source("1 where the configuration switches a source off.")
    source_polled: Mapping[str, int] = _by_source(
        "1 where a source is looked at every few seconds: nothing tells of changes."
    )
    source_interval_seconds: Mapping[str, float] = _by_source(
        "Seconds between two looks at a source, if nothing changes."
    )
    source_look_time_seconds: Mapping[str, float] = _by_source("Unix time of the last look at a source.")
    source_look_seconds: Mapping[str, float] = _by_source("How long the last look at a source took.")
    source_facts: Mapping[str, int] = _by_source("Flags, attributes and devices that a source found.")


def write_metrics(metrics: Metrics) -> str:
    """The text that Prometheus reads."""
    return "".join(f"{line}\n" for line in _lines(metrics))


def _lines(metrics: Metrics) -> Iterator[str]:
    for counted in fields(metrics):
        name, value = f"{PREFIX}{counted.name}", getattr(metrics, counted.name)
        yield f"# HELP {name} {counted.metadata['help']}"
        yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
        if isinstance(value, Mapping):
            # The names of sources are our own, so they need no escaping.
            yield from (f'{name}{{source="{source}"}} {value[source]}' for source in sorted(value))
        else:
            yield f"{name} {value}"
