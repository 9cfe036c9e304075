"""Trust and client certificates of the hosts that are asked."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.registry.mirrors import MirrorHost

MAX_CONTEXTS = 100
"""Hosts with certificates of their own; a context has about 100 kB."""


@dataclass(frozen=True)
class Tls:
    """How TLS is spoken with one host."""

    own: ssl.SSLContext
    """To the host itself: with its client certificate, if it has one."""
    others: ssl.SSLContext
    """Where the host sends us on, its storage or its token server: the same trust, and nothing that tells who we are."""


def make_trust(certificates: Path | None, name_of: Callable[[Path], str]) -> ssl.SSLContext:
    """A context that trusts a file of authorities instead of the system's; ``None``: the system's.

    Raises:
        UsageError: the file cannot be read, or holds none.
    """
    if certificates is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(certificates))
    except ssl.SSLError as error:
        raise UsageError(
            f"{name_of(certificates)} holds no certificates",
            why="it is no PEM file, or a damaged one",
            todo="name another file by --ca-file, or leave it out",
        ) from error
    except OSError as error:
        raise UsageError(f"{name_of(certificates)} cannot be read", why=error.strerror or str(error)) from error


class HostTls:
    """The contexts of hosts with settings of their own, made once and again when a file of theirs changes."""

    def __init__(self, certificates: Path | None, name_of: Callable[[Path], str]) -> None:
        self._certificates = certificates
        self._name_of = name_of
        self._made: dict[tuple[object, ...], Tls] = {}

    def of(self, host: MirrorHost) -> Tls | None:
        """How TLS is spoken with a host; ``None``: as with every other.

        Raises:
            UsageError: a certificate cannot be read or used.
        """
        if not (host.authorities or host.pairs or host.skip_verify):
            return None
        files = [*host.authorities, *(path for pair in host.pairs for path in pair if path is not None)]
        key = (host.skip_verify, host.authorities, host.pairs, *(self._version(path) for path in files))
        if key not in self._made:
            if len(self._made) >= MAX_CONTEXTS:
                self._made.clear()
            self._made[key] = Tls(self._make(host, host.pairs), self._make(host, ()))
        return self._made[key]

    def _version(self, path: Path) -> tuple[int, int, int]:
        try:
            found = path.stat()
        except OSError as error:
            raise UsageError(f"{self._name_of(path)} cannot be read", why=error.strerror or str(error)) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _make(self, host: MirrorHost, pairs: tuple[tuple[Path, Path | None], ...]) -> ssl.SSLContext:
        context = make_trust(self._certificates, self._name_of)
        if host.skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        for path in host.authorities:
            self._load(path, partial(context.load_verify_locations, str(path)))
        for certificate, key in pairs:
            load = partial(context.load_cert_chain, str(certificate), key and str(key), _no_password)
            self._load(certificate, load)
        return context

    def _load(self, path: Path, load: Callable[[], None]) -> None:
        try:
            load()
        except _LockedKeyError as error:
            raise UsageError(f"{self._name_of(path)} cannot be used", why="its key wants a password") from error
        except ssl.SSLError as error:
            why = "it is no PEM file that holds what is wanted"
            raise UsageError(f"{self._name_of(path)} cannot be used", why=why) from error
        except OSError as error:
            raise UsageError(f"{self._name_of(path)} cannot be read", why=error.strerror or str(error)) from error


class _LockedKeyError(Exception):
    """A key is encrypted; OpenSSL would ask for the password on a terminal."""


def _no_password() -> str:
    raise _LockedKeyError
