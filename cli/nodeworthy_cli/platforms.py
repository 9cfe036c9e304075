"""``nodeworthy platforms``: what platforms images offer, and whether all that are wanted are there."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from nodeworthy import errors, platforms
from nodeworthy.platforms import Platform
from nodeworthy_cli import exits
from nodeworthy_cli.checking import read_references
from nodeworthy_cli.containerfiles import list_images
from nodeworthy_cli.facts import read_file
from nodeworthy_cli.output import emphasize, format_option, print_document, print_error, print_table, printable
from nodeworthy_cli.platform_questions import PlatformQuestion, ask_platforms
from nodeworthy_cli.platform_reports import ImageReport, Standing
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options

MAX_CONTAINERFILE_BYTES = 1024 * 1024
"""Real ones have a few kilobytes."""

_CODES = {"yes": exits.YES, "no": exits.NO, "unknown": exits.UNKNOWN}
_COLORS = {"yes": "green", "no": "red", "unknown": "yellow"}


@click.command(name="platforms")
@click.argument("images", metavar="[IMAGE]...", nargs=-1)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="PLATFORM[,PLATFORM]",
    help="Every one of these must be offered, as linux/amd64,linux/arm64; repeat or separate by commas.",
)
@click.option(
    "--containerfile", metavar="FILE", help="Also the images that this file builds from; - is standard input."
)
@click.option(
    "--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", help="A build argument of the Containerfile."
)
@click.option(
    "--content/--no-content",
    "with_content",
    default=None,
    help="Also read the layers: the programs inside must be for the platform that the image says."
    " Default: where --require asks for platforms of an image that is named here.",
)
@format_option
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    images: tuple[str, ...],
    required: tuple[str, ...],
    containerfile: str | None,
    arguments: tuple[str, ...],
    with_content: bool | None,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """What platforms images offer, and whether each image is what its platform says.

    IMAGE is written as for check. A platform is wanted by its own name: linux/arm64 is not served by linux/arm/v7. It is
    looked at index and image config, and of what is required also at the program that the image starts, a script's
    interpreter, or else all programs in it; that downloads it. The images of a Containerfile are wanted for the required
    platforms, and without any for this machine's, as a build would pull them; of all stages, COPY --from and RUN --mount
    included.

    Exit codes: 0 all there, 1 a platform is missing or an image is not what its platform says, 2 usage, an image that is
    not found or a Containerfile with an image that cannot be told, 3 unknown; of several the first of 2, 1, 3, 0.
    """
    wanted = _read_platforms(required)
    questions = [PlatformQuestion(image, wanted) for image in images]
    problems: tuple[errors.Problem, ...] = ()
    if containerfile is not None:
        more, problems = _read_containerfile(containerfile, wanted, _read_arguments(arguments))
        questions += more
    elif arguments:
        raise errors.UsageError("--build-arg says nothing here", todo="add --containerfile FILE")
    if not questions and not problems and containerfile is None:
        raise errors.UsageError("no image is named", todo="name an image, or add --containerfile FILE")
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    access = with_login(access, read_references([one.image for one in questions]), files=[containerfile])
    answers = asyncio.run(ask_platforms(questions, access, with_content=with_content))
    reports = [answer for answer in answers if isinstance(answer, ImageReport)]
    _print(reports, output, single=len(images) == 1 and containerfile is None)
    if not questions and not problems:
        click.echo(f"{containerfile}: builds from no image", err=True)
    failures: list[errors.NodeworthyError] = [one for one in answers if isinstance(one, errors.NodeworthyError)]
    if problems:
        failures.append(errors.DocumentError(str(containerfile), problems))
    for error in failures:
        print_error(error)
    ctx.exit(exits.combine([*map(exits.of_error, failures), *(_CODES[report.answer] for report in reports)]))


def _read_platforms(required: Sequence[str]) -> tuple[Platform, ...]:
    names = [name.strip() for text in required for name in text.split(",")]
    return tuple(dict.fromkeys(map(platforms.parse, names)))


def _read_arguments(texts: Sequence[str]) -> dict[str, str]:
    arguments = {}
    for text in texts:
        name, equals, value = text.partition("=")
        # As docker build has it: a name alone takes the variable of the environment.
        found = value if equals else os.environ.get(name)
        if not name:
            raise errors.UsageError(f"--build-arg {text!r} names nothing", todo="--build-arg NAME=VALUE")
        if found is not None:
            arguments[name] = found
    return arguments


class _Named(NamedTuple):
    platforms: dict[Platform, None]
    lines: dict[int, None]


def _read_containerfile(
    name: str, wanted: Sequence[Platform], arguments: Mapping[str, str]
) -> tuple[list[PlatformQuestion], tuple[errors.Problem, ...]]:
    """A question for each image of the file, and what of it cannot be told.

    Raises:
        UsageError: the file cannot be read.
        DocumentError: it is no Containerfile.
    """
    try:
        text = read_file(name, MAX_CONTAINERFILE_BYTES, "Containerfile").decode()
    except UnicodeDecodeError as error:
        raise errors.UsageError(f"Containerfile {name} cannot be read", why="it is not UTF-8") from error
    build = platforms.normalize("linux", os.uname().machine)
    named: dict[str, _Named] = {}
    problems: dict[errors.Problem, None] = {}
    for target in wanted or (build,):
        uses, found = list_images(text, name, target, build, arguments)
        problems |= dict.fromkeys(found)
        for use in uses:
            one = named.setdefault(use.image, _Named({}, {}))
            one.platforms[use.platform] = None
            one.lines[use.line] = None
    questions = [
        PlatformQuestion(image, tuple(one.platforms), tuple(f"{name}:{line}" for line in one.lines))
        for image, one in named.items()
    ]
    return questions, tuple(problems)


def _print(reports: Sequence[ImageReport], output: str, *, single: bool) -> None:
    if output != "table":
        if reports or not single:
            print_document(reports[0] if single else reports, output)
        return
    for number, report in enumerate(reports):
        if number:
            click.echo()
        _print_report(report)


def _print_report(report: ImageReport) -> None:
    named = f" ({', '.join(map(printable, report.named_by))})" if report.named_by else ""
    click.echo(f"{printable(report.image)}{named}: {emphasize(report.answer, _COLORS[report.answer])}")
    for one in report.wanted:
        if one.standing is not Standing.AGREES:
            click.echo(f"  {one.standing.value}: {one.platform}: {printable(one.reason)}")
    rows = [
        (offer.platform or "-", offer.standing.value, offer.digest, "" if report.wanted else offer.reason)
        for offer in report.offers
    ]
    print_table(("PLATFORM", report.level.upper(), "DIGEST", ""), rows, indent="  ")
    for notice in report.notices:
        click.echo(f"note: {printable(notice)}")
