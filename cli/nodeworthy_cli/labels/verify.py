"""``nodeworthy labels verify``: have nodes look afresh, and compare with what they are labelled."""

import random
from collections.abc import Sequence
from pathlib import Path

import click

from nodeworthy.errors import UsageError
from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.diff import rules_option, show_value, tell_left_out
from nodeworthy_cli.labels.inputs import Known, read_label_settings, reading_inputs
from nodeworthy_cli.labels.reaching import Reach, run_on_either
from nodeworthy_cli.labels.verifying import Verification, verify
from nodeworthy_cli.output import format_option, print_document, print_table, printable
from nodeworthy_cli.service_options import labels_config_option

SAMPLE = 10
"""Nodes that are looked at where nobody says how many: a scan costs each some tenths of a second of one core."""


@click.command(name="verify")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@click.option("--sample", type=click.IntRange(min=1), help=f"How many nodes, chosen at random.  [default: {SAMPLE}]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long all the scans may take together.",
)
@rules_option
@labels_config_option
@format_option
@kubernetes_options
@bus_options
@click.pass_context
def command(  # noqa: PLR0913 # one for each option
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    sample: int | None,
    timeout: float,
    folder: Path | None,
    labels_config: Path | None,
    output: str,
    kubernetes: KubernetesOptions,
    bus: BusOptions,
) -> None:
    """Ask the detectors of some nodes, named or chosen at random, to look afresh; compare it with what was known.

    Compared are the facts on the bus, and what the nodes are labelled: the Nodes of a cluster (with --kubeconfig, --context
    or in a pod), else the labels on the bus. Without a cluster --rules names the labeler's rules; where nobody does, labels
    by rules are not judged. The user of the bus has to be allowed to ask detectors.

    Exit codes: 0 all is as fresh facts have it, 1 something is not, 2 the rules, the cluster or the bus cannot be read, 3 a
    detector does not answer, or cannot tell what a label was made from.
    """
    if names and sample is not None:
        raise UsageError("nodes are named and to be chosen", why="it is one or the other", todo="leave out --sample")

    async def work(reach: Reach) -> Verification:
        if reach.store is None:
            raise UsageError("no bus is named", why="detectors are asked over it", todo="name it with --server")
        async with reading_inputs(reach, folder, names, read_label_settings(labels_config)) as known:
            if known.has_rules:
                tell_left_out(known)
            return await verify(reach.store, known, _choose(known, names, sample or SAMPLE), timeout)

    found = run_on_either(bus, kubernetes, "labels verify", work)
    if output == "table":
        _print(found)
    else:
        print_document(found, output)
    for one in found.unknown:
        click.echo(f"not known: {one.node}: {printable(one.reason)}", err=True)
    ctx.exit(exits.NO if found.differences else exits.UNKNOWN if found.unknown else exits.YES)


def _choose(known: Known, names: Sequence[str], sample: int) -> list[str]:
    nodes = known.choose(names)
    if names or len(nodes) <= sample:
        return nodes
    return sorted(random.sample(nodes, sample))


def _print(found: Verification) -> None:
    rows = [
        (one.node, one.what, one.key, show_value(one.there), show_value(one.fresh), one.why)
        for one in found.differences
    ]
    if rows:
        print_table(("NODE", "WHAT", "KEY", "THERE", "FRESH", "WHY"), rows)
    unknown = {one.node for one in found.unknown}
    click.echo(f"{len(found.nodes)} nodes: {_count(found, unknown)}", err=True)


def _count(found: Verification, unknown: set[str]) -> str:
    different = {one.node for one in found.differences}
    right = sum(node not in different and node not in unknown for node in found.nodes)
    return f"{right} as fresh facts have it, {len(different)} not, {len(unknown - different)} not known"
