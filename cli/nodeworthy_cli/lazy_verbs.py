"""Groups of verbs whose modules are imported when they are used, since imports are most of a short run."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyVerbs(click.Group):
    """A group whose verbs are modules of ``package``, each with a click command named ``command``.

    ``verbs`` are in the order of the help, with their lines in it; a verb's module has its name, with ``_`` for ``-``.
    """

    def __init__(self, *args: Any, verbs: Mapping[str, str], package: str, **kwargs: Any) -> None:  # noqa: ANN401 # click's
        super().__init__(*args, **kwargs)
        self._verbs = verbs
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 # click's signature
        """The verbs, in the order of the help."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 # click's signature
        """The command of a verb; ``None`` if there is none."""
        if cmd_name not in self._verbs:
            return None
        module = importlib.import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 # click's signature
        """Write the verbs without importing their modules."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(self._verbs.items()))
