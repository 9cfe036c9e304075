"""What can be set about the validator; the only module of it that reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.processes import read_port


@dataclass(frozen=True)
class Lifetimes:
    """How long what is known counts; all times in seconds."""

    image: float = 10.0
    """What a resolver said of an image: a pipeline asks about one image many times in a row. The resolver keeps what a tag
    points at for 60 s by itself, so this adds little to how late a moved tag is seen."""
    lost: float = 900.0
    """Facts whose key is gone from the bus for a reason that nobody told. A store may have been lost, and then every
    producer says its facts again within 660 s; after this they are unknown."""
    pending: float = 5.0
    """How long a set is waited for that a snapshot names and the bus lacks; until then the snapshot before counts."""
    forgotten: float = 3600.0
    """After this a node of which only lost facts were known is no node any more; the bus forgets removed nodes as late."""


@dataclass(frozen=True)
class Bounds:
    """How much the validator does at once, and how large things may be."""

    requests: int = 64
    """Requests in work on the bus, and as many by HTTP; the next is refused as busy."""
    lookups: int = 64
    """Images asked of the resolvers at once, over all requests; the others wait for their turn."""
    images: int = 1000
    """Images that are kept for :attr:`Lifetimes.image`."""
    image_bytes: int = 32 * 1024 * 1024
    """Of all these together, encoded; in memory they take about twice as much."""
    specifications: int = 64
    """Specifications given in requests that are kept parsed: the same one comes again with every page."""
    specification_bytes: int = 8 * 1024 * 1024
    """The text of all these together."""
    asks: int = 1_000_000
    """New answers of terms that one evaluation may need of one set, at five to fifteen microseconds each: for so long nobody
    else is answered. 100,000 nodes, ten terms on a set that differs on each."""
    reply_bytes: int = 900 * 1024
    """Of one reply as JSON: a little below the largest message of the bus."""
    body_bytes: int = 1024 * 1024
    """Of one request by HTTP: what the bus takes."""


@dataclass(frozen=True)
class Settings:
    """One validator."""

    cluster: str = "local"
    """The cluster's name on the bus."""
    bus: ConnectionSettings = field(default_factory=ConnectionSettings)
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    bounds: Bounds = field(default_factory=Bounds)
    http_port: int | None = None
    """Where HTTP is answered; 0 takes a free port, ``None`` serves none."""
    http_host: str = "127.0.0.1"
    """Nothing asks who one is there, so that only this machine is served; in a pod 0.0.0.0, behind a policy."""
    http_seconds: float = 10.0
    """For one HTTP request that does not say how long it waits; a first look at an image takes some seconds."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of a process that was started with these variables.

    The variables are the command line's options, in capitals behind ``NODEWORTHY_``. An empty variable is not set.

    Raises:
        UsageError: a variable does not have a value that it may have.
    """
    given = {name: value for name, value in environment.items() if value}
    settings = Settings()
    return replace(
        settings,
        cluster=given.get("NODEWORTHY_CLUSTER", settings.cluster),
        http_port=read_port(given, "NODEWORTHY_HTTP_PORT"),
        http_host=given.get("NODEWORTHY_HTTP_HOST", settings.http_host),
    )
