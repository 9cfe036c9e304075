"""How to reach the bus, and as whom."""

import importlib.util
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodeworthy.errors import UsageError


@dataclass(frozen=True)
class ConnectionSettings:
    """How to reach the bus, and as whom; one way to say who one is, or none."""

    servers: tuple[str, ...] = ("nats://127.0.0.1:4222",)
    name: str = "nodeworthy"
    """What the server's monitoring shows."""
    user: str = ""
    password: str = ""
    token: str = ""
    credentials_file: Path | None = None
    """A ``.creds`` file, a JWT and its seed; needs the package nkeys."""
    nkey_file: Path | None = None
    """A file with the seed of an nkey; needs the package nkeys."""
    ca_file: Path | None = None
    """Whom to trust; none: the system's authorities, where a server's address begins with ``tls://``."""
    certificate_file: Path | None = None
    key_file: Path | None = None
    inbox_prefix: str = "_INBOX"
    """Where answers come to; each user has one of its own and may subscribe to no other."""
    connect_seconds: float = 5.0
    """For the first connection: a local server takes 10 ms, a TLS handshake across the world 1 s."""
    request_seconds: float = 5.0
    """For one request to JetStream: a server that syncs each write to a slow disk takes 0.1 s."""
    ping_seconds: float = 10.0
    """A server that froze is noticed after two missed pings; nats-py's own 120 s would be six minutes."""
    reconnect_seconds: float = 0.25
    """The first wait between two tries; it doubles up to :attr:`reconnect_most_seconds`, each jittered by half of it."""
    reconnect_most_seconds: float = 8.0
    """100,000 detectors that try every 8 s make 12,500 connections a second."""
    drain_seconds: float = 2.0
    """For what is under way when the connection closes."""
    pending_bytes: int = 1024 * 1024
    """What is kept to be sent later while there is no connection: two large sets. More would be old news."""


def client_options(settings: ConnectionSettings) -> dict[str, Any]:
    """What nats-py's ``connect`` takes for these settings, callbacks apart.

    Raises:
        UsageError: the settings contradict themselves, or a file of theirs cannot be used.
    """
    return {
        "servers": list(settings.servers),
        "name": settings.name,
        "inbox_prefix": settings.inbox_prefix,
        "connect_timeout": settings.connect_seconds,
        "ping_interval": settings.ping_seconds,
        "max_outstanding_pings": 2,
        "max_reconnect_attempts": -1,  # for ever; 0 would mean the same
        "reconnect_time_wait": settings.reconnect_seconds,
        "drain_timeout": settings.drain_seconds,
        "pending_size": settings.pending_bytes,
        "flush_timeout": settings.request_seconds,
        **_identity(settings),
        **_encryption(settings),
    }


def _identity(settings: ConnectionSettings) -> dict[str, Any]:
    ways = {
        "a password": {"user": settings.user, "password": settings.password} if settings.user else None,
        "a token": {"token": settings.token} if settings.token else None,
        "a credentials file": settings.credentials_file and {"user_credentials": str(settings.credentials_file)},
        "an nkey": settings.nkey_file and {"nkeys_seed": str(settings.nkey_file)},
    }
    given = {name: options for name, options in ways.items() if options}
    if len(given) > 1:
        raise UsageError("the bus was told twice who connects", why=" and ".join(given), todo="give one of them")
    for file in (settings.credentials_file, settings.nkey_file):
        if file is not None:
            _check_readable(file)
            _check_nkeys(file)
    return next(iter(given.values()), {})


def _check_readable(file: Path) -> None:
    try:
        file.open("rb").close()
    except OSError as error:
        raise UsageError(f"{file} cannot be read", why=error.strerror or str(error)) from error


def _check_nkeys(file: Path) -> None:
    if importlib.util.find_spec("nkeys") is None:
        raise UsageError(f"{file} cannot be used", why="the package nkeys is not installed", todo="pip install nkeys")


def _encryption(settings: ConnectionSettings) -> dict[str, Any]:
    files = (settings.ca_file, settings.certificate_file, settings.key_file)
    if not any(files) and not any(server.startswith("tls://") for server in settings.servers):
        return {}
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except OSError as error:
        names = ", ".join(str(file) for file in files if file)
        raise UsageError(f"the bus cannot be reached with {names}", why=str(error)) from error
    return {"tls": context}
