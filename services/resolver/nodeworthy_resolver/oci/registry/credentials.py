"""Names and passwords for registries, from the file that ``docker login``, ``podman login`` and ``oras login`` write.

The file is read when a registry first asks who we are, so that public images need none. Secrets are in no message and no
``repr``.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import msgspec

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci import reference
from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.registry import finding
from nodeworthy_resolver.oci.registry.credential import Credential
from nodeworthy_resolver.oci.registry.helpers import ask_helper

_MAX_CONFIG_BYTES = 1024 * 1024
"""A thousand registries with tokens of a kilobyte each."""
_MAX_REGISTRIES = 1000
"""Registries whose credentials are remembered at once."""

LIFETIME = 300.0
"""Seconds for which a file's content and a helper's answer are believed. Cloud registries' passwords live for hours and are
written anew in good time; a password that was just corrected should not wait for a restart."""


class _Entry(msgspec.Struct):
    auth: str | None = None
    username: str | None = None
    password: str | None = None
    identitytoken: str | None = None
    registrytoken: str | None = None

    def __repr__(self) -> str:
        return "_Entry(...)"


class DockerConfig(msgspec.Struct, frozen=True, rename="camel"):
    """The parts of a docker configuration file that are about credentials."""

    auths: dict[str, _Entry] | None = None
    cred_helpers: dict[str, str] | None = None
    creds_store: str | None = None


def parse_config(data: bytes, source: str) -> DockerConfig:
    """The configuration that some bytes are.

    Raises:
        UsageError: no JSON object of this shape; the message shows none of its content.
    """
    try:
        return msgspec.json.decode(data, type=DockerConfig)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{source} is not a docker configuration file", why=str(error)) from error


def parse_legacy_config(data: bytes, source: str) -> DockerConfig:
    """The configuration in the form before 2015, ``{"registry.example": {"auth": "..."}}`` without ``auths`` around it.

    Raises:
        UsageError: no JSON object of this shape; the message shows none of its content.
    """
    try:
        return DockerConfig(auths=msgspec.json.decode(data, type=dict[str, _Entry]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{source} is not a docker configuration file", why=str(error)) from error


def read_config(path: Path, name: str) -> DockerConfig:
    """The configuration in a file, which messages call ``name``.

    Raises:
        UsageError: it cannot be read, is too large, or does not parse.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read", why=error.strerror or str(error)) from error
    if len(data) > _MAX_CONFIG_BYTES:
        raise UsageError(
            f"{name} is not a docker configuration file", why=f"it has more than {_MAX_CONFIG_BYTES} bytes"
        )
    return parse_config(data, name)


def helper_for(config: DockerConfig, key: str) -> str:
    """The credential helper asked for a registry: its own, else the general one; empty if there is none."""
    helpers = config.cred_helpers or {}
    return helpers.get(finding.host_of(key)) or helpers.get(key) or config.creds_store or ""


def find_in_file(config: DockerConfig, key: str, source: str, repository: str = "") -> Credential | None:
    """The credential that the file itself holds for a repository; ``None`` if there is none.

    Raises:
        UsageError: the entry is there and cannot be decoded.
    """
    auths = config.auths or {}
    name = finding.best_key(auths, key, repository)
    found = None if name is None else _parse_entry(auths[name], key, source)
    return found and replace(found, is_narrow=finding.is_narrow(name or ""))


def _parse_entry(entry: _Entry, key: str, source: str) -> Credential | None:
    username, password = entry.username or "", entry.password or ""
    if entry.auth:
        try:
            decoded = base64.b64decode(entry.auth, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise UsageError(
                f"the credentials of {key} in {source} cannot be read",
                why="auth is not base64",
                todo=f"docker login {key}",
            ) from error
        username, _, password = decoded.rstrip("\0").partition(":")
    credential = Credential(username, password, entry.identitytoken or "", entry.registrytoken or "")
    return None if credential == Credential() else credential


class CredentialSource(Protocol):
    """Somewhere else where credentials are: the secrets of a cluster."""

    async def find(self, key: str, repository: str) -> Credential | None:
        """The credential for a repository; ``None``: there is none, or the place cannot be asked, which it tells itself."""
        ...


class Credentials:
    """The credentials of some configuration files and another source, read again after a while: they are replaced."""

    def __init__(
        self, access: RegistryAccess, clock: Callable[[], float], *, source: CredentialSource | None = None
    ) -> None:
        self._access = access
        self._clock = clock
        self._source = source
        self._files: dict[Path, DockerConfig] = {}
        self._helped: dict[tuple[str, str], Credential | None] = {}
        self._good_until = 0.0

    async def find(self, key: str, repository: str = "") -> Credential | None:
        """The credential for a repository; ``None``: go anonymously.

        The first file that has one counts, files before the other source.

        Args:
            key: the name under which ``docker login`` files the host.
            repository: ``team/app``.

        Raises:
            UsageError: a file or a helper cannot be used.
        """
        login = self._access.login
        if login is not None and finding.host_of(reference.credentials_key(login.host)) == finding.host_of(key):
            return Credential(login.username, login.password, source="given by hand")
        if self._good_until <= self._clock() or len(self._helped) >= _MAX_REGISTRIES:
            self._files.clear()
            self._helped.clear()
            self._good_until = self._clock() + LIFETIME
        for path in (self._access.config,) if self._access.config else self._access.default_configs:
            if (found := await self._look_up(path, key, repository)) is not None:
                return found
        return await self._source.find(key, repository) if self._source else None

    async def _look_up(self, path: Path, key: str, repository: str) -> Credential | None:
        name = self._access.name_of(path)
        if path not in self._files:
            self._files[path] = read_config(path, name)
        config = self._files[path]
        # An entry for a part of a registry is meant for that part; a helper knows hosts only.
        in_file = find_in_file(config, key, name, repository)
        helper = "" if in_file and in_file.is_narrow else helper_for(config, key)
        if helper and (found := await self._ask(helper, key)):
            return replace(found, source=f"docker-credential-{helper}, which {name} names")
        return None if in_file is None else replace(in_file, source=name)

    async def _ask(self, helper: str, key: str) -> Credential | None:
        if (helper, key) not in self._helped:
            self._helped[helper, key] = await ask_helper(helper, key, self._access.helper_timeout)
        return self._helped[helper, key]
