"""The verb ``inspect``: its options, and what is done with an image's files."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from nodeworthy import errors, platforms
from nodeworthy_cli import exits
from nodeworthy_cli.inspect.difference import compare, print_difference
from nodeworthy_cli.inspect.looking import Job, Report, look
from nodeworthy_cli.inspect.text import print_inspection, print_libraries
from nodeworthy_cli.output import format_option, print_document, print_error
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_resolver.inspection.limits import InspectingLimits
from nodeworthy_resolver.inspection.targets import ROOT_FOLDER, RootFolder, SingleFile, Target, parse_target

_ROOT_FOLDER_WORD = ROOT_FOLDER.rstrip(":")
_PAIR = 2


@click.command(name="inspect")
@click.argument("images", metavar="IMAGE|rootfs FOLDER|FILE", nargs=-1, required=True)
@click.option(
    "--platform", "platform", help="Take this platform from an index. Default: this machine's, or the only one."
)
@click.option("--libraries", is_flag=True, help="List every library with its version and the symbol versions it needs.")
@click.option("--diff", "is_diff", is_flag=True, help="What is different in the second of two images.")
@click.option(
    "--extract",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the entrypoint and all that it loads below a new folder.",
)
@click.option("--entrypoint", "entrypoint", metavar="PROGRAM", help="Look at it as if this were executed.")
@click.option(
    "--time-limit",
    "seconds",
    type=click.FloatRange(1, 86400),
    default=InspectingLimits.seconds,
    show_default=True,
    help="Seconds for looking at the files, once they are here; what is left then is named.",
)
@format_option
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    images: tuple[str, ...],
    platform: str | None,
    libraries: bool,
    is_diff: bool,
    folder: Path | None,
    entrypoint: str | None,
    seconds: float,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """What an image needs of a node, read from its own files.

    IMAGE is written as for check; rootfs FOLDER (or rootfs:FOLDER) is a root folder; FILE, written with a slash, a single
    program. Nothing of an image is executed. A root folder of which nobody says what is executed is looked at as if its
    shell were, or its only program.

    Exit codes: 0 looked at (--diff: no difference), 1 the image is at fault on every node (--diff: a difference), 2 usage
    or image not found, 3 it could not be looked at; of several the first of 2, 1, 3, 0.
    """
    names = _read_names(images)
    if is_diff and len(names) != _PAIR:
        raise errors.UsageError("--diff compares two images", why=f"{len(names)} are named")
    if folder is not None and len(names) != 1:
        raise errors.UsageError("--extract writes one image out", why=f"{len(names)} are named")
    targets = [parse_target(name) for name in names]
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    access = with_login(access, [one for one in targets if not isinstance(one, RootFolder | SingleFile)], files=[])
    job = Job(
        platform=None if platform is None else platforms.parse(platform),
        access=access,
        entrypoint=(entrypoint,) if entrypoint else (),
        limits=InspectingLimits(seconds=seconds),
        folder=folder,
    )
    answers = [_answer(target, job) for target in targets]
    reports = [answer for answer in answers if isinstance(answer, Report)]
    failed = [answer for answer in answers if isinstance(answer, errors.NodeworthyError)]
    if failed and len(targets) == 1:
        raise failed[0]
    if is_diff and not failed:
        ctx.exit(_print_diff(reports, output))
    _print(reports, output, libraries=libraries, single=len(targets) == 1)
    for error in failed:
        print_error(error)
    ctx.exit(exits.combine([*map(exits.of_error, failed), *map(_code, reports)]))


def _read_names(words: Sequence[str]) -> list[str]:
    """The images, ``rootfs FOLDER`` being one of them."""
    names: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == _ROOT_FOLDER_WORD:
            if not left:
                raise errors.UsageError("rootfs names no folder", todo="write: nodeworthy inspect rootfs FOLDER")
            word = f"{ROOT_FOLDER}{left.pop(0)}"
        names.append(word)
    return names


def _answer(target: Target, job: Job) -> Report | errors.NodeworthyError:
    try:
        return asyncio.run(look(target, job))
    except errors.NodeworthyError as error:
        return error


def _print_diff(reports: Sequence[Report], output: str) -> int:
    before, after = reports
    difference = compare((before.image, after.image), before.inspection, after.inspection)
    if output == "table":
        print_difference(difference)
    else:
        print_document(difference, output)
    return exits.YES if difference.is_empty else exits.NO


def _print(reports: Sequence[Report], output: str, *, libraries: bool, single: bool) -> None:
    if output != "table":
        told = reports if libraries else [_without_libraries(report) for report in reports]
        if told or not single:
            print_document(told[0] if single else told, output)
        return
    for number, report in enumerate(reports):
        if number:
            click.echo()
        if libraries:
            print_libraries(report.inspection.libraries)
        else:
            print_inspection(report.image, report.inspection)


def _without_libraries(report: Report) -> Report:
    return msgspec.structs.replace(report, inspection=msgspec.structs.replace(report.inspection, libraries=()))


def _code(report: Report) -> int:
    return exits.NO if report.inspection.is_broken else exits.YES
