"""TLS to the API server: whom to trust, and which certificate to show."""

import contextlib
import os
import ssl
from collections.abc import Callable, Iterator

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.access import Trust
from nodeworthy.kubernetes.credentials import READ_AGAIN_SECONDS, Shown, read_file


class TlsContexts:
    """The context for the next request; a new one, and so a new connection, only when a file or certificate changed.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, trust: Trust, clock: Callable[[], float]) -> None:
        self._trust = trust
        self._clock = clock
        self._authority = b""
        self._due = float("-inf")
        self._made_from: tuple[bytes, Shown] | None = None
        self._context: ssl.SSLContext | None = None

    def get(self, shown: Shown) -> ssl.SSLContext:
        """The context that shows this certificate.

        Raises:
            UsageError: certificates or the key cannot be read, or do not fit.
        """
        self._read_authority()
        made_from = (self._authority, Shown("", shown.certificate, shown.key))
        if self._context is None or self._made_from != made_from:
            self._context = make_context(self._trust, self._authority, shown)
            self._made_from = made_from
        return self._context

    def _read_authority(self) -> None:
        path = self._trust.authority_file
        if self._trust.authority or path is None:
            self._authority = self._trust.authority
        elif self._clock() >= self._due:
            try:
                self._authority = read_file(path, "the API server's certificate authority")
            except UsageError:
                if self._context is None:  # later it may just be being replaced
                    raise
            self._due = self._clock() + READ_AGAIN_SECONDS


def make_context(trust: Trust, authority: bytes, shown: Shown) -> ssl.SSLContext:
    """The TLS context for one way of trusting and one client certificate.

    Not :func:`ssl.create_default_context`: since Python 3.13 that refuses authorities without key identifiers, which older
    clusters have.

    Raises:
        UsageError: certificates or the key cannot be read or do not fit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _load_authorities(context, authority, trust)
    if trust.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if shown.certificate or shown.key:
        _load_certificate(context, shown)
    return context


def _load_authorities(context: ssl.SSLContext, authority: bytes, trust: Trust) -> None:
    if not authority:
        context.load_default_certs()
        return
    where = "certificate-authority-data" if trust.authority else trust.authority_file
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", errors="ignore"))  # comments may be anything
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"the API server's certificate authority in {where} cannot be used",
            why="it holds no certificates in PEM",
            todo="get the kubeconfig anew from whoever runs the cluster",
        ) from error


def _load_certificate(context: ssl.SSLContext, shown: Shown) -> None:
    # The library takes paths only; a file in memory leaves no key on a disk.
    try:
        with _memory_file(shown.certificate + b"\n" + shown.key) as path:
            context.load_cert_chain(path, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise UsageError(
            "the client certificate for the API server cannot be used",
            why=getattr(error, "reason", None) or str(error) or type(error).__name__,
            todo="it needs a certificate and its key in PEM, without a password",
        ) from error


def _no_password() -> str:
    """Without it OpenSSL asks whoever sits at the terminal."""
    return ""


@contextlib.contextmanager
def _memory_file(data: bytes) -> Iterator[str]:
    number = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    with os.fdopen(number, "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{number}"
