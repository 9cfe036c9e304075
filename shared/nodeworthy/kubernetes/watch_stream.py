"""The text of a watch: one JSON object in a line, without an end.

::

    {"type": "ADDED", "object": {"kind": "Node", "metadata": {"name": "n1", "resourceVersion": "17", …}}}
    {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "20"}}}
    {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version: 1 (17)", …}}

Kubernetes API concepts, "Efficient detection of changes".
"""

from collections.abc import AsyncIterator
from enum import StrEnum

import msgspec

from nodeworthy.kubernetes import refusals
from nodeworthy.kubernetes.refusals import KubernetesContentError, KubernetesGoneError

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one event. etcd takes objects of 1.5 MB in its own encoding; as JSON they may have some times that."""


class EventType(StrEnum):
    """What happened to the object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing; the object is a resourceVersion up to which everything was told."""


class WatchEvent(msgspec.Struct, frozen=True):
    """One event; the object is JSON."""

    type: str
    object: msgspec.Raw


class _Versioned(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: _Versioned


_EVENT = msgspec.json.Decoder(WatchEvent)
_BOOKMARK = msgspec.json.Decoder(_Bookmark)


async def split_lines(pieces: AsyncIterator[bytes], what: str) -> AsyncIterator[bytes]:
    """The lines of a text that comes in pieces; what follows the last line end was cut off and is no line.

    Raises:
        KubernetesContentError: a line has more than :data:`MAX_LINE` bytes; ``what`` failed.
    """
    kept: list[bytes] = []
    size = 0
    async for piece in pieces:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = b"".join((*kept, line))
            kept.clear()
            size = 0
            if whole:
                yield whole
        kept.append(rest)
        size += len(rest)
        if size > MAX_LINE:
            raise KubernetesContentError(what, why=f"one event has more than {MAX_LINE} bytes")


def parse_event(line: bytes, what: str) -> WatchEvent:
    """The event in a line.

    Raises:
        KubernetesGoneError: the version to go on from is compacted.
        KubernetesError: the server ends the watch for another reason, or the line is no event.
    """
    try:
        event = _EVENT.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KubernetesContentError(what, why=f"a line of the watch is no event: {error}") from error
    if event.type == "ERROR":
        status = refusals.parse_status(bytes(event.object))
        if status.reason == "Expired":  # 410 by another name
            raise KubernetesGoneError(what, why=refusals.printable(status.message), status=410, reason=status.reason)
        raise refusals.make_error(status.code or 500, status, what)
    return event


def parse_bookmark(data: msgspec.Raw, what: str) -> str:
    """The resourceVersion of a bookmark.

    Raises:
        KubernetesContentError: it has none.
    """
    try:
        return _BOOKMARK.decode(data).metadata.resource_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KubernetesContentError(what, why=f"a bookmark of the watch has no version: {error}") from error
