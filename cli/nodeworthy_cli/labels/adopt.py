"""``nodeworthy labels adopt``: take over what NFD has put on Nodes, without a label changing."""

from collections import Counter
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime

import click
import msgspec

from nodeworthy.bus.store import Store
from nodeworthy.errors import BusDeniedError, BusError, BusNobodyError, PayloadError, UsageError
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
from nodeworthy_cli.bus_options import BusOptions, bus_options
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
from nodeworthy_cli.labels.former_giver import note_former_giver
from nodeworthy_cli.labels.reaching import Reach, run_on_either
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
    """Why it was not done; nothing of the Node changed hands then, unless ``taken`` lists it."""


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
@bus_options
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
    bus: BusOptions,
) -> None:
    """Take over what NFD has put on Nodes: labels, annotations, extended resources and taints. No value changes.

    What is NFD's is read from its tracking annotations, which are removed. What somebody else has set since is left alone
    and told; --take-over KEY takes that, too. End nfd-master first: it would write its annotations again.

    With --server it is noted on the bus what was NFD's, by a user who may write the labelers' records: the labeler's, or an
    administrator's. What no rule gives then goes once a labeler knows the facts of the Node; labels diff shows it before.
    Without the bus such keys are kept for ever.

    Exit codes: 0 done, 2 not done on some Node.
    """
    refuse_reserved(take_over)

    async def work(reach: Reach) -> list[Adopted]:
        assert reach.client is not None
        return await adopt(reach.client, names, selector, take_over, is_dry=dry_run, store=reach.store)

    done = run_on_either(bus, kubernetes, "labels adopt", work, needs_cluster=True)
    if output == "table":
        _print(done)
    else:
        print_document(done, output)
    _tell(done, take_over, is_dry=dry_run, has_bus=bool(bus.server))
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


async def adopt(  # two that are named, and what each Node is adopted by
    client: Client,
    names: Sequence[str],
    selector: str,
    take_over: Sequence[str],
    *,
    is_dry: bool,
    store: Store | None = None,
) -> list[Adopted]:
    """Take over what is NFD's on Nodes, and these keys; what became of each Node on which there is something.

    ``store`` is the bus on which it is noted that it was NFD's; ``None``: it is noted nowhere.

    Raises:
        UsageError: there is no such Node.
        KubernetesError: Nodes cannot be read, or may not be written.
        BusDeniedError, BusNobodyError: nothing can be noted.
    """
    bodies = {read_identity(body).name: body for body in await read_selected(client, names, selector)}

    def adopt_one(name: str) -> Awaitable[Adopted]:
        return adopt_node(client, name, bodies[name], take_over, is_dry=is_dry, store=store)

    done = await for_each(tuple(bodies), adopt_one)
    return [one for one in done if one.taken or one.left or one.problem]


async def adopt_node(  # as above
    client: Client,
    name: str,
    body: bytes,
    take_over: Sequence[str],
    *,
    is_dry: bool,
    store: Store | None = None,
) -> Adopted:
    """Take over one Node, whose metadata ``body`` was; it is read again where it has changed.

    Raises:
        KubernetesForbiddenError, KubernetesUnauthorizedError: this user may not do it, here and elsewhere.
        BusDeniedError, BusNobodyError: nothing can be noted, of this Node and of others.
    """
    problem = ""
    for _ in range(TRIES):
        try:
            adoption = await _plan(client, name, body, take_over)
            if is_dry or not adoption.is_needed:
                return Adopted(name, adoption.taken, adoption.left)
            if store is not None:
                await note_former_giver(store, name, adoption.uid, adoption.of_nfd)
            done = await _carry_out(client, adoption)
        except (KubernetesForbiddenError, KubernetesUnauthorizedError, BusDeniedError, BusNobodyError):
            raise
        except (BusError, PayloadError) as error:
            return Adopted(name, problem=f"it cannot be noted what was NFD's: {error}")
        except (KubernetesConflictError, KubernetesInvalidError) as error:  # another state than was read, mostly
            problem = str(error)
        except KubernetesError as error:
            return Adopted(name, problem=str(error))
        else:
            return done if store is None else await _note_again(store, adoption, done)
        try:
            body = await read_metadata(client, name)
        except UsageError:
            return Adopted(name, problem="it is gone")
    return Adopted(name, problem=problem)


async def _note_again(store: Store, adoption: Adoption, done: Adopted) -> Adopted:
    """A labeler that looked at the Node between the note and the change has dropped the note: these keys were not ours."""
    try:
        await note_former_giver(store, adoption.node, adoption.uid, adoption.of_nfd)
    except (BusError, PayloadError) as error:
        text = f"it changed hands, and it may not be noted what was NFD's, which is then kept: {error}"
        return msgspec.structs.replace(done, problem=text)
    return done


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


def _tell(done: Sequence[Adopted], take_over: Sequence[str], *, is_dry: bool, has_bus: bool) -> None:
    """What people are to know, on standard error."""
    for one in done:
        if one.problem:
            what = "not noted" if one.taken else "not taken over"
            click.echo(f"{what}: {one.node}: {printable(one.problem)}", err=True)
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
    if nodes and not has_bus and any(each.by_nfd for one in done for each in one.taken):
        click.echo("no bus is named (--server): of these, what no rule gives is kept for ever", err=True)
