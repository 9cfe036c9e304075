"""``nodeworthy labels prune``: remove everything of ours from the Nodes of a cluster."""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import click
import msgspec

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.metadata import ObjectMeta, PartialObject, read_identity
from nodeworthy.kubernetes.refusals import (
    KubernetesConflictError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesUnauthorizedError,
)
from nodeworthy.kubernetes.requests import Patch, Request
from nodeworthy.kubernetes.resources import LEASES, NODES
from nodeworthy.labels import Changes, LabelMemory, Plan, RejectedKind
from nodeworthy_cli import exits
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.reaching import run_on_cluster
from nodeworthy_cli.labels.selecting import TRIES, for_each, read_metadata, read_selected, selector_option
from nodeworthy_cli.output import format_option, print_document, print_table, printable
from nodeworthy_labeler.cluster.applications import METADATA, STATUS, changes_of, make_application
from nodeworthy_labeler.cluster.health_conditions import CONDITION, make_condition_removal
from nodeworthy_labeler.cluster.membership import LABELS
from nodeworthy_labeler.cluster.node_objects import OWN_NAMES, NodeObject, read_node
from nodeworthy_labeler.cluster.ownership import MANAGER
from nodeworthy_labeler.cluster.refusals import Refusals
from nodeworthy_labeler.cluster.writing import NodeWriter

_LEASE_SECONDS = 60.0
"""How old the last sign of life of a labeler is that still counts, with clocks that differ; it comes every three seconds."""

_WHY = "it is removed from every node"


class Pruned(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one Node."""

    node: str
    removed: Mapping[RejectedKind, tuple[str, ...]] = {}
    """Keys that were ours; of a taint ``key:effect``. What somebody else owns too stays with them."""
    conditions: tuple[str, ...] = ()
    """Types of conditions."""
    notes: tuple[str, ...] = ()
    """Our own annotations."""
    problem: str = ""
    """Why not everything is removed."""


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    renew_time: str | None = None


class _Lease(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _LeaseSpec = _LeaseSpec()


@click.command(name="prune")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@selector_option
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@format_option
@kubernetes_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    selector: str,
    dry_run: bool,
    yes: bool,
    output: str,
    kubernetes: KubernetesOptions,
) -> None:
    """Remove what nodeworthy owns from Nodes: labels, annotations, extended resources, taints, its condition and its notes.

    Only the API server has to run; labelers must not, since they would write it all again. What others have set stays, also
    where it is ours as well. Exit codes: 0 done, 2 not done on some Node.
    """
    if not dry_run and not yes:
        _confirm(names, selector)
    done = run_on_cluster(kubernetes, lambda client: prune(client, names, selector, is_dry=dry_run))
    if output == "table":
        _print(done)
    else:
        print_document(done, output)
    for one in done:
        if one.problem:
            click.echo(f"not removed: {one.node}: {printable(one.problem)}", err=True)
    nodes = sum(bool(one.removed or one.notes) for one in done)
    click.echo(
        f"{'nothing was written; Nodes with something of ours' if dry_run else 'Nodes that were pruned'}: {nodes}",
        err=True,
    )
    ctx.exit(exits.USAGE if any(one.problem for one in done) else exits.YES)


def _confirm(names: Sequence[str], selector: str) -> None:
    what = ", ".join(names) or (f"the Nodes with {selector}" if selector else "every Node of the cluster")
    if not sys.stdin.isatty():
        raise UsageError(
            "nothing was removed", why="nobody can be asked here", todo="look with --dry-run, then give --yes"
        )
    if not click.confirm(f"Remove everything of nodeworthy from {what}?", err=True):
        raise UsageError("nothing was removed", why="it was not confirmed")


async def prune(client: Client, names: Sequence[str], selector: str, *, is_dry: bool) -> list[Pruned]:
    """Remove what is ours from Nodes; what became of each on which there is something.

    Raises:
        UsageError: there is no such Node, or a labeler runs.
        KubernetesError: Nodes cannot be read, or may not be written.
    """
    if not is_dry:
        await _refuse_labelers(client)
    bodies = {read_identity(body).name: body for body in await read_selected(client, names, selector)}
    writer = NodeWriter(client, Refusals(time.monotonic), lambda _: True)
    done = await for_each(tuple(bodies), lambda name: _prune_node(client, writer, name, bodies[name], is_dry=is_dry))
    return [one for one in done if one.removed or one.notes or one.problem]


async def _refuse_labelers(client: Client) -> None:
    selector = ",".join(f"{name}={value}" for name, value in LABELS.items())
    request = requests.list_all(LEASES, label_selector=selector)
    try:
        leases = [
            decode(item, _Lease, request.what) async for page in client.pages(request) for item in page.items or ()
        ]
    except KubernetesForbiddenError:
        click.echo("whether a labeler runs cannot be told, since this user may not list Leases", err=True)
        return
    for lease in leases:
        renewed = datetime.fromisoformat(lease.spec.renew_time).timestamp() if lease.spec.renew_time else 0.0
        if time.time() - renewed < _LEASE_SECONDS:
            name = f"{lease.metadata.namespace}/{lease.metadata.name}"
            raise UsageError(
                "nothing was removed",
                why=f"a labeler runs, and would write it again: its Lease {name} is {time.time() - renewed:.0f} s old",
                todo="end the labelers first; one that was killed is forgotten after a minute",
            )


async def _prune_node(client: Client, writer: NodeWriter, name: str, body: bytes, *, is_dry: bool) -> Pruned:
    problem = ""
    removed: Pruned | None = None
    for _ in range(TRIES):
        try:
            node, notes = read_node(body), _own_annotations(body, name)
            removed = removed or Pruned(name, _ours(node), (CONDITION,) if node.health_note else (), notes)
            if not is_dry:
                await _remove(client, writer, node, has_notes=bool(notes))
        except (KubernetesForbiddenError, KubernetesUnauthorizedError):
            raise
        except (KubernetesConflictError, KubernetesInvalidError) as error:  # another state than was read, mostly
            problem = str(error)
        except KubernetesError as error:
            return Pruned(name, problem=str(error))
        else:
            return removed
        try:
            body = await read_metadata(client, name)
        except UsageError:
            return Pruned(name)
    return Pruned(name, problem=problem)


def _ours(node: NodeObject) -> dict[RejectedKind, tuple[str, ...]]:
    """What is ours, by kind."""
    found = {RejectedKind.LABEL: node.labels.owned} | {kind: one.owned for kind, one in node.labels.others.items()}
    return {kind: tuple(sorted(keys)) for kind, keys in found.items() if keys}


async def _remove(client: Client, writer: NodeWriter, node: NodeObject, *, has_notes: bool) -> None:
    plan = _make_plan(node)
    name = node.name
    for kinds in (METADATA, STATUS):
        application = make_application(node, plan, kinds)
        if application is not None:
            node = (await writer.apply(application)).node
    node = (await writer.settle_taints(node, changes_of(plan, RejectedKind.TAINT))).node
    if node.health_note:
        await client.request(make_condition_removal(node))
    request = _make_clearing(await read_metadata(client, name), name) if has_notes else None
    if request is not None:
        await client.request(request)


def _make_plan(node: NodeObject) -> Plan:
    """The plan after which nothing is ours."""
    ours = _ours(node)
    has_notes = {RejectedKind.EXTENDED_RESOURCE: bool(node.capacity_note), RejectedKind.TAINT: bool(node.taints_note)}
    gone = {
        kind: Changes(
            {}, {}, dict.fromkeys(ours.get(kind, ()), _WHY), is_needed=kind in ours or has_notes.get(kind, False)
        )
        for kind in RejectedKind
    }
    labels = gone.pop(RejectedKind.LABEL)
    return Plan({}, {}, labels.remove, labels.is_needed, memory=LabelMemory(), is_memory_new=False, others=gone)


def _own_annotations(body: bytes, name: str) -> tuple[str, ...]:
    annotations = decode(body, PartialObject, f"Node {name} cannot be read").metadata.annotations or {}
    return tuple(sorted(key for key in annotations if key.startswith(OWN_NAMES)))


def _make_clearing(body: bytes, name: str) -> Request | None:
    """The request that removes the annotations of ours that are left; ``None``: there are none."""
    left = _own_annotations(body, name)
    if not left:
        return None
    identity = read_identity(body)
    metadata = {
        "uid": identity.uid,
        "resourceVersion": identity.resource_version,
        "annotations": dict.fromkeys(left),
    }
    return requests.patch(NODES, name, msgspec.json.encode({"metadata": metadata}), Patch.MERGE, manager=MANAGER)


def _print(done: Sequence[Pruned]) -> None:
    rows = []
    for one in done:
        counts = Counter({kind: len(keys) for kind, keys in one.removed.items()})
        rows.append(
            (one.node, *(str(counts[kind]) for kind in RejectedKind), str(len(one.conditions)), str(len(one.notes)))
        )
    if rows:
        print_table(("NODE", "LABELS", "ANNOTATIONS", "RESOURCES", "TAINTS", "CONDITIONS", "OWN NOTES"), rows)
