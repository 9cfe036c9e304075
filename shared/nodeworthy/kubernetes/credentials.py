"""What the API server is shown: nothing, a token, a name and password, or a client certificate.

Tokens and certificates in files rotate: the kubelet replaces a pod's token file long before the token ends. They are read
again once a minute, and at once when the server refuses them. No secret is in a message or a ``repr``.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from nodeworthy.errors import UsageError

READ_AGAIN_SECONDS = 60.0
"""As client-go reads token files (``NewCachedFileTokenSource``); tokens of pods are replaced after 80 % of an hour."""

MAX_FILE_BYTES = 1024 * 1024
"""Of a token, a key or a bundle of authorities; the largest bundle of the web has a quarter of it."""


@dataclass(frozen=True)
class Shown:
    """What one request shows; all of it may be empty."""

    authorization: str = field(default="", repr=False)
    """The value of the header of that name."""
    certificate: bytes = field(default=b"", repr=False)
    """The client's certificate with its chain, PEM."""
    key: bytes = field(default=b"", repr=False)
    """Its private key, PEM."""


class Credentials(Protocol):
    """Knows what to show."""

    async def show(self) -> Shown:
        """What to show now; :class:`nodeworthy.errors.UsageError` where that cannot be found out."""
        ...

    def forget(self) -> None:
        """What was shown was refused: find out anew before the next request."""
        ...


def bearer(token: str) -> str:
    """The header for a token (RFC 6750, section 2.1)."""
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    """The header for a name and password (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class FixedCredentials:
    """What never changes."""

    def __init__(self, shown: Shown = Shown()) -> None:
        self._shown = shown

    async def show(self) -> Shown:
        """As it was given."""
        return self._shown

    def forget(self) -> None:
        """There is nothing else to show."""


class FileCredentials:
    """A token, and a certificate with its key, that are in files; what is not in one is as in ``rest``.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        rest: Shown,
        *,
        token: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        clock: Callable[[], float],
    ) -> None:
        self._token = token
        self._certificate = certificate
        self._key = key
        self._clock = clock
        self._shown = rest
        self._is_read = False
        self._due = float("-inf")

    async def show(self) -> Shown:
        """What the files hold; what they held, while they cannot be read.

        Raises:
            UsageError: a file cannot be read and never could.
        """
        if self._clock() >= self._due:
            try:
                self._shown = self._read(self._shown)
                self._is_read = True
            except UsageError:
                # The kubelet swaps a link; a reader may meet the moment between.
                if not self._is_read:
                    raise
            self._due = self._clock() + READ_AGAIN_SECONDS
        return self._shown

    def forget(self) -> None:
        """Read the files before the next request."""
        self._due = float("-inf")

    def _read(self, shown: Shown) -> Shown:
        if self._token is not None:
            shown = replace(shown, authorization=bearer(_read_token(self._token)))
        if self._certificate is not None:
            shown = replace(shown, certificate=read_file(self._certificate, "the client's certificate"))
        if self._key is not None:
            shown = replace(shown, key=read_file(self._key, "the client's key"))
        return shown


def _read_token(path: Path) -> str:
    data = read_file(path, "the token for the API server").strip()
    if not data.isascii() or not data.decode("ascii").isprintable() or not data:
        raise UsageError(
            f"the token for the API server in {path} cannot be used", why="it is empty, or not one line of plain text"
        )
    return data.decode("ascii")


def read_file(path: Path, what: str) -> bytes:
    """The content of a small file.

    Raises:
        UsageError: it cannot be read, or is too large; ``what`` it holds is in the message.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read from {path}", why=error.strerror or str(error)) from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{what} cannot be read from {path}", why=f"it has more than {MAX_FILE_BYTES} bytes")
    return data
