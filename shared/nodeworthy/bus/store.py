"""JetStream in the few calls that nodeworthy makes: put, get, read on, count, purge.

They go to JetStream's API as requests and not through nats-py's own layers, because those hide what is decided here: which
revision a write expects, what an error means, and that nobody needs a consumer. A consumer delivers to any subject that its
maker names, so who may create one can speak for everybody; direct gets answer only to the inbox of who asks.
Source of the API: NATS ADR-1 (JSON API), ADR-31 (direct get, batched), ADR-8 (key-value).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.inboxes import Inbox
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.errors import (
    BusConflictError,
    BusError,
    BusFullError,
    BusNobodyError,
    BusUnreachableError,
    PayloadError,
)

PAGE_MESSAGES = 1000
"""Messages of one page: 100 requests read 100,000 snapshots, in 3 s."""

PAGE_BYTES = 8 * 1024 * 1024
"""Bytes of one page: what a reader holds beside what it keeps."""

_WRONG_LAST_SEQUENCE = 10071
_STORE_FAILED = 10077
"""Also for "maximum messages per subject exceeded", told apart by its text."""
_TOO_LARGE = 10054
_NOT_FOUND = "404"
_END_OF_PAGE = "204"

REMOVED_HEADER = "KV-Operation"
"""ADR-8: a message with this header says that the key is gone. Ours have a body all the same: an empty one would be a valid
request to JetStream's API, if somebody found a way to send it there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One message as the bus holds it."""

    subject: str
    data: bytes
    revision: int
    """Its sequence in the stream; it orders the writes of a key."""
    time: float
    """Unix time when the bus stored it."""
    is_removal: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Some messages of a stream in the order of their revisions, and whether more were there."""

    messages: tuple[Stored, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a bucket holds, and its oldest message: both change when a store was lost."""

    count: int
    oldest: Stored | None


_Kind = TypeVar("_Kind")


class _ApiError(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _PutAnswer(msgspec.Struct):
    seq: int = 0
    error: _ApiError | None = None


class _Answer(msgspec.Struct):
    error: _ApiError | None = None
    purged: int = 0


class Store:
    """The streams and buckets of one cluster, seen through one connection."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self.connection = connection
        self.names = names
        self._inbox = Inbox(connection)

    async def put(
        self, bucket: Bucket, key: str, data: bytes, *, expected: int | None = None, seconds_to_live: int | None = None
    ) -> int:
        """Write a key; its new revision.

        Args:
            bucket: where.
            key: what :mod:`nodeworthy.bus.keys` makes.
            data: what.
            expected: the revision that the key must have now; 0: it must not be there.
            seconds_to_live: after which the bus forgets it; only where the bucket allows that (``images``).

        Raises:
            BusConflictError: the key has another revision than ``expected``.
            BusFullError: the key is there and the bucket is write-once, or the store is full.
            BusDeniedError: this user may not write this key.
            BusUnreachableError: not known whether it was written.
        """
        headers = {}
        if expected is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(expected)
        if seconds_to_live is not None:
            headers["Nats-TTL"] = f"{seconds_to_live}s"
        return await self.append(self.names.key_subject(bucket, key), data, headers)

    async def append(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        """Write a message to the stream that takes ``subject``; its sequence. Raises what :meth:`put` raises."""
        message = await self.connection.request(subject, data, headers=headers)
        answer = _decode(message.data, _PutAnswer)
        if answer.error is None:
            return answer.seq
        raise _put_error(answer.error, subject)

    async def remove(self, bucket: Bucket, key: str, *, expected: int | None = None) -> int:
        """Say that a key is gone, so that every watch sees it; a purge alone tells nobody."""
        headers = {REMOVED_HEADER: "DEL"}
        if expected is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(expected)
        return await self.append(self.names.key_subject(bucket, key), b"removed", headers)

    async def get(self, bucket: Bucket, key: str) -> Stored | None:
        """The last message of a key, a removal too; ``None`` if there is none.

        Raises:
            BusNobodyError: the bucket does not exist.
            BusDeniedError: this user may not read this key.
            BusUnreachableError: no answer.
        """
        subject = self.names.key_subject(bucket, key)
        message = await self.connection.request(f"$JS.API.DIRECT.GET.{self.names.stream(bucket)}.{subject}")
        return None if _status(message) == _NOT_FOUND else read_stored(message)

    async def read(self, stream: str, subjects: str, after: int, *, limit: int = PAGE_MESSAGES) -> Page:
        """The messages of a stream whose subjects match, with revisions above ``after``.

        Raises:
            BusNobodyError: the stream does not exist.
            BusDeniedError: this user may not read it.
            BusUnreachableError: no answer.
        """
        query = {"seq": after + 1, "batch": limit, "max_bytes": PAGE_BYTES, "next_by_subj": subjects}
        return await self._read_page(f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(query))

    async def read_bucket(self, bucket: Bucket, after: int = 0, *, keys: str = ">") -> Page:
        """A page of a bucket; raises what :meth:`read` raises."""
        return await self.read(self.names.stream(bucket), self.names.key_subject(bucket, keys), after)

    async def measure(self, bucket: Bucket, *, keys: str = ">") -> Extent:
        """How much a bucket holds, in one cheap request; raises what :meth:`read` raises."""
        query = {"seq": 1, "batch": 1, "next_by_subj": self.names.key_subject(bucket, keys)}
        oldest, *_ = await self._ask(f"$JS.API.DIRECT.GET.{self.names.stream(bucket)}", msgspec.json.encode(query))
        if _status(oldest) == _NOT_FOUND:
            return Extent(0, None)
        return Extent(1 + int(_header(oldest, "Nats-Num-Pending") or 0), read_stored(oldest))

    async def purge(self, bucket: Bucket, key: str, *, up_to: int) -> int:
        """Forget a key's messages with revisions up to ``up_to``; how many there were. Watches are told nothing.

        Raises:
            BusDeniedError: this user may not purge.
            BusUnreachableError: not known whether it was purged.
        """
        query = {"filter": self.names.key_subject(bucket, key), "seq": up_to + 1}
        return (await self._call(f"STREAM.PURGE.{self.names.stream(bucket)}", query)).purged

    async def _call(self, verb: str, query: dict[str, Any]) -> _Answer:
        message = await self.connection.request(f"$JS.API.{verb}", msgspec.json.encode(query))
        answer = _decode(message.data, _Answer)
        if answer.error is not None:
            raise BusError(f"JetStream refused {verb}", why=answer.error.description)
        return answer

    async def _read_page(self, subject: str, query: bytes) -> Page:
        *messages, end = await self._ask(subject, query)
        is_last = _status(end) == _NOT_FOUND or _header(end, "Nats-Num-Pending") in ("", "0")
        return Page(tuple(map(read_stored, messages)), is_last)

    async def _ask(self, subject: str, query: bytes) -> list[Msg]:
        """All answers of a batched get, the last of which is a status."""
        answers = await self._inbox.ask(subject, query, is_last=lambda message: bool(_status(message)))
        status = _status(answers[-1])
        if status == "503":
            raise BusNobodyError(f"nobody listens on {subject}", why="the stream is missing")
        if status not in (_NOT_FOUND, _END_OF_PAGE):
            raise BusError(f"JetStream refused {subject}", why=_header(answers[-1], "Description") or status)
        return answers


def _status(message: Msg) -> str:
    return _header(message, "Status")


def _header(message: Msg, name: str) -> str:
    return (message.headers or {}).get(name, "")


def read_stored(message: Msg) -> Stored:
    """The stored message that JetStream gives or announces.

    Raises:
        BusError: the message is not JetStream's.
    """
    headers = message.headers or {}
    try:
        return Stored(
            subject=headers["Nats-Subject"],
            data=message.data,
            revision=int(headers["Nats-Sequence"]),
            time=_parse_time(headers["Nats-Time-Stamp"]),
            is_removal=REMOVED_HEADER in headers,
        )
    except (KeyError, ValueError) as error:
        raise BusError("JetStream gave an answer that cannot be read", why=repr(error)) from error


def _parse_time(text: str) -> float:
    """Unix time of ``2026-11-30T14:27:21.898822645Z``; the digits after the sixth are dropped."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}")


def _decode(data: bytes, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise BusError("JetStream gave an answer that cannot be read", why=str(error)) from error


def _put_error(error: _ApiError, subject: str) -> BusError:
    if error.err_code == _WRONG_LAST_SEQUENCE:
        return BusConflictError(f"somebody else wrote {subject}", why=error.description)
    if error.err_code == _STORE_FAILED and "per subject" in error.description:
        return BusFullError(f"{subject} is there already", why="what is stored here is written once", is_key=True)
    if error.err_code == _TOO_LARGE:
        return PayloadError(f"a message to {subject} is larger than its stream takes", too_large=True)
    if error.err_code == _STORE_FAILED:
        return BusFullError(f"{subject} could not be stored", why=error.description)
    return BusUnreachableError(f"{subject} was not stored", why=error.description)
