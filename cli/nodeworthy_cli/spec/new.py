"""``nodeworthy spec new``: a specification to begin with."""

import asyncio
from pathlib import Path

import click

from nodeworthy import platforms
from nodeworthy.errors import UsageError
from nodeworthy.requirements import Inspection
from nodeworthy_cli import exits
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_resolver.inspection.targets import parse_target
from nodeworthy_resolver.oci import Reference, RegistryAccess

TEMPLATE = """\
# What an image needs of a node, for: nodeworthy check, and Node Feature Discovery's client.
#
#   nodeworthy spec validate FILE         everything that is wrong with it, with lines
#   nodeworthy check IMAGE --spec FILE    try it on this machine
#   nodeworthy features                   the names that can be asked for, and what they are here
#   nodeworthy spec attach IMAGE FILE     put it beside the image
#
# A node fits if at least one set is met. A set is met if all of its rules match; a rule matches if all of its features do.
version: v1alpha1
compatibilities:
- description: "what it cannot do without"
  # Of several sets that are met, the one with the greatest weight gives the score.
  weight: 1
  # A name for: nodeworthy check --tag.
  # tag: required
  rules:
  # Keep what is true of your image, and take the rest out.
  - name: kernel
    matchFeatures:
    - feature: kernel.version
      matchExpressions:
        full: {op: Ge, value: ["4.18"], type: version}
  # - name: instructions
  #   matchFeatures:
  #   - feature: cpu.cpuid
  #     matchExpressions:
  #       AVX2: {op: Exists}
  # - name: module
  #   matchFeatures:
  #   - feature: kernel.loadedmodule
  #     matchExpressions:
  #       vfio_pci: {op: Exists}
  # - name: card
  #   matchFeatures:
  #   - feature: pci.device
  #     matchExpressions:
  #       vendor: {op: In, value: ["10de"]}
  #       class: {op: In, value: ["0300", "0302"]}
"""
"""The smallest useful specification; every commented rule is valid where it stands."""


@click.command(name="new")
@click.argument("file", metavar="[FILE]", default="-")
@click.option("--from", "image", metavar="IMAGE", help="Draft it from the files of this image, written as for inspect.")
@click.option(
    "--platform", "platform", help="Take this platform from an index. Default: this machine's, or the only one."
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@registry_options
@login_options
@click.pass_context
def command(  # noqa: PLR0913 # one parameter for each option
    ctx: click.Context,
    *,
    file: str,
    image: str | None,
    platform: str | None,
    force: bool,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Write a specification to begin with, each part explained; without FILE to standard output.

    With --from, what the image's own files need is asked for: what is certain as rules, what is only probable as comments.
    It is a draft, to be read before it is attached. Without, it is the same for every image.

    Exit codes: 0 written, 1 written, and the image is at fault on every node, 2 the file is there already or cannot be
    written, or the image is not found, 3 the image's files could not be looked at.
    """
    if image is None:
        _refuse_platform(platform)
        _write(file, TEMPLATE, force=force)
        return
    if file != "-" and not force and Path(file).exists():
        raise _is_there(file)  # before the image is downloaded
    access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
    found, name = _inspect(image, platform, access)
    from nodeworthy.requirements.drafting import draft_specification

    _write(file, draft_specification(found, name), force=force)
    ctx.exit(exits.NO if found.is_broken else exits.YES)


def _refuse_platform(platform: str | None) -> None:
    if platform is not None:
        raise UsageError("--platform says nothing here", why="no image is named", todo="add --from IMAGE")


def _inspect(image: str, platform: str | None, access: RegistryAccess) -> tuple[Inspection, str]:
    from nodeworthy_cli.inspect.looking import Job, look  # loads the disassembler

    target = parse_target(image)
    access = with_login(access, [target] if isinstance(target, Reference) else [])
    report = asyncio.run(look(target, Job(platforms.parse(platform) if platform else None, access)))
    return report.inspection, f"{image}, {report.digest}" if report.digest else image


def _write(file: str, text: str, *, force: bool) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise _is_there(file) from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written", why=error.strerror or str(error)) from error
    click.echo(f"{file}: written; next: nodeworthy spec validate {file}")


def _is_there(file: str) -> UsageError:
    return UsageError(f"{file} is there already", todo="name another file, or add --force")
