"""How answers are printed: json and yaml for programs, aligned columns for people."""

import csv
import os
import sys
from collections.abc import Iterable, Sequence

import click
import msgspec

from nodeworthy import errors

MACHINE_FORMATS = ("json", "yaml")
FORMATS = ("table", *MACHINE_FORMATS)

format_option = click.option(
    "-o", "--output", "output", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print it."
)


def print_document(document: object, output: str) -> None:
    """Print a record as JSON or YAML, the same content in both."""
    if output == "json":
        # Bytes: JSON is UTF-8 (RFC 8259) whatever the terminal speaks.
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        return
    import yaml

    # Through JSON's types: YAML would otherwise tag enumerations and tuples.
    plain = msgspec.json.decode(msgspec.json.encode(document))
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yaml.dump(plain, sys.stdout, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
    """Print aligned columns as kubectl does: heads in capitals, three spaces between, nothing to the right of the last."""
    cells = [list(heads), *[[printable(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        line = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(indent + line.rstrip() + "\n")


def print_csv(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print RFC 4180, with a line of names."""
    writer = csv.writer(sys.stdout, lineterminator="\r\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow(map(_csv_cell, row))


def _csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: facts are other people's text (OWASP, CSV injection)."""
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and text != "-" else text


def printable(text: str) -> str:
    """The text without characters that could move a terminal's cursor: facts and artifacts are other people's text."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def emphasize(text: str, color: str) -> str:
    """The text in colour on a terminal, plain elsewhere and where NO_COLOR is set (no-color.org)."""
    colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return click.style(text, fg=color, bold=True) if colored else text


def print_error(error: errors.NodeworthyError) -> None:
    """Print an error in its three parts on standard error."""
    what, why, todo = error.diagnostics()
    click.echo(f"error: {what}", err=True)
    for head, text in (("why", why), ("do", todo)):
        for number, line in enumerate(text.splitlines()):
            click.echo(f"{head + ':' if number == 0 else '':>6} {line}", err=True)
