"""How registries are reached: limits, time and where credentials are kept; no library is imported to say it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nodeworthy.errors import UsageError


@dataclass(frozen=True)
class Login:
    """A name and password that somebody gave by hand, for one registry."""

    host: str
    """As references name it."""
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class RegistryAccess:
    """What the user, or the service's settings, ask for."""

    plain_http: bool | None = None
    """HTTP without TLS. ``None``: only for the host ``localhost``, as oras does."""
    plain_http_hosts: tuple[str, ...] = ()
    """Hosts, with their ports as images name them, that are reached by HTTP where ``plain_http`` is not set: a registry of
    one's own beside public ones."""
    config: Path | None = None
    """A docker configuration file with credentials that somebody named. It counts alone, and must be there."""
    default_configs: tuple[Path, ...] = ()
    """Where credentials are looked for if no file was named, in order; those that are there. None: anonymous."""
    login: Login | None = None
    """Counts before any file, for its registry alone."""
    certificates: Path | None = None
    """A file of certificate authorities in PEM form to trust instead of the system's; ``None``: the system's."""
    hosts_folder: Path | None = None
    """containerd's folder ``certs.d``: mirrors, certificates, headers by host. ``None``: every registry is asked itself."""
    allow_private: bool = True
    """Whether registries may have private and loopback addresses. Right for a person, who could connect there anyhow; a
    service that others ask sets it to false. Link-local addresses and metadata services are refused in any case."""
    private_hosts: tuple[str, ...] = ()
    """Hosts that may have such addresses all the same: ``host``, ``host:port`` or ``*.example.com``."""
    allowed_hosts: tuple[str, ...] = ()
    """The only hosts that are asked, if any are named: registries, their token servers and storage, in the same forms.
    ``docker.io`` stands for all that Docker Hub needs; mirrors of ``hosts_folder`` are named there."""
    names_files: bool = True
    """Whether messages name files of this machine by their whole paths. A service tells them to whoever asks: there only
    the files' own names stand."""
    proxies: Mapping[str, str] = field(default_factory=dict)
    """Proxy by scheme (``http``, ``https``), hosts to reach directly under ``no``, as ``urllib.request.getproxies`` has it.
    Handed in, since only settings read the environment."""
    request_timeout: float = 30.0
    """Seconds for one request from connecting to the last byte: what a slow link needs for 8 MiB at 300 kB/s."""
    operation_timeout: float = 60.0
    """Seconds for everything that one store is asked, retries and waiting included; the reference client's own limit."""
    download_timeout: float = 3600.0
    """Seconds for one layer, which may have gigabytes. No byte for ``request_timeout`` ends it sooner."""
    attempts: int = 4
    """How often a request is sent at most, where sending it again is safe."""
    longest_wait: float = 20.0
    """Seconds that a registry's Retry-After may ask for; a longer one is an answer for the user, not a wait."""
    connections: int = 8
    """At once and per host: below the limits that registries put on one client."""
    helper_timeout: float = 10.0
    """Seconds for a credential helper; one that asks a person for a password must not hang the program."""

    def name_of(self, path: Path) -> str:
        """A file of this machine as messages name it."""
        return str(path) if self.names_files else path.name


KUBELET_CONFIGS = (Path("/var/lib/kubelet/config.json"), Path("/.docker/config.json"))
"""Where the kubelet looks for credentials beside its user's home (Kubernetes, "Images", "Config.json"). For the service: in
a pod they are what somebody mounted there; on a person's machine they are not that person's."""


def default_configs(environment: Mapping[str, str], home: Path, *, others: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Where ``docker login``, ``podman login`` and ``oras login`` keep credentials: the files that are there, in order.

    ``$REGISTRY_AUTH_FILE`` names the only file that podman and skopeo read (containers-auth.json(5)), so it counts alone.
    Else docker's (``$DOCKER_CONFIG`` or ``~/.docker``), podman's for this session and for good, then ``others``. What is set
    in the environment and is not there is passed over, as docker and podman do.
    """
    if environment.get("REGISTRY_AUTH_FILE"):
        places = [Path(environment["REGISTRY_AUTH_FILE"])]
    else:
        docker = Path(environment["DOCKER_CONFIG"]) if environment.get("DOCKER_CONFIG") else home / ".docker"
        places = [docker / "config.json"]
        if environment.get("XDG_RUNTIME_DIR"):
            places.append(Path(environment["XDG_RUNTIME_DIR"]) / "containers" / "auth.json")
        settings = Path(environment["XDG_CONFIG_HOME"]) if environment.get("XDG_CONFIG_HOME") else home / ".config"
        places += [settings / "containers" / "auth.json", *others]
    return tuple(dict.fromkeys(filter(_may_be_there, places)))


def _may_be_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # It may be there; whoever needs it is told why it cannot be read.
        return True


def require_files(access: RegistryAccess) -> None:
    """Make sure that the files are there which somebody named, also where none of them will be needed.

    Raises:
        UsageError: one is not.
    """
    for path, option in (
        (access.config, "--registry-config"),
        (access.certificates, "--ca-file"),
        (access.hosts_folder, "--hosts-dir"),
    ):
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
