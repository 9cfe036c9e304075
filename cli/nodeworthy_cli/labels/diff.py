"""``nodeworthy labels diff``: what a labeler would change, before anything is written."""

from pathlib import Path

import click
import msgspec

from nodeworthy.errors import UsageError
from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.comparing import LabelChange, changes_in, conflicts_in, make_plans
from nodeworthy_cli.labels.inputs import Known, read_label_settings, reading_inputs
from nodeworthy_cli.labels.reaching import Reach, run_on_either
from nodeworthy_cli.output import format_option, print_document, print_table, printable
from nodeworthy_cli.service_options import labels_config_option

_MAX_UNUSED = 20
"""Objects that are not used and are named; the rest are counted."""

rules_option = click.option(
    "--rules",
    "folder",
    type=click.Path(path_type=Path),
    help="A folder of rule files as if they were applied: an object in it stands for the one of its name in the cluster.",
)


class LabelChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that would change, and nodes of which that cannot be said."""

    changes: tuple[LabelChange, ...]
    problems: tuple[str, ...] = ()
    conflicts: int = 0
    """Keys that rules give and others have set to another value: they would stay."""


@click.command(name="diff")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@rules_option
@labels_config_option
@format_option
@kubernetes_options
@bus_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    folder: Path | None,
    labels_config: Path | None,
    output: str,
    kubernetes: KubernetesOptions,
    bus: BusOptions,
) -> None:
    """Show what a labeler would change, of all nodes or those named; nothing is written.

    With --kubeconfig, --context or in a pod it is about the Nodes of the cluster: facts are those of its NodeFeature objects
    and, where --server names a bus, of the detectors; rules are its NodeFeatureRule objects. No labeler has to be installed.
    Else it is about the labels on the bus, and --rules names the rules.

    Exit codes: 0 nothing would change, 1 something would, 2 the rules, the cluster or the bus cannot be read, 3 some records
    cannot.
    """
    if folder is None and kubernetes.find_wanted() is None:
        raise UsageError(
            "nobody knows the rules",
            why="they are not on the bus, and no cluster is named",
            todo="name the folder of the labeler's rules with --rules, or a cluster with --kubeconfig",
        )

    async def work(reach: Reach) -> LabelChanges:
        async with reading_inputs(reach, folder, names, read_label_settings(labels_config)) as known:
            tell_left_out(known)
            return compare(known, names)

    found = run_on_either(bus, kubernetes, "labels diff", work)
    if output == "table":
        _print(found)
    else:
        print_document(found, output)
    for text in found.problems:
        click.echo(f"not compared: {printable(text)}", err=True)
    if found.conflicts:
        click.echo(f"keys that stay as others have set them: {found.conflicts}; see: nodeworthy conflicts", err=True)
    ctx.exit(exits.NO if found.changes else exits.UNKNOWN if found.problems else exits.YES)


def compare(known: Known, names: tuple[str, ...]) -> LabelChanges:
    """What would change on the nodes of these names, or on all.

    Raises:
        UsageError: there is no such node, or nobody knows anything of it.
    """
    nodes = known.choose(names)
    changes: list[LabelChange] = []
    conflicts = 0
    for made in make_plans(known, nodes):
        changes += changes_in(made)
        conflicts += sum(1 for _ in conflicts_in(made.node, made.plan.memory))
    problems = sorted((node, problem) for node, problem in known.unreadable.items() if node in nodes)
    return LabelChanges(tuple(changes), tuple(f"{node}: {problem}" for node, problem in problems), conflicts)


def tell_left_out(known: Known) -> None:
    """Say what is wrong with rules, which objects are not used, and what nobody remembers."""
    for problem in known.rules.problems:
        click.echo(f"left out: {printable(str(problem))}", err=True)
    for text in known.unused[:_MAX_UNUSED]:
        click.echo(f"not used: {printable(text)}", err=True)
    if len(known.unused) > _MAX_UNUSED:
        click.echo(f"not used: {len(known.unused) - _MAX_UNUSED} more objects", err=True)
    if known.reading is None and any(node.labels.owned for node in (known.nodes or {}).values()):
        click.echo("labels that would go are not told: who gave them is on the bus; name it with --server", err=True)


def _print(found: LabelChanges) -> None:
    rows = [
        (one.node, one.kind.value, one.label, show_value(one.before), show_value(one.after), one.why)
        for one in found.changes
    ]
    if rows:
        print_table(("NODE", "KIND", "KEY", "NOW", "THEN", "WHY"), rows)
    else:
        click.echo("nothing would change", err=True)


def show_value(value: str | None) -> str:
    """A value in a table; ``None`` where there is none."""
    return "-" if value is None else value or '""'
