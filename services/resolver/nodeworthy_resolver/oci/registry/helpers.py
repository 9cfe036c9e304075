"""Credential helpers: programs ``docker-credential-NAME`` that are asked for one registry's credentials."""

import asyncio
import contextlib
import json
import os
import re
import signal

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci.registry.credential import Credential

_MAX_HELPER_BYTES = 256 * 1024
"""Tokens of cloud registries have a few kilobytes."""

_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A part of a program's name; a slash in it would start any program of the machine."""

_TOKEN_USER = "<token>"  # noqa: S105 # the user name that marks an identity token, not a secret
_NOT_FOUND = "credentials not found"
"""What a helper prints when it has none (docker-credential-helpers, "credentials not found in native keychain")."""


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
