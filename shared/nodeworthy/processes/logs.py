"""How log records are written: one JSON object a line for programs, plain text on a terminal.

Everything is bounded, since values come from files, registries and other parties.
"""

import json
import logging
import math
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from nodeworthy.processes.events import FIELDS
from nodeworthy.processes.repeats import REPEATED, Repeats

MAX_TEXT = 2_000
"""Letters of one value; an error text with a page of HTML in it is cut here."""
MAX_ITEMS = 50
"""Fields of one event and items of one list; more is a mistake or somebody else's data."""
MAX_TRACE = 20_000
"""Letters of a trace: about 200 frames, more only in a recursion."""

_RESERVED = frozenset({"time", "level", "event", "message", "trace", REPEATED})


class LogFormat(StrEnum):
    """How a log line looks."""

    AUTO = "auto"
    """Text on a terminal, else JSON."""
    TEXT = "text"
    JSON = "json"


def configure_logs(
    *, form: LogFormat = LogFormat.AUTO, level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Send every log record of this process, also those of libraries and Python's warnings, to one stream.

    Called once by whoever owns the process; a library never calls it. Standard error is the default: standard output
    belongs to answers.
    """
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    is_text = form is LogFormat.TEXT or (form is LogFormat.AUTO and stream.isatty())
    handler.setFormatter(TextFormatter() if is_text else JsonFormatter())
    handler.addFilter(Repeats())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    logging.captureWarnings(capture=True)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``{"time": "2026-11-30T14:26:37.541Z", "level": "info", "event": "bus.connected", …}``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII, so that no encoding of a stream can fail on it."""
        return json.dumps({"time": _time(record), "level": record.levelname.lower(), **_content(record)})


class TextFormatter(logging.Formatter):
    """A line for people: ``14:26:37 WARNING detector.source_failed source=pci error="Permission denied"``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a trace follows on lines of its own."""
        content = _content(record)
        head = f"{_local_time(record)} {record.levelname:<7} {_plain(content.pop('event'))}"
        trace = content.pop("trace", None)
        fields = [f"{name}={_plain(value)}" for name, value in content.items()]
        return " ".join([head, *fields]) + (f"\n{trace}" if trace else "")


def _content(record: logging.LogRecord) -> dict[str, object]:
    """Event and fields; a record that is no event of ours is named after its logger and keeps its sentence."""
    fields = getattr(record, FIELDS, None)
    content: dict[str, object] = {}
    if isinstance(fields, Mapping):
        content["event"] = _bounded(record.getMessage())
        for name, value in list(fields.items())[:MAX_ITEMS]:
            content[f"{name}_" if name in _RESERVED else str(name)] = _bounded(value)
        if repeated := getattr(record, REPEATED, 0):
            content[REPEATED] = repeated
    else:
        content |= {"event": record.name, "message": _bounded(record.getMessage())}
    if record.exc_info and record.exc_info[0] is not None:
        # The end of a trace holds the error and the innermost calls.
        content["trace"] = logging.Formatter().formatException(record.exc_info)[-MAX_TRACE:]
    return content


def _bounded(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)  # JSON has no infinity
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
        left_out = [f"… {len(items) - MAX_ITEMS} more"] if len(items) > MAX_ITEMS else []
        return [_cut(str(item)) for item in items[:MAX_ITEMS]] + left_out
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _plain(value: object) -> str:
    """A value as text: quoted where it has spaces or quotes, escaped where it could move a terminal's cursor."""
    text = value if isinstance(value, str) else json.dumps(value)
    is_plain = text.isprintable() and not any(letter in ' "=' for letter in text)
    return text if is_plain and text else json.dumps(value, ensure_ascii=not text.isprintable())


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _local_time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
