"""What nats-server says in its log, as far as people must hear of it.

A line of the log, as nats-server 2.15 writes it::

    [26361] 2026/11/30 14:21:06.761379 [FTL] Error listening on port: 127.0.0.1:4222, "listen tcp …: address already in use"
"""

import re
from pathlib import Path
from typing import NamedTuple

MAX_READ_BYTES = 1 << 18
"""Of the log since the start; a start writes 3 kB, and a line for each stream that it repairs."""
MAX_WARNINGS = 20
"""Lines that are passed on; the rest stays in the log."""

_LINE = re.compile(r"^\[\d+\] \S+ \S+ \[(?P<level>[A-Z]{3})\] +(?P<text>.*)$", re.MULTILINE)
_EXPECTED = ("Plaintext passwords detected",)  # they are random, and the file that holds them is its owner's only


_STREAM_LOST = ("metafile", "recreating stream", "recovering stream")
"""In what the server says of a stream that it leaves out."""


class StartLog(NamedTuple):
    """The part of a log that one start wrote."""

    fatal: str | None
    """Why the server gave up."""
    lost: str | None
    """A stream that the server left out. It goes on, but a stream made anew under that name is left out again by each next
    start (measured with 2.15.1: the broken file stays), so this store loses whatever is put into it."""
    warnings: tuple[str, ...]
    """What it found wrong and repaired, as messages at the end of a stream that were cut off."""


def parse_start_log(text: str) -> StartLog:
    """Pick what is worth telling out of the log."""
    fatal = lost = None
    warnings = []
    for found in _LINE.finditer(text):
        level, said = found["level"], found["text"].strip()
        if level == "FTL":
            fatal = said
        elif level in {"WRN", "ERR"} and not said.startswith(_EXPECTED):
            warnings.append(said)
            if any(words in said for words in _STREAM_LOST):
                lost = lost or said
    left_out = [f"{len(warnings) - MAX_WARNINGS} more"] if len(warnings) > MAX_WARNINGS else []
    return StartLog(fatal, lost, tuple(warnings[:MAX_WARNINGS] + left_out))


def is_port_in_use(fatal: str) -> bool:
    """Whether the server gave up because somebody else listens on its port."""
    return "address already in use" in fatal


def is_store_broken(fatal: str) -> bool:
    """Whether the server gave up on its store."""
    return "JetStream" in fatal


def read_start_log(path: Path, start: int) -> StartLog:
    """What the server has written since its log had ``start`` bytes; a log that cannot be read says nothing."""
    return parse_start_log(read_from(path, start))


def read_from(path: Path, start: int) -> str:
    """The text of a file from a place on; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(start if start <= file.seek(0, 2) else 0)  # begun anew in between
            return file.read(MAX_READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
