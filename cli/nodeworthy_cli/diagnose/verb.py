"""``nodeworthy diagnose``: the verb."""

from pathlib import Path

import click

from nodeworthy import errors
from nodeworthy.diagnosis import Diagnosis, load
from nodeworthy.diagnosis.drafts import draft_rule, draft_specification
from nodeworthy.kubernetes.refusals import KubernetesError, KubernetesNotFoundError
from nodeworthy_cli import exits
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.diagnose import gathering
from nodeworthy_cli.diagnose.inputs import parse_exit_code, read_core_file, read_given
from nodeworthy_cli.diagnose.text import print_diagnosis, print_signatures
from nodeworthy_cli.kubernetes_options import KubernetesOptions, kubernetes_options
from nodeworthy_cli.output import FORMATS, print_document, print_error
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_resolver.inspection.targets import RootFolder, SingleFile, parse_target

_DRAFTS = ("rule", "spec")


@click.command(name="diagnose")
@click.argument("texts", metavar="[TEXT...|-]", nargs=-1)
@click.option("--exit-code", "exit_codes", multiple=True, metavar="N", help="An exit code, as 132, -4 or 0xC000001D.")
@click.option("--dmesg", "kernel_lines", multiple=True, metavar="LINE|FILE", help="Lines of the node's kernel log.")
@click.option("--image", help="The image, as for inspect: rootfs:FOLDER and FILE too.")
@click.option(
    "--node",
    "--on",
    "on",
    metavar="NODE|FILE|this",
    help="The node: of the bus, this machine, or a features file (its name has a slash or ends in .json or .yaml).",
)
@click.option("--pod", metavar="NAMESPACE/NAME", help="A pod of the cluster: its status, events, image, node and spec.")
@click.option(
    "--workload",
    metavar="NAMESPACE/NAME",
    help="A Deployment, DaemonSet, StatefulSet or Job: what separates nodes where it runs from nodes where it fails.",
)
@click.option("--core", type=click.Path(path_type=Path), metavar="FILE", help="A core file of the program.")
@click.option("--table", is_flag=True, help="Print every sign that is known, and what it may mean.")
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Choice((*FORMATS, *_DRAFTS)),
    default="table",
    show_default=True,
    help="How to print it; rule and spec draft what would have prevented it.",
)
@kubernetes_options
@bus_options
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    texts: tuple[str, ...],
    exit_codes: tuple[str, ...],
    kernel_lines: tuple[str, ...],
    image: str | None,
    on: str | None,
    pod: str | None,
    workload: str | None,
    core: Path | None,
    table: bool,
    output: str,
    kubernetes: KubernetesOptions,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
    bus: BusOptions,
) -> None:
    """Say what a failure really was: who printed it, the likely cause with its evidence, and what to do.

    TEXT is a message, a log or an event; - is standard input. The more is given, the more is shown: with an image and a
    node every possible cause is held against the image's own files and the node's facts. "Not explained" is an answer.

    Exit codes: 0 explained, 1 not explained, 2 usage, 3 not explained, and the registry, the bus or the cluster could not
    be asked.
    """
    if table:
        _print_table(output)
        return
    if not any((texts, exit_codes, kernel_lines, pod, workload, core)):
        raise errors.UsageError(
            "nothing is given to diagnose", todo="give a message, --exit-code, --dmesg, --core, --pod or --workload"
        )
    found = gathering.Findings(codes=[parse_exit_code(code) for code in exit_codes])
    try:
        if pod:
            gathering.ask_pod(found, bus, kubernetes, pod)
        if workload:
            gathering.ask_workload(found, bus, kubernetes, workload)
        if on is not None:
            gathering.ask_node(found, bus, on)
    except KubernetesNotFoundError:
        raise
    except (KubernetesError, errors.BusError) as error:
        print_error(error)
        ctx.exit(exits.UNKNOWN)
    given = read_given(texts, kernel_lines, found.texts)
    crashed = read_core_file(core) if core is not None else None
    name = image or found.case.image
    if name:
        access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
        target = parse_target(name)
        stored = [] if isinstance(target, RootFolder | SingleFile) else [target]
        access = with_login(access, stored, files=texts)
        gathering.ask_image(found, name, access, given, crashed)
    answer = gathering.conclude(found, given, crashed)
    _print(answer, output, name)
    if found.image_error is not None:
        print_error(found.image_error)
    ctx.exit(_code(answer, found.image_error))


def _print_table(output: str) -> None:
    if output in _DRAFTS:
        raise errors.UsageError(f"-o {output} says nothing here", why="the table of signs drafts nothing")
    if output == "table":
        print_signatures(load())
    else:
        print_document(load(), output)


def _print(answer: Diagnosis, output: str, image: str) -> None:
    if output == "rule":
        click.echo(draft_rule(answer.cause), nl=False)
    elif output == "spec":
        click.echo(draft_specification(answer.cause, image or "IMAGE"), nl=False)
    elif output == "table":
        print_diagnosis(answer)
    else:
        print_document(answer, output)


def _code(answer: Diagnosis, error: errors.NodeworthyError | None) -> int:
    if answer.explained:
        return exits.YES
    return exits.NO if error is None else exits.of_error(error)
