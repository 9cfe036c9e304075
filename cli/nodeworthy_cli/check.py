"""``nodeworthy check``: will an image run on a node, and if not, why not."""

import asyncio
from pathlib import Path

import click
from click.core import ParameterSource

from nodeworthy import errors, platforms, verdicts
from nodeworthy.bus.requests import Inspect, Require, Undeclared
from nodeworthy.verdicts import Declaration, Verdict, Wishes
from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import VARIABLES, BusOptions, bus_options
from nodeworthy_cli.checking import Question, check_images, read_references
from nodeworthy_cli.facts import THIS, read_node
from nodeworthy_cli.fleet_question import ALL, FleetQuestion, is_on_bus, read_nodes_option, read_spec_text
from nodeworthy_cli.output import format_option, print_document, print_error
from nodeworthy_cli.refusing import refuse_options
from nodeworthy_cli.registry_login import OPTIONS as LOGIN_OPTIONS
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_cli.specifications import read_declaration
from nodeworthy_cli.verdict_text import print_verdict

_REGISTRY_OPTIONS = ("registry_config", "ca_file", "plain_http", "hosts_dir", *LOGIN_OPTIONS)


@click.command(name="check")
@click.argument("images", metavar="IMAGE...", nargs=-1, required=True)
@click.option(
    "--on",
    default=THIS,
    show_default=True,
    help="this; NODE[,NODE] or all, which the bus knows; a features file (its name has a slash or ends in .json or .yaml);"
    " or - for standard input.",
)
@click.option(
    "--selector", "-l", default="", help="Only nodes of the bus with these labels; metadata.name is the name."
)
@click.option(
    "--require",
    type=click.Choice([one.value for one in Require]),
    default=Require.ANY.value,
    show_default=True,
    help="Of several nodes, whether one that can run the image is enough.",
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
@click.option(
    "--inspect/--no-inspect",
    "inspect",
    default=None,
    help="Look at the images' own files; one in a registry is downloaded for it. Default: only what lies on disk here.",
)
@format_option
@bus_options
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    images: tuple[str, ...],
    on: str,
    selector: str,
    require: str,
    spec_file: str | None,
    tags: tuple[str, ...],
    platform: str | None,
    undeclared: str,
    inspect: bool | None,
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
    bus: BusOptions,
) -> None:
    """Will these images run here, or on nodes of the bus, and if not, why not.

    IMAGE is a tag or digest in a registry; oci:FOLDER[:TAG], an OCI image layout folder; oci-archive:FILE[:NAME] or
    docker-archive:FILE[:NAME], an archive of images; FILE.sif, with its specification in FILE.sif.compat.yaml;
    rootfs:FOLDER, a root folder; or FILE, written with a slash, a single program. Nodes of the bus are a question to the
    validator, for which only images in registries are looked up, by the resolver and in its own way.

    Exit codes: 0 compatible, 1 incompatible, 2 usage, image not found or no compatibility set left, 3 unknown; of several
    images the first of 2, 1, 3, 0. Of several nodes one that is compatible is enough (--require all: every one), and no is
    said only if nothing is unknown that could make it yes.
    """
    if selector and ctx.get_parameter_source("on") is ParameterSource.DEFAULT:
        on = ALL
    if is_on_bus(on):
        why = "images are looked up by the resolver of the bus, which reaches registries in its own way"
        refuse_options(ctx, _REGISTRY_OPTIONS, why, "set it for the resolver: nodeworthy resolver --help")
        asked = FleetQuestion(
            nodes=read_nodes_option(on),
            selector=selector,
            require=Require(require),
            tags=tags,
            spec=read_spec_text(spec_file, tags),
            platform="" if platform is None else str(platforms.parse(platform)),
            undeclared=Undeclared(undeclared),
            inspect=Inspect.WAIT if inspect else Inspect.KNOWN,
        )
        from nodeworthy_cli.fleet_check import check_on_bus  # loads the bus

        ctx.exit(check_on_bus(images, asked, bus, seconds=timeout, output=output, debug=bool(ctx.obj)))
    refuse_options(ctx, ("selector", "require", *VARIABLES), "the bus is not asked", "add --on all, or --on NODE")
    question = Question(
        node=read_node(on),
        wanted=None if platform is None else platforms.parse(platform),
        wishes=Wishes(tags, undeclared_is_compatible=undeclared == "compatible"),
        override=_read_override(spec_file, tags),
        inspect=inspect,
    )
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    access = with_login(access, read_references(images), files=[on, spec_file])
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
