"""What one registry accepts."""

import base64
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credential:
    """What one registry accepts: a name and password, or a token of one of two kinds."""

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """Exchanged for access tokens at the token endpoint (OAuth2 refresh token)."""
    registry_token: str = field(default="", repr=False)
    """Sent as it is."""
    source: str = field(default="", compare=False)
    """The file or the helper that it is from, as messages name it."""
    is_narrow: bool = field(default=False, compare=False)
    """Whether it is for a part of the registry only."""

    @property
    def basic(self) -> str:
        """The value of a Basic Authorization header (RFC 7617)."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
