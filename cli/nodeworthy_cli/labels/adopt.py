"""``nodeworthy labels adopt``: take over what NFD has put on Nodes, without a label changing."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import click
import msgspec

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.metadata import PartialObject, read_identity
from nodeworthy.kubernetes.refusals import (
    KubernetesConflictError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesUnauthorizedError,
)
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import LabelSettings, RejectedKind, compile_policy
from nodeworthy_cli import exits
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.labels.adoption import (
    Adoption,
    Handover,
    Left,
    make_capacity_request,
    make_request,
    needs_whole_object,
    plan_adoption,
)
from nodeworthy_cli.labels.reaching import run_on_cluster
from nodeworthy_cli.labels.selecting import TRIES, for_each, read_metadata, read_selected, selector_option
from nodeworthy_cli.output import format_option, print_document, print_table, printable


class Adopted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one Node."""

    node: str
    taken: tuple[Handover, ...] = ()
    left: tuple[Left, ...] = ()
    changed: int = 0
    """Labels that are others afterwards than before: somebody else wrote in between."""
    problem: str = ""
    """Why it was not done; nothing of the Node changed hands then."""


@click.command(name="adopt")
@click.argument("names", nargs=-1, metavar="[NODE]...")
@selector_option
@click.option(
    "--take-over",
    multiple=True,
    metavar="KEY",
    help="Take this label or annotation too, whoever has set it; may be given several times.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be taken over.")
@format_option
@kubernetes_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    selector: str,
    take_over: tuple[str, ...],
    dry_run: bool,
    output: str,
    kubernetes: KubernetesOptions,
) -> None:
    """Take over what NFD has put on Nodes: labels, annotations, extended resources and taints. No value changes.

    What is NFD's is read from its tracking annotations, which are removed. What somebody else has set since is left alone
    and told; --take-over KEY takes that, too. End nfd-master first: it would write its annotations again. A labeler keeps
    what was taken over, also what nobody gives any more, until a rule is seen to stop giving it. See first what it would
    change: labels diff.

    Exit codes: 0 done, 2 not done on some Node.
    """
    refuse_reserved(take_over)
    done = run_on_cluster(kubernetes, lambda client: adopt(client, names, selector, take_over, is_dry=dry_run))
    if output == "table":
        _print(done)
    else:
        print_document(done, output)
    _tell(done, take_over, is_dry=dry_run)
    ctx.exit(exits.USAGE if any(one.problem for one in done) else exits.YES)


def refuse_reserved(keys: Sequence[str]) -> None:
    """Refuse keys that no rule may give: taken over they would be nobody's, and prune would remove them.

    Raises:
        UsageError: one is such a key.
    """
    acceptance = compile_policy(LabelSettings()).acceptance
    for key in keys:
        objection = acceptance.find_problem(RejectedKind.LABEL, key, "")
        if objection is not None:
            raise UsageError(f"{key[:320]!r} cannot be taken over", why=objection.text)


async def adopt(
    client: Client, names: Sequence[str], selector: str, take_over: Sequence[str], *, is_dry: bool
) -> list[Adopted]:
    """Take over what is NFD's on Nodes, and these keys; what became of each Node on which there is something.

    Raises:
        UsageError: there is no such Node.
        KubernetesError: Nodes cannot be read, or may not be written.
    """
    bodies = {read_identity(body).name: body for body in await read_selected(client, names, selector)}
    done = await for_each(tuple(bodies), lambda name: adopt_node(client, name, bodies[name], take_over, is_dry=is_dry))
    return [one for one in done if one.taken or one.left or one.problem]


async def adopt_node(client: Client, name: str, body: bytes, take_over: Sequence[str], *, is_dry: bool) -> Adopted:
    """Take over one Node, whose metadata ``body`` was; it is read again where it has changed.

    Raises:
        KubernetesForbiddenError, KubernetesUnauthorizedError: this user may not do it, here and elsewhere.
    """
    problem = ""
    for _ in range(TRIES):
        try:
            adoption = await _plan(client, name, body, take_over)
            if is_dry or not adoption.is_needed:
                return Adopted(name, adoption.taken, adoption.left)
            return await _carry_out(client, adoption)
        except (KubernetesForbiddenError, KubernetesUnauthorizedError):
            raise
        except (KubernetesConflictError, KubernetesInvalidError) as error:  # another state than was read, mostly
            problem = str(error)
        except KubernetesError as error:
            return Adopted(name, problem=str(error))
        try:
            body = await read_metadata(client, name)
        except UsageError:
            return Adopted(name, problem="it is gone")
    return Adopted(name, problem=problem)


async def _plan(client: Client, name: str, body: bytes, take_over: Sequence[str]) -> Adoption:
    request = requests.read(NODES, name)
    if needs_whole_object(body, request.what):
        body = (await client.request(request)).body
    return plan_adoption(body, take_over, request.what)


async def _carry_out(client: Client, adoption: Adoption) -> Adopted:
    body = adoption.body
    capacity = make_capacity_request(adoption)
    if capacity is not None:
        body = (await client.request(capacity)).body
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    request = make_request(adoption, body, now, f"Node {adoption.node} cannot be read")
    answer = await client.request(request)
    after = decode(answer.body, PartialObject, request.what).metadata.labels or {}
    changed = sum(after.get(key) != adoption.labels.get(key) for key in {*after, *adoption.labels})
    return Adopted(adoption.node, adoption.taken, adoption.left, changed)


def _print(done: Sequence[Adopted]) -> None:
    rows = [(one.node, *_counts(one), _former(one)) for one in done if one.taken]
    if rows:
        print_table(("NODE", "LABELS", "ANNOTATIONS", "RESOURCES", "TAINTS", "FROM"), rows)
    left = [(one.node, each.kind.value, each.key, ", ".join(each.owners)) for one in done for each in one.left]
    if left:
        click.echo()
        print_table(("NODE", "LEFT ALONE", "KEY", "SET SINCE BY"), left)


def _counts(one: Adopted) -> tuple[str, ...]:
    counts = Counter(each.kind for each in one.taken)
    return tuple(str(counts[kind]) for kind in RejectedKind)


def _former(one: Adopted) -> str:
    return ", ".join(sorted({name for each in one.taken for name in each.former})) or "nobody"


def _tell(done: Sequence[Adopted], take_over: Sequence[str], *, is_dry: bool) -> None:
    """What people are to know, on standard error."""
    for one in done:
        if one.problem:
            click.echo(f"not taken over: {one.node}: {printable(one.problem)}", err=True)
    found = {each.key for one in done for each in one.taken}
    for key in take_over:
        if key not in found:
            click.echo(f"no Node has {printable(key)} by somebody else", err=True)
    nodes = sum(bool(one.taken) for one in done)
    if not nodes:
        click.echo("there is nothing to take over", err=True)
    elif is_dry:
        click.echo(f"nothing was written; Nodes that would change hands: {nodes}", err=True)
    else:
        changed = sum(one.changed for one in done)
        click.echo(f"Nodes that have changed hands: {nodes}; labels that changed: {changed}", err=True)
