"""The options of every verb that runs a service."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from nodeworthy import processes

_Command = TypeVar("_Command", bound=Callable[..., None])

MAX_PORT = 65535

log_option = click.option(
    "--log-format",
    type=click.Choice([form.value for form in processes.LogFormat]),
    default=processes.LogFormat.AUTO.value,
    show_default=True,
    help="How log lines look; auto is text on a terminal, else JSON.",
)


labels_config_option = click.option(
    "--labels-config",
    type=click.Path(path_type=Path),
    envvar="NODEWORTHY_LABELS_CONFIG",
    help="A file with the labeler's settings of labels: prefix, namespaces, kinds, default labels.  [default: NFD's]",
)


def http_options(serves: str) -> Callable[[_Command], _Command]:
    """Add ``--http-port`` and ``--http-host`` for a service that serves these paths."""

    def add(command: _Command) -> _Command:
        host = click.option("--http-host", help="The address that this port is opened on.  [default: 127.0.0.1]")
        port = click.option(
            "--http-port", type=click.IntRange(0, MAX_PORT), help=f"Serve {serves} there; 0: a free port."
        )
        return port(host(command))

    return add
