"""``nodeworthy conflicts``: keys that rules give and that somebody else has set to another value."""

from collections.abc import Sequence

import click
import msgspec

from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.comparing import Conflict, conflicts_in, make_plans
from nodeworthy_cli.labels.inputs import reading_inputs
from nodeworthy_cli.labels.reaching import Reach, run_on_either
from nodeworthy_cli.labels.records import read_labels
from nodeworthy_cli.output import format_option, print_document, print_table, printable


class Conflicts(msgspec.Struct, frozen=True, omit_defaults=True):
    """All conflicts, and nodes of which nobody can say."""

    conflicts: tuple[Conflict, ...]
    problems: tuple[str, ...] = ()


@click.command(name="conflicts")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@click.option(
    "--live", is_flag=True, help="Look at the cluster's Nodes as they are now, and not at what labelers noted."
)
@format_option
@kubernetes_options
@bus_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    live: bool,
    output: str,
    kubernetes: KubernetesOptions,
    bus: BusOptions,
) -> None:
    """Show the labels that rules give and somebody else has set to another value, with both values and both owners.

    Foreign values are never overwritten. Let the owner give the label up, or take it over: nodeworthy labels adopt
    --take-over KEY. What the labelers have noted is on the bus; where no bus is named, and with --live, it is worked out
    from the cluster.

    Exit codes: 0 done, whether or not there are any; 2 the bus or the cluster cannot be read; 3 some records cannot.
    """

    async def work(reach: Reach) -> Conflicts:
        if reach.client is not None and (live or reach.store is None):
            return await _work_out(reach, names)
        assert reach.store is not None
        records = await read_labels(reach.store, names)
        found = [conflict for one in records if one.memory for conflict in conflicts_in(one.node, one.memory)]
        return Conflicts(tuple(found), tuple(f"{one.node}: {one.problem}" for one in records if one.problem))

    found = run_on_either(bus, kubernetes, "conflicts", work, needs_cluster=live)
    if output == "table":
        _print(found)
    else:
        print_document(found, output)
    for text in found.problems:
        click.echo(f"not known: {printable(text)}", err=True)
    ctx.exit(exits.UNKNOWN if found.problems else exits.YES)


async def _work_out(reach: Reach, names: Sequence[str]) -> Conflicts:
    async with reading_inputs(reach, None, names) as known:
        made = make_plans(known, known.choose(names))
        found = [conflict for one in made for conflict in conflicts_in(one.node, one.plan.memory)]
        return Conflicts(
            tuple(found), tuple(f"{node}: {problem}" for node, problem in sorted(known.unreadable.items()))
        )


def _print(found: Conflicts) -> None:
    rows = [
        (one.node, one.kind.value, one.label, one.wanted or '""', one.giver or "-", one.live or '""', owners_of(one))
        for one in found.conflicts
    ]
    if rows:
        print_table(("NODE", "KIND", "KEY", "WANTED", "BY RULE", "THERE", "OWNER"), rows)
    else:
        click.echo("there are no conflicts", err=True)


def owners_of(conflict: Conflict) -> str:
    """Whose the value is, for people."""
    return ", ".join(conflict.owners) or "nobody is known"
