"""``nodeworthy nodes``: which nodes the bus knows, and how well."""

import time
from collections.abc import Sequence

import click

from nodeworthy.bus.requests import NodesReply, NodeSummary, ProducerSummary
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.node_hardware import describe_accelerators
from nodeworthy_cli.node_summaries import mark, read_nodes
from nodeworthy_cli.output import MACHINE_FORMATS, print_csv, print_document, print_table

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


_FORMATS = ("table", "wide", "csv", *MACHINE_FORMATS)


@click.command(name="nodes")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@click.option(
    "-o", "--output", type=click.Choice(_FORMATS), default="table", show_default=True, help="How to print it."
)
@bus_options
def command(names: tuple[str, ...], output: str, bus: BusOptions) -> None:
    """List the nodes that the bus knows, all or those named, and how well it knows them.

    FACTS is fresh, stale (not said again in time), expired (past what its producer stated), unreadable, or never (others
    speak of the node, no detector has). HEALTH is that of the detector's sources; blind: every one of them fails. A set is
    present, absent (looked for and not there) or unknown. With -o wide or csv it is a ledger of the hardware.
    """
    nodes = run_on_bus(bus, "nodes", lambda store: read_nodes(store, names))
    if output in MACHINE_FORMATS:
        print_document(NodesReply(nodes=tuple(nodes), total=len(nodes)), output)
    elif output == "csv":
        _print_csv(nodes)
    else:
        _print_nodes(nodes, is_wide=output == "wide", is_full=output == "wide" or bool(names))
    missing = sorted(set(names) - {node.node for node in nodes})
    if missing:
        click.echo(f"nobody has published facts of {', '.join(missing)}", err=True)
    elif not nodes:
        click.echo("no node has published facts yet", err=True)


def _print_nodes(nodes: Sequence[NodeSummary], *, is_wide: bool, is_full: bool) -> None:
    now = time.time()
    if is_wide:
        print_table(_LEDGER, [_ledger_row(node, now) for node in nodes])
    else:
        heads = ("NODE", "PLATFORM", "FACTS", "AGE", "HEALTH", "PRESENT", "ABSENT", "UNKNOWN", "PRODUCERS")
        print_table(heads, [_row(node, now) for node in nodes])
    troubles = [
        (node.node, *trouble) for node in nodes for p in node.producers for trouble in _troubles(p, is_full=is_full)
    ]
    if troubles:
        click.echo()
        print_table(("NODE", "PRODUCER", "SOURCE", "TROUBLE"), troubles)


def _print_csv(nodes: Sequence[NodeSummary]) -> None:
    """The ledger; ages are seconds."""
    now = time.time()
    rows = []
    for node in nodes:
        *row, _ = _ledger_row(node, now)
        age = _age(node)
        rows.append((*row, "" if age is None else f"{age:.0f}"))
    print_csv([head.lower() for head in _LEDGER], rows)


_LEDGER = ("NODE", "ARCHITECTURE", "LEVEL", "MODEL", "OS", "KERNEL", "ACCELERATORS", "HEALTH", "FACTS", "AGE")


def _ledger_row(node: NodeSummary, now: float) -> tuple[str, ...]:
    found, age = node.hardware, _age(node)
    words = (found.architecture, found.level, found.model, found.os, found.kernel, describe_accelerators(found))
    return (
        node.node,
        *(word or "-" for word in (*words, node.health)),
        mark(node, now),
        "-" if age is None else age_text(age),
    )


def _row(node: NodeSummary, now: float) -> tuple[str, ...]:
    age = _age(node)
    counts = [sum(getattr(p, state) for p in node.producers) for state in ("present", "absent", "unknown")]
    producers = ",".join(producer.producer for producer in node.producers)
    return (
        node.node,
        node.platform or "unknown",
        mark(node, now),
        "-" if age is None else age_text(age),
        node.health or "-",
        *map(str, counts),
        producers,
    )


def _age(node: NodeSummary) -> float | None:
    return min((producer.age for producer in node.producers), default=None)


def _troubles(producer: ProducerSummary, *, is_full: bool) -> list[tuple[str, str, str]]:
    found = [(producer.producer, "-", producer.problem)] if producer.problem else []
    for source, health in sorted(producer.sources.items()):
        texts = [health.error, *health.faults]
        if is_full:  # of many nodes this would be most of what is printed
            texts += ["switched off by the configuration"] if health.disabled else []
            texts += [f"looked at every few seconds: {health.polled}"] if health.polled else []
        found += [(producer.producer, source, text) for text in texts if text]
    return found


def age_text(seconds: float) -> str:
    """A span as kubectl writes it, in its largest unit: ``45s``, ``12m``, ``3h``, ``8d``."""
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f}{letter}"
    return f"{seconds:.0f}s"
