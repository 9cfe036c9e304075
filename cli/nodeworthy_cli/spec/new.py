"""``nodeworthy spec new``: a specification to begin with."""

from pathlib import Path

import click

from nodeworthy.errors import UsageError

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
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(*, file: str, force: bool) -> None:
    """Write a specification to begin with, each part explained; without FILE to standard output.

    It is the same for every image: what an image's own files need is not looked at.

    Exit codes: 0 written, 2 the file is there already, or cannot be written.
    """
    if file == "-":
        click.echo(TEMPLATE, nl=False)
        return
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already", todo="name another file, or add --force") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written", why=error.strerror or str(error)) from error
    click.echo(f"{file}: written; next: nodeworthy spec validate {file}")
