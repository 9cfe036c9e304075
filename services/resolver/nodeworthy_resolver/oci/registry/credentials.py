"""Names and passwords for registries, from the file that ``docker login``, ``podman login`` and ``oras login`` write.

The file is read when a registry first asks who we are, so that public images need none. Secrets are in no message and no
``repr``.
"""

import asyncio
import base64
import binascii
import contextlib
import json
import os
import re
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from nodeworthy.errors import UsageError

_MAX_CONFIG_BYTES = 1024 * 1024
"""A thousand registries with tokens of a kilobyte each."""
_MAX_HELPER_BYTES = 256 * 1024
"""Tokens of cloud registries have a few kilobytes."""

_MAX_REGISTRIES = 1000
"""Registries whose credentials are remembered at once."""

_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A part of a program's name; a slash in it would start any program of the machine."""

_TOKEN_USER = "<token>"  # noqa: S105 # the user name that marks an identity token, not a secret
_NOT_FOUND = "credentials not found"
"""What a helper prints when it has none (docker-credential-helpers, "credentials not found in native keychain")."""


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
    """The file or the helper that it is from."""

    @property
    def basic(self) -> str:
        """The value of a Basic Authorization header (RFC 7617)."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


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


def read_config(path: Path) -> DockerConfig:
    """The configuration in a file.

    Raises:
        UsageError: it cannot be read, is too large, or does not parse.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if len(data) > _MAX_CONFIG_BYTES:
        raise UsageError(
            f"{path} is not a docker configuration file", why=f"it has more than {_MAX_CONFIG_BYTES} bytes"
        )
    return parse_config(data, str(path))


def helper_for(config: DockerConfig, key: str) -> str:
    """The credential helper asked for a registry: its own, else the general one; empty if there is none."""
    return (
        (config.cred_helpers or {}).get(_host_of(key))
        or (config.cred_helpers or {}).get(key)
        or config.creds_store
        or ""
    )


def find_in_file(config: DockerConfig, key: str, source: str) -> Credential | None:
    """The credential that the file itself holds for a registry; ``None`` if there is none.

    Old engines wrote the key as a URL (``https://host/v1/``), so that hosts are compared.

    Raises:
        UsageError: the entry is there and cannot be decoded.
    """
    auths = config.auths or {}
    entry = auths.get(key) or next((entry for name, entry in auths.items() if _host_of(name) == _host_of(key)), None)
    return None if entry is None else _parse_entry(entry, key, source)


def _host_of(key: str) -> str:
    """``https://index.docker.io/v1/`` is ``index.docker.io``."""
    return re.sub(r"^https?://", "", key).partition("/")[0]


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


def parse_helper_output(data: bytes, helper: str) -> Credential:
    """What a credential helper printed: ``{"ServerURL": "...", "Username": "...", "Secret": "..."}``.

    Raises:
        UsageError: something else.
    """
    try:
        found = json.loads(data)
        username, secret = found["Username"], found["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"docker-credential-{helper} printed no credentials", why="no JSON with Username and Secret"
        ) from error
    if not isinstance(username, str) or not isinstance(secret, str):
        raise UsageError(f"docker-credential-{helper} printed no credentials", why="Username and Secret are not texts")
    if username == _TOKEN_USER:
        return Credential(identity_token=secret)
    return Credential(username, secret)


async def ask_helper(helper: str, key: str, timeout: float) -> Credential | None:  # noqa: ASYNC109 # ends the child too
    """The credential that ``docker-credential-HELPER get`` has for a registry; ``None`` if it has none.

    A child process with a time limit: helpers open keyrings, and some wait for a person.

    Raises:
        UsageError: no such helper, it failed, or it took too long.
    """
    program = f"docker-credential-{helper}"
    if not _HELPER_NAME.fullmatch(helper):
        raise UsageError(
            f"{helper!r} is no credential helper", why="its name may hold letters, digits, dots and dashes"
        )
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "get",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # so that it ends with the programs that it started
        )
    except OSError as error:
        raise UsageError(
            f"credential helper {program} cannot be started",
            why=error.strerror or str(error),
            todo="install it, or name another file with --registry-config",
        ) from error
    output = await _converse(process, key, program, timeout)
    if process.returncode == 0:
        return parse_helper_output(output, helper)
    if _NOT_FOUND in output.decode(errors="replace").lower():
        return None
    raise UsageError(
        f"credential helper {program} failed", why=f"exit code {process.returncode}", todo=f"docker login {key}"
    )


async def _converse(process: asyncio.subprocess.Process, key: str, program: str, seconds: float) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(seconds):
            process.stdin.write(key.encode())
            process.stdin.close()
            output = await _read_all(process.stdout, program)
            await process.wait()
    except BaseException as error:
        _kill_all(process.pid)
        await _bury(process, process.stdout)
        if isinstance(error, TimeoutError):
            raise UsageError(f"credential helper {program} did not answer", why=f"within {seconds:g} s") from error
        raise
    return output


def _kill_all(session: int) -> None:
    """Kill a helper and what it started: many are scripts, and the program behind one would live on and hold the pipe."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


_BURIAL_SECONDS = 2.0
"""For a helper that was killed: its end is there at once, unless a program of its own left the session with the pipe."""


async def _bury(process: asyncio.subprocess.Process, stdout: asyncio.StreamReader) -> None:
    """Wait for the end of a killed helper; its pipe is emptied first, since asyncio waits for a pipe that is full too."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_BURIAL_SECONDS):
            while await stdout.read(65536):
                pass
            await process.wait()


async def _read_all(stream: asyncio.StreamReader, program: str) -> bytes:
    output = b""
    while chunk := await stream.read(65536):
        output += chunk
        if len(output) > _MAX_HELPER_BYTES:
            raise UsageError(
                f"credential helper {program} printed too much", why=f"more than {_MAX_HELPER_BYTES} bytes"
            )
    return output


class Credentials:
    """The credentials of one configuration file, looked up once per registry."""

    def __init__(self, path: Path | None, helper_timeout: float) -> None:
        self._path = path
        self._helper_timeout = helper_timeout
        self._config: DockerConfig | None = None
        self._found: dict[str, Credential | None] = {}

    async def find(self, key: str) -> Credential | None:
        """The credential for a registry, by the key that ``docker login`` files it under; ``None``: go anonymously."""
        if self._path is None:
            return None
        if key not in self._found:
            if len(self._found) >= _MAX_REGISTRIES:
                self._found.clear()
            self._found[key] = await self._look_up(self._path, key)
        return self._found[key]

    async def _look_up(self, path: Path, key: str) -> Credential | None:
        if self._config is None:
            self._config = read_config(path)
        helper = helper_for(self._config, key)
        if helper and (found := await ask_helper(helper, key, self._helper_timeout)):
            return replace(found, source=f"docker-credential-{helper}, which {path} names")
        in_file = find_in_file(self._config, key, str(path))
        return None if in_file is None else replace(in_file, source=str(path))
