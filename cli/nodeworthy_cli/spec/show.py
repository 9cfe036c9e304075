"""``nodeworthy spec show``: the specification that is attached to an image."""

import asyncio
import sys
from pathlib import Path

import click

from nodeworthy import errors, platforms
from nodeworthy.images import ArtifactSearch, ImageKnowledge, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_cli import exits
from nodeworthy_cli.output import print_document, printable
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_resolver import oci


@click.command(name="show")
@click.argument("image")
@click.option("--platform", "platform", help="The artifact of this child of an index, else of the index itself.")
@click.option("-o", "--output", "output", type=click.Choice(["document", "json", "yaml"]), default="document")
@registry_options
@login_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    image: str,
    platform: str | None,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Print the specification that is attached to an image.

    Exit codes: 0 shown, 1 none is attached, 2 image not found, 3 it cannot be read now.
    """
    reference = oci.parse_reference(image)
    access = with_login(make_access(registry_config, ca_file, timeout, plain_http=plain_http), [reference])
    wanted = None if platform is None else platforms.parse(platform)
    knowledge = asyncio.run(oci.look_up(reference, [wanted] if wanted else [], access))
    search = _pick(knowledge, wanted)
    for notice in search.notices:
        click.echo(f"note: {printable(notice)}", err=True)
    if search.state is SearchState.FAILED:
        raise errors.ArtifactError(f"the artifact of {image} cannot be read", why=search.reason)
    if search.artifact is None:
        click.echo(f"{image}: nothing is attached", err=True)
        ctx.exit(exits.NO)
    if output == "document":
        _print_text(search.artifact.data)
        return
    # What is attached may be older than today's reader or wrong: the text is shown, whatever it says.
    text = search.artifact.data.decode(errors="replace")
    shown = {
        "image": image,
        "digest": search.artifact.digest,
        "subject": search.artifact.subject,
        "created": search.artifact.created,
        "document": text,
    }
    print_document(shown, output)


def _pick(knowledge: ImageKnowledge, wanted: Platform | None) -> ArtifactSearch:
    """The search that answers: the single image's, the chosen child's if it found something, else the index's."""
    candidates = [(image.claimed or image.configured, image) for image in knowledge.images]
    if wanted is not None:
        chosen = platforms.choose(wanted, [(platform, image) for platform, image in candidates if platform])
        if chosen is None:
            offered = platforms.names([platform for platform, _ in candidates if platform])
            raise errors.UsageError(
                f"{knowledge.reference} is not offered for {wanted}", why=f"it is offered for {offered}"
            )
        if chosen.search is not None and chosen.search.state is not SearchState.NONE:
            return chosen.search
    if knowledge.search is not None:
        return knowledge.search
    searches = [image.search for image in knowledge.images if image.search is not None]
    return searches[0] if searches else ArtifactSearch(SearchState.NONE)


def _print_text(data: bytes) -> None:
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    for line in data.decode(errors="replace").splitlines():
        click.echo(printable(line.replace("\t", "    ")))
