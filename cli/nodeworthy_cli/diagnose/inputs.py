"""What a person gives: texts, exit codes, kernel lines, a core file."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nodeworthy.diagnosis import kernel_log
from nodeworthy.diagnosis.cores import Core, read_core
from nodeworthy.diagnosis.kernel_log import Event
from nodeworthy.diagnosis.reading import MAX_TEXT_BYTES
from nodeworthy.errors import UsageError
from nodeworthy_cli.facts import read_file

STANDARD_INPUT = "-"


class Given(NamedTuple):
    """What was given in words."""

    text: str
    kernel: str
    """The lines of the kernel log in it."""
    events: tuple[Event, ...]
    notices: tuple[str, ...] = ()


def read_given(texts: Sequence[str], kernel_lines: Sequence[str], more: Sequence[str] = ()) -> Given:
    """All texts together; ``more`` are those that were found elsewhere, as the events of a pod.

    Raises:
        UsageError: a file or standard input cannot be read, or has too much.
    """
    told = [
        _decode(read_file(STANDARD_INPUT, MAX_TEXT_BYTES, "text")) if text == STANDARD_INPUT else text for text in texts
    ]
    notices = tuple(
        f"{text} is taken as words, and is the name of a file too; its content: nodeworthy diagnose - < {text}"
        for text in texts
        if text != STANDARD_INPUT and _is_file(text)
    )
    kernel = [_decode(read_file(one, MAX_TEXT_BYTES, "kernel log")) if _is_file(one) else one for one in kernel_lines]
    text = kernel_log.plain_text("\n".join([*told, *kernel, *more]))
    events = tuple(kernel_log.read_events(kernel_log.split_lines(text)))
    return Given(text, "\n".join(kernel), events, notices)


def read_core_file(name: Path) -> Core:
    """What a core file tells.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    try:
        with name.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            data = memoryview(mapped)
            try:
                return read_core(data, str(name))
            finally:
                data.release()
    except ValueError as error:
        raise UsageError(f"core file {name} cannot be read", why="it is empty") from error
    except OSError as error:
        raise UsageError(f"core file {name} cannot be read", why=error.strerror or str(error)) from error


def parse_exit_code(text: str) -> int:
    """An exit code: ``132``, ``-4``, ``0xC000001D``.

    Raises:
        UsageError: it is none.
    """
    try:
        code = int(text, 0)
    except ValueError:
        code = 1 << 32
    if not -(1 << 31) <= code < 1 << 32:
        raise UsageError(f"--exit-code {text} is no exit code", todo="write it as 132, -4 or 0xC000001D")
    return code


def _is_file(name: str) -> bool:
    try:
        return len(name) < 4096 and Path(name).is_file()  # noqa: PLR2004 # PATH_MAX
    except (OSError, ValueError):
        return False


def _decode(data: bytes) -> str:
    return data.decode(errors="replace")
