"""``nodeworthy checkup``: the verb."""

import asyncio
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from nodeworthy.errors import BusError, UsageError
from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy_cli import exits
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import VARIABLES, BusOptions, bus_options
from nodeworthy_cli.checking import read_references
from nodeworthy_cli.checkup.gathering import Wish, gather
from nodeworthy_cli.checkup.image_list import MAX_LIST_BYTES, parse_list
from nodeworthy_cli.checkup.page import write_page
from nodeworthy_cli.checkup.records import Checkup, Risk
from nodeworthy_cli.checkup.text import print_checkup, print_ledger
from nodeworthy_cli.facts import read_file, read_node
from nodeworthy_cli.fleet_check import of_bus_error
from nodeworthy_cli.fleet_question import ALL, is_on_bus, read_nodes_option
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.reaching import Reach, run_on_either
from nodeworthy_cli.output import print_document, print_error
from nodeworthy_cli.refusing import refuse_options
from nodeworthy_cli.registry_login import OPTIONS as LOGIN_OPTIONS
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options

_FORMATS = ("table", "json", "csv", "html")
_REGISTRY_OPTIONS = ("registry_config", "ca_file", "plain_http", "hosts_dir", *LOGIN_OPTIONS)
_CLUSTER_OPTIONS = ("namespace", "kubeconfig", "context")


@click.command(name="checkup")
@click.option("--from-cluster", is_flag=True, help="The images of the cluster's pods, templates and older ReplicaSets.")
@click.option(
    "--file", "list_file", metavar="LIST", help="The images of a list, one on a line; # is a comment, - standard input."
)
@click.option(
    "-n", "--namespace", default="", help="Only the workloads of this namespace of the cluster.  [default: all]"
)
@click.option(
    "--on",
    "on",
    multiple=True,
    metavar="NODE,...|all|FILE",
    help="The nodes: of the bus or cluster by name, all of them, this machine (this), or a features file (its name has a"
    " slash or ends in .json or .yaml); repeat for several.  [default: all]",
)
@click.option(
    "--inspect/--no-inspect",
    "inspect",
    default=None,
    help="Look at the images' own files, which downloads them. Default: what the bus knows, or lies on disk here.",
)
@click.option("--all", "is_full", is_flag=True, help="Show all images in the table, not only the most risky.")
@click.option(
    "-o", "--output", type=click.Choice(_FORMATS), default="table", show_default=True, help="How to print it."
)
@bus_options
@kubernetes_options
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    from_cluster: bool,
    list_file: str | None,
    namespace: str,
    on: tuple[str, ...],
    inspect: bool | None,
    is_full: bool,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
    bus: BusOptions,
    kubernetes: KubernetesOptions,
) -> None:
    """Hold every image in use against the nodes, the greatest risk first.

    With --from-cluster these are the images of pods, of templates, and of older ReplicaSets, which a rollback would start;
    each is held against the nodes where it runs and those that its nodeSelector, node affinity and tolerations let it come
    to. With --server the bus answers; without it images are looked up from here, and nodes are what the cluster knows of
    them (kubelets, NodeFeature objects) or what features files say. A list without features files is a question to the bus.

    Exit codes: 0 nothing is at risk, 1 an image certainly cannot run on a node that it is on or could come to, 2 usage, 3
    something is not known, or could not be read.
    """
    if from_cluster == (list_file is not None):
        raise UsageError("one of --from-cluster and --file LIST is needed", why="they say which images are meant")
    if not from_cluster:
        refuse_options(ctx, _CLUSTER_OPTIONS, "no cluster is asked", "add --from-cluster in place of --file")
    files, names = [one for one in on if not is_on_bus(one)], [one for one in on if is_on_bus(one)]
    is_bus = bool(bus.server) or not (from_cluster or files)
    if files and (is_bus or (names and not from_cluster)):
        raise UsageError(
            f"--on {files[0]} says nothing here",
            why="the nodes are those of the bus",
            todo="leave it out, or give features files alone and no --server",
        )
    if is_bus:
        why = "images are looked up by the resolver of the bus, which reaches registries in its own way"
        refuse_options(ctx, _REGISTRY_OPTIONS, why, "set it for the resolver: nodeworthy resolver --help")
    else:
        refuse_options(ctx, tuple(VARIABLES), "the bus is not asked", "add --server, or leave out the features files")
    images = _read_images(list_file)
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    wish = Wish(
        images,
        _read_names(names),
        [read_node(one) for one in files],
        inspect,
        timeout,
        with_login(access, read_references(images), files=[*files, list_file]),
        namespace,
    )
    try:
        checkup = _run(wish, bus, kubernetes, from_cluster=from_cluster, is_bus=is_bus)
    except (BusError, KubernetesError) as error:
        if ctx.obj:
            traceback.print_exc()
        print_error(error)
        ctx.exit(of_bus_error(error) if isinstance(error, BusError) else exits.UNKNOWN)
    _print(checkup, output, is_full=is_full)
    ctx.exit(code_of(checkup))


def _run(wish: Wish, bus: BusOptions, kubernetes: KubernetesOptions, *, from_cluster: bool, is_bus: bool) -> Checkup:
    if from_cluster:
        return run_on_either(bus, kubernetes, "checkup", lambda reach: gather(reach, wish), needs_cluster=True)
    if is_bus:
        return run_on_bus(bus, "checkup", lambda store: gather(Reach(store, None), wish))
    return asyncio.run(gather(Reach(None, None), wish))


def code_of(checkup: Checkup) -> int:
    """The exit code of a report."""
    risks = {one.risk for one in checkup.images}
    if any(risk.rank < Risk.UNKNOWN.rank for risk in risks):
        return exits.NO
    return exits.UNKNOWN if risks - {Risk.NONE} or checkup.incomplete else exits.YES


def _read_images(list_file: str | None) -> Sequence[str]:
    if list_file is None:
        return ()
    return parse_list(read_file(list_file, MAX_LIST_BYTES, "image list"), list_file)


def _read_names(names: Sequence[str]) -> tuple[str, ...]:
    """The nodes of all ``--on``; none for all."""
    if ALL in names:
        return ()
    return tuple(dict.fromkeys(name for one in names for name in read_nodes_option(one)))


def _print(checkup: Checkup, output: str, *, is_full: bool) -> None:
    if output == "table":
        print_checkup(checkup, is_full=is_full)
    elif output == "csv":
        print_ledger(checkup)
    elif output == "html":
        click.echo(write_page(checkup))
    else:
        print_document(checkup, output)
