"""``nodeworthy labels list``: what the labelers remember of nodes."""

from collections.abc import Mapping

import click

from nodeworthy.labels import LabelEntry
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.labels.records import NodeLabels, read_labels
from nodeworthy_cli.output import format_option, print_document, print_table


@click.command(name="list")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@format_option
@bus_options
def command(names: tuple[str, ...], output: str, bus: BusOptions) -> None:
    """List the labels of nodes, all or those named, with who gives each.

    STATE is applied; held or conflict (somebody else set the key, to the same or another value); rejected (no legal label);
    kept (nobody can say now whether it is still true); unknown (not set, since it hangs on what is not known).
    """
    nodes = run_on_bus(bus, "labels", lambda store: read_labels(store, names))
    if output == "table":
        _print_labels(nodes)
    else:
        print_document(nodes, output)
    missing = sorted(set(names) - {node.node for node in nodes})
    if missing:
        click.echo(f"nobody has labelled {', '.join(missing)}", err=True)
    elif not nodes:
        click.echo("no node is labelled yet", err=True)


def _print_labels(nodes: list[NodeLabels]) -> None:
    rows = [row for node in nodes for row in _rows(node)]
    print_table(("NODE", "LABEL", "VALUE", "STATE", "RULE", "REASON"), rows)
    notes = [
        (node.node, str(note.giver), note.outcome.value, note.reason)
        for node in nodes
        for note in (node.memory.unresolved if node.memory else ())
    ]
    if notes:
        click.echo()
        print_table(("NODE", "NOT ANSWERED", "OUTCOME", "REASON"), notes)


def _rows(node: NodeLabels) -> list[tuple[str, ...]]:
    if node.memory is None:
        return [(node.node, "-", "-", "unreadable", "-", node.problem)]
    labels: Mapping[str, LabelEntry] = node.memory.labels
    return [(node.node, key, *_cells(entry)) for key, entry in sorted(labels.items())]


def _cells(entry: LabelEntry) -> tuple[str, ...]:
    giver = str(entry.given[-1].giver) if entry.given else "-"
    reason = entry.reason
    if entry.live:
        reason = f"{reason} (there: {entry.live}, by {', '.join(entry.owners) or 'somebody'})".strip()
    return entry.value or '""', entry.state.value, giver, reason or "-"
