"""``nodeworthy rules validate``: everything that is wrong with rule files, at once."""

from collections.abc import Iterable

import click

from nodeworthy.rules.validation import FileValidation, OpenValidation, Place
from nodeworthy_cli import exits
from nodeworthy_cli.output import format_option, print_document, printable


@click.command(name="validate")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@click.option("--no-auto-prefix", is_flag=True, help="Judge for a labeler that adds no prefix to short names.")
@format_option
@click.pass_context
def command(ctx: click.Context, *, names: tuple[str, ...], no_auto_prefix: bool, output: str) -> None:
    """Say everything that is wrong with rule files, with line and column; FILE may be a folder, - is standard input.

    Files that are named together are looked at together: labels that two rules give, objects that wait for each other.
    Errors are what a labeler cannot use or would refuse; warnings are what works and may not be meant. What kubectl-nfd says
    stands beside them and does not decide. Exit codes: 0 valid, 1 invalid, 2 a file cannot be read.
    """
    from nodeworthy_cli.rules.files import read_texts
    from nodeworthy_cli.rules.output_checks import check_outputs
    from nodeworthy_cli.rules.reference_checks import check_references

    opened = [OpenValidation(text.data, text.name) for text in read_texts(names)]
    check_outputs(opened, auto_prefix=not no_auto_prefix)
    check_references(opened)
    files = [one.close() for one in opened]
    if output == "table":
        for file in files:
            _print(file)
    else:
        print_document({"valid": all(file.valid for file in files), "files": files}, output)
    ctx.exit(exits.YES if all(file.valid for file in files) else exits.NO)


def _print(file: FileValidation) -> None:
    click.echo(f"{printable(file.file)}: {'valid' if file.valid else 'not valid'}")
    _print_places(file, file.errors, file.warnings)
    for document in file.documents:
        named = " ".join(part for part in (document.kind, document.name) if part) or "a document that cannot be read"
        click.echo(f"  {printable(named)}")
        _print_places(file, document.errors, document.warnings)
    if file.nfd is not None and not file.nfd.valid:
        said = ", ".join(" ".join(filter(None, (one.part, one.key, one.reason))) for one in file.nfd.errors)
        click.echo(f"  kubectl-nfd calls it not valid: {printable(said)}")


def _print_places(file: FileValidation, errors: Iterable[Place], warnings: Iterable[Place]) -> None:
    for kind, places in (("error", errors), ("warning", warnings)):
        for place in places:
            click.echo(f"    {kind}: {printable(place.describe(file.file))}")
