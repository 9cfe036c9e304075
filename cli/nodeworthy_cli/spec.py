"""``nodeworthy spec``: compatibility specifications, from a file to an image and back."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click
import msgspec

from nodeworthy import errors, platforms, rules
from nodeworthy.images import ArtifactSearch, ImageKnowledge, SearchState
from nodeworthy.platforms import Platform
from nodeworthy_cli import exits
from nodeworthy_cli.output import format_option, print_document, printable
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_cli.specifications import read_spec_file, read_valid_spec
from nodeworthy_resolver import oci


@click.group(name="spec")
def command() -> None:
    """Validate, show and attach compatibility specifications."""


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@format_option
@click.pass_context
def validate(ctx: click.Context, *, files: tuple[str, ...], output: str) -> None:
    """Say everything that is wrong with specification files; - is standard input.

    Exit codes: 0 valid, 1 invalid, 2 a file cannot be read.
    """
    reports = [_validate(name, read_spec_file(name)) for name in files]
    if output == "table":
        for report in reports:
            _print_report(report)
    else:
        print_document(reports[0] if len(reports) == 1 else reports, output)
    ctx.exit(exits.combine(exits.YES if report.valid else exits.NO for report in reports))


class _Problem(msgspec.Struct, omit_defaults=True):
    line: int
    path: str
    message: str
    hint: str = ""


class _Report(msgspec.Struct):
    file: str
    valid: bool
    problems: list[_Problem]
    notices: list[_Problem]


def _validate(name: str, data: bytes) -> _Report:
    try:
        spec = rules.read_compatibility_spec(data, name, strict=True)
    except errors.DocumentError as error:
        return _Report(name, valid=False, problems=_plain(error.problems), notices=[])
    return _Report(name, valid=True, problems=[], notices=_plain(spec.notices))


def _plain(problems: tuple[errors.Problem, ...]) -> list[_Problem]:
    return [_Problem(problem.line, problem.path, problem.message, problem.hint) for problem in problems]


def _print_report(report: _Report) -> None:
    click.echo(f"{report.file}: {'valid' if report.valid else 'not valid'}")
    for kind, problems in (("error", report.problems), ("note", report.notices)):
        for problem in problems:
            text = errors.Problem(report.file, problem.line, problem.path, problem.message, problem.hint)
            click.echo(f"  {kind}: {text}")


@command.command()
@click.argument("image")
@click.option("--platform", "platform", help="The artifact of this child of an index, else of the index itself.")
@click.option("-o", "--output", "output", type=click.Choice(["document", "json", "yaml"]), default="document")
@registry_options
@click.pass_context
def show(
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
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    wanted = None if platform is None else platforms.parse(platform)
    search = _pick(asyncio.run(_resolve(image, wanted, access)), wanted)
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


async def _resolve(image: str, wanted: Platform | None, access: oci.RegistryAccess) -> ImageKnowledge:
    reference = oci.parse_reference(image)
    async with oci.open_store(reference, access) as store:
        return await oci.resolve_image(store, reference, [wanted] if wanted else [])


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


@command.command()
@click.argument("image")
@click.argument("file")
@click.option("--platform", "names", multiple=True, help="Attach to this child of an index; 'all' for every child.")
@format_option
@registry_options
def attach(
    *,
    image: str,
    file: str,
    names: tuple[str, ...],
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Attach a specification to an image: to what the reference resolves to, or to children of the index.

    The newest of several attached specifications counts. Exit codes: 0 attached, 2 whatever stopped it.
    """
    try:
        data, spec = read_valid_spec(file, "nothing was attached; mend the file first")
        access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
        attached = asyncio.run(_attach(image, data, _targets(names), access, Path(file).name))
    except errors.NodeworthyError as error:
        what, why, todo = error.diagnostics()
        raise errors.UsageError(what, why=why, todo=todo) from error
    for notice in spec.notices:
        click.echo(f"note: {notice}", err=True)
    if output == "table":
        for one in attached:
            platform = f" ({one.platform})" if one.platform else ""
            click.echo(f"attached {one.digest} to {one.subject}{platform}, found by {one.via.value}")
        return
    shown = [
        {
            "digest": one.digest,
            "subject": one.subject,
            "platform": str(one.platform) if one.platform else None,
            "via": one.via.value,
        }
        for one in attached
    ]
    print_document(shown[0] if len(shown) == 1 else shown, output)


def _targets(names: tuple[str, ...]) -> Literal["all"] | list[Platform] | None:
    if not names:
        return None
    return "all" if "all" in names else [platforms.parse(name) for name in names]


async def _attach(
    image: str,
    data: bytes,
    targets: Literal["all"] | list[Platform] | None,
    access: oci.RegistryAccess,
    title: str,
) -> tuple[oci.Attached, ...]:
    reference = oci.parse_reference(image)
    async with oci.open_store(reference, access) as store:
        return await oci.attach(store, reference, data, platforms=targets, created=datetime.now(UTC), title=title)
