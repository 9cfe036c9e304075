"""Refusing options that would mean nothing beside others."""

from collections.abc import Sequence

import click
from click.core import ParameterSource

from nodeworthy import errors


def refuse_options(ctx: click.Context, names: Sequence[str], why: str, todo: str) -> None:
    """Refuse options of the command line that would mean nothing; variables are set for other verbs too."""
    given = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        option = next(max(one.opts, key=len) for one in ctx.command.params if one.name == given[0])
        raise errors.UsageError(f"{option} says nothing here", why=why, todo=todo)
