"""One run of one program: bounded in time and in what it may write, and nothing of it is left."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from nodeworthy.features import clean_text

MAX_OUTPUT_BYTES = 64 * 1024
"""The limit of a file of features.d (NFD): the same facts in another way."""

MAX_ERROR_BYTES = 1024 * 1024
"""A program that writes more than this to standard error in one run is ended: reading it costs the node."""

KEPT_ERROR_BYTES = 2_000
"""The end of standard error that is kept: what goes wrong is told last."""

_END_SECONDS = 2.0
"""To end all that a program has started; a process that the kernel holds longer is left to the kernel."""

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))


class Run(msgspec.Struct, frozen=True):
    """How a run went."""

    output: bytes = b""
    """All of standard output."""
    errors: str = ""
    """The end of standard error."""
    problem: str = ""
    """Why the run says nothing, in one line; empty for one that does."""


class _TooMuchError(Exception):
    """The program writes more than it may."""


async def run_program(path: str, environment: Mapping[str, str], seconds: float) -> Run:
    """Run a program in ``/``, without standard input and with nothing but this environment."""
    try:
        # -I and -S: nothing of the program's environment and of installed packages counts for the supervisor.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            _SUPERVISOR,
            path,
            str(os.getpid()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Run(problem=f"it cannot be started: {error.strerror}")
    output, errors = bytearray(), bytearray()
    try:
        problem = await _follow(process, output, errors, seconds)
    finally:
        await _end_surely(process)
    text = clean_text(errors.decode("utf-8", "replace"))
    return Run(bytes(output), text, problem or _judge(process.returncode or 0, text))


async def _follow(process: asyncio.subprocess.Process, output: bytearray, errors: bytearray, seconds: float) -> str:
    """Read what a program writes until it ends; the answer is what it may not do and did."""
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            group.create_task(_read_output(process.stdout, output), name="standard output")
            group.create_task(_read_errors(process.stderr, errors), name="standard error")
            await process.wait()
    except TimeoutError:
        return f"it did not end within {seconds:g} s"
    except ExceptionGroup as group_of:
        many, _ = group_of.split(_TooMuchError)
        if many is None:
            raise
        return str(many.exceptions[0])
    return ""


def _judge(code: int, errors: str) -> str:
    if code == 0:
        return ""
    how = f"exit code {code}" if code > 0 else f"ended by {_signal_name(-code)}"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f"{how}: {lines[-1]}" if lines else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _read_output(stream: asyncio.StreamReader | None, output: bytearray) -> None:
    assert stream is not None
    while part := await stream.read(MAX_OUTPUT_BYTES):
        output += part
        if len(output) > MAX_OUTPUT_BYTES:
            raise _TooMuchError(f"it wrote more than {MAX_OUTPUT_BYTES:,} bytes to standard output")


async def _read_errors(stream: asyncio.StreamReader | None, errors: bytearray) -> None:
    assert stream is not None
    total = 0
    while part := await stream.read(MAX_OUTPUT_BYTES):
        total += len(part)
        errors += part
        del errors[:-KEPT_ERROR_BYTES]
        if total > MAX_ERROR_BYTES:
            raise _TooMuchError(f"it wrote more than {MAX_ERROR_BYTES:,} bytes to standard error")


async def _end_surely(process: asyncio.subprocess.Process) -> None:
    """End it, also while this task is cancelled a second time: a program may be removed and the detector stopped at once."""
    ending = asyncio.create_task(_end(process), name="end of a program")
    cancelled: asyncio.CancelledError | None = None
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the supervisor, and with it all that it has started; what is left in the pipes is read, else they stay open."""
    for end in (process.terminate, process.kill):
        if process.returncode is None:
            end()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.communicate()
        except TimeoutError:
            continue
        return
