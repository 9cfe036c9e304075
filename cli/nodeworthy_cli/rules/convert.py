"""``nodeworthy rules convert``: rules as NFD takes them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from nodeworthy import errors
from nodeworthy_cli import exits
from nodeworthy_cli.output import MACHINE_FORMATS, print_document, print_error, printable


@click.command(name="convert")
@click.argument("name", metavar="FILE")
@click.option(
    "-o",
    "--output",
    "output",
    type=click.Choice(MACHINE_FORMATS),
    default="yaml",
    show_default=True,
    help="How to print it.",
)
@click.pass_context
def command(ctx: click.Context, *, name: str, output: str) -> None:
    """Print a rule file with the real group and version and in long forms, as NFD's clusters take it; - is standard input.

    Comments are not kept, and neither are fields that nobody reads and objects of other kinds. A compatibility specification
    is converted too. Exit codes: 0 converted, 1 a part of it cannot be read or has no long form, 2 the file cannot be read.
    """
    from nodeworthy.rules.conversion import convert_file, write_yaml
    from nodeworthy_cli.rules.files import read_texts

    documents: list[Mapping[str, Any] | Sequence[Any]] = []
    for text in read_texts([name]):
        try:
            converted = convert_file(text.data, text.name)
        except errors.DocumentError as error:
            print_error(error)
            ctx.exit(exits.NO)
        documents += converted.documents
        for notice in converted.notices:
            click.echo(f"note: {printable(str(notice))}", err=True)
        if b"#" in text.data:
            click.echo(f"note: {printable(text.name)}: comments are not kept", err=True)
    if output == "json":
        print_document(documents[0] if len(documents) == 1 else documents, output)
    else:
        sys.stdout.write(write_yaml(documents))
