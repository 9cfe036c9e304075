"""How registries are reached: limits, time and where credentials are kept; no library is imported to say it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodeworthy.errors import UsageError


@dataclass(frozen=True)
class RegistryAccess:
    """What the user, or the service's settings, ask for."""

    plain_http: bool | None = None
    """HTTP without TLS. ``None``: only for the host ``localhost``, as oras does."""
    plain_http_hosts: tuple[str, ...] = ()
    """Hosts, with their ports as images name them, that are reached by HTTP where ``plain_http`` is not set: a registry of
    one's own beside public ones."""
    config: Path | None = None
    """A docker configuration file with credentials; ``None``: anonymous. A file that is named and missing is an error."""
    certificates: Path | None = None
    """A file of certificate authorities in PEM form to trust instead of the system's; ``None``: the system's."""
    proxies: Mapping[str, str] = field(default_factory=dict)
    """Proxy by scheme (``http``, ``https``), hosts to reach directly under ``no``, as ``urllib.request.getproxies`` has it.
    Handed in, since only settings read the environment."""
    request_timeout: float = 30.0
    """Seconds for one request from connecting to the last byte: what a slow link needs for 8 MiB at 300 kB/s."""
    operation_timeout: float = 60.0
    """Seconds for everything that one store is asked, retries and waiting included; the reference client's own limit."""
    attempts: int = 4
    """How often a request is sent at most, where sending it again is safe."""
    longest_wait: float = 20.0
    """Seconds that a registry's Retry-After may ask for; a longer one is an answer for the user, not a wait."""
    connections: int = 8
    """At once and per host: below the limits that registries put on one client."""
    helper_timeout: float = 10.0
    """Seconds for a credential helper; one that asks a person for a password must not hang the program."""


def default_config(environment: Mapping[str, str], home: Path) -> Path | None:
    """Where ``docker login`` keeps credentials, if it is there: in ``$DOCKER_CONFIG`` or ``~/.docker``."""
    folder = Path(environment["DOCKER_CONFIG"]) if environment.get("DOCKER_CONFIG") else home / ".docker"
    path = folder / "config.json"
    try:
        return path if path.is_file() else None
    except OSError:
        # It may be there; whoever needs it is told why it cannot be read.
        return path


def require_files(access: RegistryAccess) -> None:
    """Make sure that the files are there which somebody named, also where none of them will be needed.

    Raises:
        UsageError: one is not.
    """
    for path, option in ((access.config, "--registry-config"), (access.certificates, "--ca-file")):
        try:
            if path is not None:
                path.stat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(
                f"{path} cannot be read",
                why=str(error.strerror),
                todo=f"name another file by {option}, or leave it out",
            ) from error
        except OSError:
            # A person's own configuration, which is not named, may be out of reach and is mostly not needed.
            continue
