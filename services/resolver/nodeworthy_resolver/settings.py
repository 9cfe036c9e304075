"""What can be set about the resolver; the only module of it that reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.config import find_access
from nodeworthy.processes import read_port, read_seconds
from nodeworthy_resolver.oci import RegistryAccess, default_configs
from nodeworthy_resolver.oci.access import KUBELET_CONFIGS

MAX_TAG_SECONDS = 3600.0
"""Whoever moves a tag waits this long for a new answer; more than an hour is a mistake in the unit."""
MAX_SEARCH_SECONDS = 24 * 3600.0
"""An artifact that was attached elsewhere is to be seen within a day."""


@dataclass(frozen=True)
class Lifetimes:
    """How long answers of registries are believed; all times in seconds. What a digest names is believed for ever."""

    tag: float = 60.0
    """What a tag points at. A rollout that moves a tag and asks at once may get the old answer for so long."""
    found: float = 3600.0
    """That this artifact is the newest one. Another may be attached by somebody who does not go through this service."""
    none: float = 300.0
    """That no artifact is attached; shorter, since attaching one is what people do after they read this answer."""
    failure: float = 5.0
    """That a registry failed: long enough for a crowd of callers, short enough that a retry by hand is a real one."""
    stale: float = 24 * 3600.0
    """How long a tag and an artifact are still named, with a notice, while the registry cannot be asked for newer ones."""


@dataclass(frozen=True)
class Bounds:
    """How much the resolver does at once, and how large its answers may be."""

    requests: int = 1024
    """Requests in work, whoever asks; the next is refused as busy. Each holds a few kilobytes while it waits."""
    requests_per_registry: int = 256
    """Of these, requests for images of one registry: one that is frozen must not use up the places of all others."""
    lookups: int = 256
    """Different questions in work; requests that ask the same share one. What goes on after its asker left counts too."""
    lookups_per_registry: int = 64
    """Of these, questions that one registry is being asked; all share :attr:`RegistryAccess.connections` connections."""
    value_bytes: int = 512 * 1024
    """Of one entry in bucket ``images``; larger answers are given and not kept. Half of the largest message of the bus."""
    reply_bytes: int = 960 * 1024
    """Of one answer, a little below the largest message of the bus; documents that do not fit are left out, and said so."""


class InspectWhen(StrEnum):
    """When the files of images are looked at."""

    NEVER = "never"
    ON_REQUEST = "on-request"
    """Where a question asks for it."""
    ALWAYS = "always"
    """Of every image that is asked about; the question does not wait for it."""


@dataclass(frozen=True)
class InspectionSettings:
    """Whether and how images are downloaded to look at their files."""

    when: InspectWhen = InspectWhen.ON_REQUEST
    at_once: int = 1
    """Images in work, each in a process of its own; they give way to everything else on the machine."""
    waiting: int = 64
    """Images that wait for their turn; the next is refused as busy."""
    seconds: float = 1800.0
    """For one image, download included."""
    folder: Path | None = None
    """Where files are kept for the time of an inspection: up to tens of gigabytes. ``None``: where temporary files lie."""


@dataclass(frozen=True)
class PullSecretSettings:
    """Whose image pull secrets are used."""

    access: Access
    namespaces: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """One resolver."""

    cluster: str = "local"
    """The cluster's name on the bus."""
    bus: ConnectionSettings = field(default_factory=ConnectionSettings)
    registries: RegistryAccess = field(default_factory=RegistryAccess)
    """How registries are reached, and where the credentials for them are; :attr:`access` is what counts."""
    allow_attach: bool = False
    """Whether ``attach`` is carried out. Everybody on the bus may ask, and the credentials are the resolver's: with this on,
    whoever may publish to the subject decides what images declare."""
    allow_private: bool | None = None
    """Whether registries may have private and loopback addresses. ``None``: where the bus is on this machine's loopback,
    since who asks there could connect to them without us; not where it is shared. A bus that is on loopback only as the near
    end of a tunnel or of a leaf node is shared: there say no."""
    pull_secrets: PullSecretSettings | None = None
    """Image pull secrets of a cluster that are used beside the docker configuration; off unless namespaces are named."""
    inspection: InspectionSettings = field(default_factory=InspectionSettings)
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    bounds: Bounds = field(default_factory=Bounds)
    stop_seconds: float = 3.0
    """For lookups that are under way when the resolver is told to stop; then they are broken off, and callers ask again."""
    http_port: int | None = None
    """Where /healthz, /readyz and /metrics are; 0 takes a free port, ``None`` serves none."""
    http_host: str = "127.0.0.1"
    """In a pod 0.0.0.0, since the kubelet asks from outside; nothing there is secret."""

    @property
    def access(self) -> RegistryAccess:
        """How registries are reached on behalf of whoever asks on the bus."""
        allow_private = _is_local(self.bus.servers) if self.allow_private is None else self.allow_private
        return replace(self.registries, allow_private=allow_private, names_files=False)


def _is_local(servers: tuple[str, ...]) -> bool:
    hosts = [urlsplit(server).hostname or "" for server in servers]
    return all(host == "localhost" or (host and _is_loopback(host)) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_settings(environment: Mapping[str, str], home: Path) -> Settings:
    """The settings of a process that was started with these variables.

    The variables are the command line's options, in capitals behind ``NODEWORTHY_``; proxies and the place of docker's
    configuration file are where every client of registries looks for them. An empty variable is one that is not set.

    Raises:
        UsageError: a variable does not have a value that it may have.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings()
    lifetimes = replace(
        settings.lifetimes,
        tag=read_seconds(given, "NODEWORTHY_TAG_SECONDS", settings.lifetimes.tag, least=0, most=MAX_TAG_SECONDS),
        found=read_seconds(
            given, "NODEWORTHY_SEARCH_SECONDS", settings.lifetimes.found, least=0, most=MAX_SEARCH_SECONDS
        ),
    )
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        registries=_registries(given, home),
        allow_attach=_switch(given, "NODEWORTHY_ALLOW_ATTACH") or False,
        allow_private=_switch(given, "NODEWORTHY_ALLOW_PRIVATE"),
        pull_secrets=_pull_secrets(given, home),
        inspection=_inspection(given),
        lifetimes=lifetimes,
        http_port=read_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )


def _registries(given: Mapping[str, str], home: Path) -> RegistryAccess:
    config = given.get("NODEWORTHY_REGISTRY_CONFIG")
    certificates = given.get("NODEWORTHY_CA_FILE")
    hosts = given.get("NODEWORTHY_HOSTS_DIR")
    return RegistryAccess(
        plain_http=_switch(given, "NODEWORTHY_PLAIN_HTTP"),
        plain_http_hosts=_names(given, "NODEWORTHY_PLAIN_HTTP_HOSTS"),
        config=Path(config) if config else None,
        default_configs=default_configs(given, home, others=KUBELET_CONFIGS),
        certificates=Path(certificates) if certificates else None,
        hosts_folder=Path(hosts) if hosts else None,
        private_hosts=_names(given, "NODEWORTHY_PRIVATE_HOSTS"),
        allowed_hosts=_names(given, "NODEWORTHY_ALLOWED_HOSTS"),
        proxies=_proxies(given),
    )


def _names(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in given.get(name, "").split(",") if part.strip())


def _pull_secrets(given: Mapping[str, str], home: Path) -> PullSecretSettings | None:
    namespaces = _names(given, "NODEWORTHY_PULL_SECRET_NAMESPACES")
    return PullSecretSettings(find_access(given, home), namespaces) if namespaces else None


def _inspection(given: Mapping[str, str]) -> InspectionSettings:
    said = given.get("NODEWORTHY_INSPECT", InspectWhen.ON_REQUEST)
    if said not in {one.value for one in InspectWhen}:
        raise UsageError(f"NODEWORTHY_INSPECT={said[:60]!r} cannot be used", why="it is never, on-request or always")
    folder = given.get("NODEWORTHY_INSPECT_FOLDER")
    return InspectionSettings(when=InspectWhen(said), folder=Path(folder) if folder else None)


def _proxies(given: Mapping[str, str]) -> dict[str, str]:
    """``https_proxy=http://proxy:3128`` by scheme; the lower-case spelling counts where both are set, as in curl."""
    names = sorted(name for name in given if name.lower().endswith("_proxy"))  # capitals come first, and are replaced
    return {name.lower().removesuffix("_proxy"): given[name] for name in names}


def _switch(given: Mapping[str, str], name: str) -> bool | None:
    if name not in given:
        return None
    answer = {"1": True, "true": True, "0": False, "false": False}.get(given[name].lower())
    if answer is None:
        raise UsageError(f"{name}={given[name][:60]!r} cannot be used", why="it is true or false")
    return answer
