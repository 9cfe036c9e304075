"""Where an API server is, how it is trusted, and what it is shown."""

from dataclasses import dataclass, field
from pathlib import Path

from yarl import URL

from nodeworthy.kubernetes.credentials import Credentials, FixedCredentials


@dataclass(frozen=True)
class Trust:
    """How the server's certificate is judged."""

    authority: bytes = field(default=b"", repr=False)
    """Certificate authorities, PEM; empty, and no file: those of the machine."""
    authority_file: Path | None = None
    """Read again now and then, since authorities are replaced too."""
    server_name: str = ""
    """The name that the certificate must be for; empty: the host of the address."""
    is_insecure: bool = False
    """Whether any certificate is taken."""


@dataclass(frozen=True)
class Access:
    """One cluster as one user reaches it."""

    server: URL
    """With the path under which the API is, where a gateway stands before it."""
    credentials: Credentials = field(default_factory=FixedCredentials)
    trust: Trust = field(default_factory=Trust)
    namespace: str = "default"
    """Where our own objects are, unless somebody says otherwise."""
    proxy: URL | None = None
    """An HTTP proxy to go through."""
    source: str = ""
    """Where all this is from, for messages: ``context admin of ~/.kube/config``."""
