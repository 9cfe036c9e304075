"""Running a program that tells credentials: with a time limit, without a terminal, and its output within bounds."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

_BURIAL_SECONDS = 2.0
"""For a program that was killed: its end is there at once, unless a child of its own holds the pipes."""
_CHUNK = 65536


class Outcome(NamedTuple):
    """How a program ended."""

    status: int
    output: bytes
    errors: bytes
    """The beginning of what it said on standard error."""
    is_too_long: bool
    """Whether it was ended since it said more than the limit."""


async def run_program(
    command: tuple[str, ...], environment: Mapping[str, str], *, seconds: float, limit: int
) -> Outcome:
    """Run a program to its end, with nothing on standard input.

    It is killed after so many ``seconds``, and when it has printed more than ``limit`` bytes. Of standard error so many are
    kept, and the rest is passed over.

    Raises:
        OSError: it cannot be started.
        TimeoutError: it was killed.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            errors = group.create_task(_read_start(process.stderr, limit), name="kubernetes.program_errors")
            output = await _read_start(process.stdout, limit + 1, on_limit=process.kill)
        async with asyncio.timeout(_BURIAL_SECONDS):
            status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await _bury(process, process.stdout)
    return Outcome(status, output[:limit], errors.result(), is_too_long=len(output) > limit)


async def _read_start(stream: asyncio.StreamReader, limit: int, on_limit: Callable[[], None] | None = None) -> bytes:
    """The first bytes of a stream, which is read to its end, so that nobody waits for a full pipe."""
    kept = b""
    while chunk := await stream.read(_CHUNK):
        is_full = len(kept) >= limit
        kept += chunk[: limit - len(kept)]
        if on_limit is not None and not is_full and len(kept) >= limit:
            on_limit()
    return kept


async def _bury(process: asyncio.subprocess.Process, stdout: asyncio.StreamReader) -> None:
    """Wait for the end of a killed program; its pipe is emptied first, since asyncio waits for a pipe that is full too."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_BURIAL_SECONDS):
            while await stdout.read(_CHUNK):
                pass
            await process.wait()
