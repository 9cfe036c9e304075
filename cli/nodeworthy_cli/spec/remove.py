"""``nodeworthy spec remove``: take away what is attached to an image."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from nodeworthy import errors
from nodeworthy_cli import exits
from nodeworthy_cli.output import format_option, print_document, printable
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_cli.spec.targets import Targets, read_targets, targets_option
from nodeworthy_resolver import oci

_PLANNED = "not removed"
"""The outcome of a dry run."""


@click.command(name="remove")
@click.argument("image")
@targets_option("Remove from")
@click.option("--artifact", "wanted", multiple=True, metavar="DIGEST", help="Only this one; repeat for several.")
@click.option("--yes", "-y", "is_confirmed", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@format_option
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    image: str,
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    is_confirmed: bool,
    dry_run: bool,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Remove the specifications attached to what IMAGE resolves to, or to children of the index.

    All of them, since without the newest the one before it would count. What the registry does not delete is taken off the
    fallback tag where that alone lists it. Other artifacts and the image stay.

    Exit codes: 0 removed, 1 nothing is attached, 2 whatever stopped it, a "no" to the question included.
    """
    try:
        reference = oci.parse_reference(image)
        access = with_login(make_access(registry_config, ca_file, timeout, plain_http=plain_http), [reference])
        found = _choose(asyncio.run(_list(reference, read_targets(names), access)), wanted, image)
        if not found:
            click.echo(f"{image}: nothing is attached", err=True)
            ctx.exit(exits.NO)
        if dry_run:
            _print(found, [_PLANNED] * len(found), output)
            return
        if not is_confirmed:
            _confirm(found, image)
        done: list[str] = []
        try:
            asyncio.run(_remove(reference, found, access, done))
        finally:
            _print(found[: len(done)], done, output)
    except errors.NodeworthyError as error:
        what, why, todo = error.diagnostics()
        raise errors.UsageError(what, why=why, todo=todo) from error


async def _list(
    reference: oci.AnyReference, targets: Targets, access: oci.RegistryAccess
) -> tuple[oci.Attachment, ...]:
    async with oci.open_store(reference, access) as store:
        return await oci.list_attachments(store, reference, platforms=targets)


def _choose(found: Sequence[oci.Attachment], wanted: Sequence[str], image: str) -> list[oci.Attachment]:
    """Those that were asked for.

    Raises:
        UsageError: one of them is not attached.
    """
    missing = set(wanted) - {one.digest for one in found}
    if missing:
        raise errors.UsageError(
            f"{', '.join(sorted(missing))} is not attached to {image}",
            why="attached are " + (", ".join(one.digest for one in found) or "none"),
            todo="see them with: nodeworthy spec remove IMAGE --dry-run",
        )
    return [one for one in found if not wanted or one.digest in wanted]


def _confirm(found: Sequence[oci.Attachment], image: str) -> None:
    """Ask the person at the terminal.

    Raises:
        UsageError: there is none, or the answer is no.
    """
    if not sys.stdin.isatty():
        raise errors.UsageError(
            "nothing was removed", why="there is no terminal to ask at", todo="add --yes, or look first with --dry-run"
        )
    for one in found:
        click.echo(f"  {_describe(one)}", err=True)
    if not click.confirm(f"Remove {len(found)} from {image}?", err=True):
        raise errors.UsageError("nothing was removed", why="the answer was no")


async def _remove(
    reference: oci.AnyReference, found: Sequence[oci.Attachment], access: oci.RegistryAccess, done: list[str]
) -> None:
    """One after the other: on registries without the referrers API each changes the same tag. ``done`` gets the outcomes."""
    async with oci.open_store(reference, access) as store:
        for one in found:
            done.append((await oci.detach(store, one)).value)  # noqa: PERF401 # what was done is told if the next fails


def _describe(one: oci.Attachment) -> str:
    platform = f" ({one.platform})" if one.platform else ""
    created = f", of {printable(one.created[:40])}" if one.created else ""
    return f"{one.digest} attached to {one.subject}{platform}{created}"


def _print(found: Sequence[oci.Attachment], outcomes: Sequence[str], output: str) -> None:
    if output == "table":
        for one, outcome in zip(found, outcomes, strict=True):
            click.echo(f"{outcome}: {_describe(one)}")
        if oci.Removal.UNLISTED.value in outcomes:
            click.echo(
                "note: the registry deletes nothing; what is unlisted counts no more, and is still stored", err=True
            )
        return
    shown = [
        {
            "digest": one.digest,
            "subject": one.subject,
            "platform": str(one.platform) if one.platform else None,
            "created": one.created,
            "outcome": outcome,
        }
        for one, outcome in zip(found, outcomes, strict=True)
    ]
    print_document(shown, output)
