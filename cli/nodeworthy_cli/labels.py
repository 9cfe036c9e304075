"""``nodeworthy labels``: what nodes are labelled, by which rule, and why a label is not there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from nodeworthy.bus.keys import labels_key, parse_labels_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import PayloadError, UsageError
from nodeworthy.labels import LabelEntry, LabelMemory
from nodeworthy_cli import exits
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.node_summaries import read_keys
from nodeworthy_cli.output import format_option, print_document, print_table, printable

if TYPE_CHECKING:
    from nodeworthy_cli.label_changes import LabelChanges


class NodeLabels(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels of one node; ``problem`` where what is stored cannot be read."""

    node: str
    memory: LabelMemory | None = None
    problem: str = ""


class _Labels(click.Group):
    """A verb that lists labels unless its first argument is one of its other verbs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="labels", cls=_Labels, subcommand_metavar="[list] [NODE]... | diff --rules DIR [NODE]...")
def command() -> None:
    """List the labels of nodes, or what would change of them under other rules."""


@command.command(name="list")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@format_option
@bus_options
def list_labels(names: tuple[str, ...], output: str, bus: BusOptions) -> None:
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


@command.command()
@click.argument("names", nargs=-1, metavar="[NODE]...")
@click.option(
    "--rules",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder of rule files that would be in force.",
)
@format_option
@bus_options
@click.pass_context
def diff(ctx: click.Context, names: tuple[str, ...], folder: Path, output: str, bus: BusOptions) -> None:
    """Show what a labeler with these rules would change, of all nodes or those named; nothing is written.

    Exit codes: 0 nothing would change, 1 something would, 2 the rules or the bus cannot be read, 3 some records cannot.
    """
    from nodeworthy.labels import LabelSettings
    from nodeworthy_cli.label_changes import read_changes
    from nodeworthy_labeler.rule_set import read_rules

    rules = read_rules(folder, LabelSettings())
    for problem in rules.problems:
        click.echo(f"left out: {printable(str(problem))}", err=True)
    found = run_on_bus(bus, "labels diff", lambda store: read_changes(store, rules, names))
    if output == "table":
        _print_changes(found)
    else:
        print_document(found, output)
    for text in found.problems:
        click.echo(f"not compared: {printable(text)}", err=True)
    ctx.exit(exits.NO if found.changes else exits.UNKNOWN if found.problems else exits.YES)


def _print_changes(found: "LabelChanges") -> None:
    rows = [(one.node, one.label, _value(one.before), _value(one.after), one.why) for one in found.changes]
    if rows:
        print_table(("NODE", "LABEL", "NOW", "THEN", "WHY"), rows)
    else:
        click.echo("nothing would change", err=True)


def _value(value: str | None) -> str:
    return "-" if value is None else value or '""'


async def read_labels(store: Store, names: tuple[str, ...]) -> list[NodeLabels]:
    """What bucket ``labels`` says of every node by name, or of some.

    Raises:
        UsageError: a name is none.
        BusError: the bus could not be read.
    """
    found = []
    for pattern in [labels_key(name) for name in names] or [">"]:
        async for key, stored in read_keys(store, Bucket.LABELS, pattern):
            try:
                node = parse_labels_key(key)
            except UsageError:  # nobody of ours writes such a key
                continue
            try:
                found.append(NodeLabels(node, read_memory(stored.data)))
            except PayloadError as error:
                found.append(NodeLabels(node, problem=str(error)))
    return sorted(found, key=lambda one: one.node)


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
