"""``nodeworthy rules schema``: JSON Schemas for editors."""

import sys

import click

NAMES = ("rules", "compatibility")


@click.command(name="schema")
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
def command(*, name: str) -> None:
    """Print the JSON Schema (draft 2020-12) of rule documents, or of compatibility specifications.

    Editors with the YAML language server use it where a file begins with: # yaml-language-server: $schema=FILE
    """
    from nodeworthy.rules.schemas import write_schema

    sys.stdout.buffer.write(write_schema(name))
