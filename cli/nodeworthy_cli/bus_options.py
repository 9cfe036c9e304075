"""The options of every verb that reaches the bus, in the habits of the stock ``nats`` command."""

import functools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.names import Names
from nodeworthy.errors import UsageError
from nodeworthy_cli.embedded.contexts import read_context
from nodeworthy_cli.embedded.settings import data_folder

_Command = TypeVar("_Command", bound=Callable[..., None])

VARIABLES = {
    "server": "NODEWORTHY_SERVER",
    "cluster": "NODEWORTHY_CLUSTER",
    "user": "NODEWORTHY_USER",
    "password": "NODEWORTHY_PASSWORD",
    "credentials": "NODEWORTHY_CREDENTIALS",
    "inbox_prefix": "NODEWORTHY_INBOX_PREFIX",
    "server_ca": "NODEWORTHY_SERVER_CA",
    "server_certificate": "NODEWORTHY_SERVER_CERTIFICATE",
    "server_key": "NODEWORTHY_SERVER_KEY",
}
"""Option to the variable that stands for it where it is not given."""

_TOKEN = re.compile(r"[A-Za-z0-9_=-]+")
_SCHEMES = frozenset({"nats", "tls", "ws", "wss"})
_PATH = click.Path(path_type=Path)


@dataclass(frozen=True)
class BusOptions:
    """What was said of the bus, on the command line or by variables; empty where nothing was."""

    server: str = ""
    cluster: str = "local"
    user: str = ""
    password: str = ""
    credentials: Path | None = None
    inbox_prefix: str = ""
    server_ca: Path | None = None
    server_certificate: Path | None = None
    server_key: Path | None = None

    def __repr__(self) -> str:
        """Without the password: representations end in logs and traces."""
        return f"BusOptions({self.server!r}, {self.cluster!r}, {self.user!r})"

    @property
    def names(self) -> Names:
        """The names of the cluster.

        Raises:
            UsageError: the cluster's name is none.
        """
        return Names(self.cluster)


def bus_options(command: _Command) -> _Command:
    """Add ``--server``, ``--cluster``, who one is and whom to trust; the command gets them as ``bus``."""

    @functools.wraps(command)
    def gather(*arguments: object, **given: Any) -> None:  # noqa: ANN401 # whatever the command's options are
        bus = BusOptions(**{name: given.pop(name) for name in VARIABLES})
        command(*arguments, bus=bus, **given)

    wrapped: Callable[..., None] = gather
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return cast("_Command", wrapped)


_OPTIONS = (
    click.option(
        "--server",
        default="",
        envvar=VARIABLES["server"],
        metavar="URL[,URL]",
        help="The bus, as nats://HOST:PORT or tls://HOST:PORT.  [default: what nodeworthy up runs here]",
    ),
    click.option(
        "--cluster",
        default="local",
        envvar=VARIABLES["cluster"],
        show_default=True,
        help="The cluster's name on the bus.",
    ),
    click.option("--user", default="", envvar=VARIABLES["user"], help="The user of the bus."),
    click.option(
        "--password",
        default="",
        envvar=VARIABLES["password"],
        help=f"Its password; others on this machine can see it, {VARIABLES['password']} is not shown to them.",
    ),
    click.option(
        "--credentials", type=_PATH, envvar=VARIABLES["credentials"], help="A credentials file (.creds) in their place."
    ),
    click.option(
        "--inbox-prefix",
        default="",
        envvar=VARIABLES["inbox_prefix"],
        help="Where the user may receive answers.  [default: _INBOX.USER]",
    ),
    click.option(
        "--server-ca", type=_PATH, envvar=VARIABLES["server_ca"], help="Whom to trust as the bus, in PEM form."
    ),
    click.option(
        "--server-certificate",
        type=_PATH,
        envvar=VARIABLES["server_certificate"],
        help="A certificate to show to the bus, in PEM form.",
    ),
    click.option("--server-key", type=_PATH, envvar=VARIABLES["server_key"], help="Its key."),
)


def connection_settings(
    bus: BusOptions, name: str, *, environment: Mapping[str, str] = os.environ
) -> ConnectionSettings:
    """How to reach the bus that the options name; without ``--server`` the one that ``nodeworthy up`` runs here.

    ``name`` is what the server's monitoring shows.

    Raises:
        UsageError: no bus is named and none was ever started here, or the options contradict themselves.
    """
    if not bus.server:
        return _embedded(bus, name, environment)
    if bus.password and not bus.user:
        raise UsageError("a password was given and no user", todo=f"add --user, or set {VARIABLES['user']}")
    if bool(bus.server_certificate) != bool(bus.server_key):
        raise UsageError("a certificate and its key belong together", todo="give --server-certificate and --server-key")
    servers = tuple(part for part in bus.server.split(",") if part)
    if not servers:
        raise UsageError(f"{bus.server!r} names no server", todo="write --server nats://HOST:PORT")
    for server in servers:
        scheme, mark, _ = server.partition("://")
        if mark and scheme.lower() not in _SCHEMES:
            raise UsageError(
                f"{server} is no address of a bus", todo="write --server nats://HOST:PORT, or tls://HOST:PORT"
            )
    return ConnectionSettings(
        servers=servers,
        name=name,
        user=bus.user,
        password=bus.password,
        credentials_file=bus.credentials,
        ca_file=bus.server_ca,
        certificate_file=bus.server_certificate,
        key_file=bus.server_key,
        inbox_prefix=bus.inbox_prefix or inbox_of(bus.user),
    )


def inbox_of(user: str) -> str:
    """Where a user of ours waits for answers (:mod:`nodeworthy.bus.permissions`); a stock client's place for others."""
    return f"_INBOX.{user}" if _TOKEN.fullmatch(user) else ConnectionSettings.inbox_prefix


def _embedded(bus: BusOptions, name: str, environment: Mapping[str, str]) -> ConnectionSettings:
    if bus.user or bus.credentials:
        raise UsageError("a user was given and no bus", todo=f"add --server, or set {VARIABLES['server']}")
    folder = data_folder(bus.cluster, environment)
    context = read_context(folder)
    if context is None:
        raise UsageError(
            f"no bus is known for cluster {bus.cluster}",
            why=f"none was named, and {folder} shows that none was started here",
            todo="start one here with: nodeworthy up; or name one with --server",
        )
    return context.settings(name)
