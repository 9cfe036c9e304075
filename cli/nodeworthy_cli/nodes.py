"""``nodeworthy nodes``: which nodes the bus knows, and how well."""

import time
from collections.abc import Sequence

import click

from nodeworthy.bus.requests import NodesReply, NodeSummary, ProducerSummary
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.node_summaries import mark, read_nodes
from nodeworthy_cli.output import format_option, print_document, print_table

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@click.command(name="nodes")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@format_option
@bus_options
def command(names: tuple[str, ...], output: str, bus: BusOptions) -> None:
    """List the nodes that the bus knows, all or those named, and how well it knows them.

    FACTS is fresh, stale (not said again in time), expired (past what its producer stated), unreadable, or never (others
    speak of the node, no detector has). A set is present, absent (looked for and not there) or unknown.
    """
    nodes = run_on_bus(bus, "nodes", lambda store: read_nodes(store, names))
    if output == "table":
        _print_nodes(nodes)
    else:
        print_document(NodesReply(nodes=tuple(nodes), total=len(nodes)), output)
    missing = sorted(set(names) - {node.node for node in nodes})
    if missing:
        click.echo(f"nobody has published facts of {', '.join(missing)}", err=True)
    elif not nodes:
        click.echo("no node has published facts yet", err=True)


def _print_nodes(nodes: Sequence[NodeSummary]) -> None:
    now = time.time()
    print_table(
        ("NODE", "PLATFORM", "FACTS", "AGE", "PRESENT", "ABSENT", "UNKNOWN", "PRODUCERS"),
        [_row(node, now) for node in nodes],
    )
    troubles = [(node.node, *trouble) for node in nodes for p in node.producers for trouble in _troubles(p)]
    if troubles:
        click.echo()
        print_table(("NODE", "PRODUCER", "SOURCE", "TROUBLE"), troubles)


def _row(node: NodeSummary, now: float) -> tuple[str, ...]:
    ages = [producer.age for producer in node.producers]
    counts = [sum(getattr(p, state) for p in node.producers) for state in ("present", "absent", "unknown")]
    producers = ",".join(producer.producer for producer in node.producers)
    return (
        node.node,
        node.platform or "unknown",
        mark(node, now),
        age_text(min(ages)) if ages else "-",
        *map(str, counts),
        producers,
    )


def _troubles(producer: ProducerSummary) -> list[tuple[str, str, str]]:
    found = [(producer.producer, "-", producer.problem)] if producer.problem else []
    for source, health in sorted(producer.sources.items()):
        found += [(producer.producer, source, text) for text in (health.error, *health.faults) if text]
    return found


def age_text(seconds: float) -> str:
    """A span as kubectl writes it, in its largest unit: ``45s``, ``12m``, ``3h``, ``8d``."""
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f}{letter}"
    return f"{seconds:.0f}s"
