"""``nodeworthy check``: will an image run on a node, and if not, why not."""

import asyncio
from pathlib import Path

import click

from nodeworthy import errors, platforms, verdicts
from nodeworthy.verdicts import Declaration, Verdict, Wishes
from nodeworthy_cli import exits
from nodeworthy_cli.checking import Question, check_images
from nodeworthy_cli.facts import THIS, read_node
from nodeworthy_cli.output import format_option, print_document, print_error
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_cli.specifications import read_declaration
from nodeworthy_cli.verdict_text import print_verdict


@click.command(name="check")
@click.argument("images", metavar="IMAGE...", nargs=-1, required=True)
@click.option(
    "--on",
    default=THIS,
    show_default=True,
    help="this, a features file (its name has a slash or ends in .json or .yaml), or - for standard input.",
)
@click.option("--spec", "spec_file", help="Use this specification instead of the attached one; - is standard input.")
@click.option("--tag", "tags", multiple=True, help="Only compatibility sets with this tag; repeat for any of several.")
@click.option("--platform", "platform", help="Take this platform from an index, as linux/arm64.")
@click.option(
    "--undeclared",
    type=click.Choice(["unknown", "compatible"]),
    default="unknown",
    show_default=True,
    help="What an image is whose platform fits and that declares nothing.",
)
@format_option
@registry_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    images: tuple[str, ...],
    on: str,
    spec_file: str | None,
    tags: tuple[str, ...],
    platform: str | None,
    undeclared: str,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Will these images run here, and if not, why not.

    IMAGE is a tag or digest in a registry, or oci:FOLDER[:TAG] for an OCI image layout folder.

    Exit codes: 0 compatible, 1 incompatible, 2 usage, image not found or no compatibility set left, 3 unknown; of several
    images the first of 2, 1, 3, 0.
    """
    question = Question(
        node=read_node(on),
        wanted=None if platform is None else platforms.parse(platform),
        wishes=Wishes(tags, undeclared_is_compatible=undeclared == "compatible"),
        override=_read_override(spec_file, tags),
    )
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    answers = asyncio.run(check_images(images, question, access))
    given = [answer for answer in answers if isinstance(answer, Verdict)]
    _print(given, output, single=len(images) == 1)
    failed = [answer for answer in answers if isinstance(answer, errors.NodeworthyError)]
    if len(images) == 1 and failed:
        raise failed[0]
    for error in failed:
        print_error(error)
    ctx.exit(exits.combine(map(_code, answers)))


def _read_override(spec_file: str | None, tags: tuple[str, ...]) -> Declaration | None:
    if spec_file is None:
        return None
    declaration = read_declaration(spec_file)
    verdicts.select_sets(declaration.spec, tags)  # a tag that nothing carries is said before any registry is asked
    return declaration


def _print(given: list[Verdict], output: str, *, single: bool) -> None:
    if output != "table":
        if given or not single:
            print_document(given[0] if single else given, output)
        return
    for number, verdict in enumerate(given):
        if number:
            click.echo()
        print_verdict(verdict)


def _code(answer: Verdict | errors.NodeworthyError) -> int:
    return exits.of_answer(answer.verdict) if isinstance(answer, Verdict) else exits.of_error(answer)
