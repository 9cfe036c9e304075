"""Bodies of messages: MessagePack between programs, JSON for people, told apart by the first byte.

A body that starts with ``{`` or ``[`` is JSON: in MessagePack these bytes are the numbers 123 and 91, which no message is.
What was asked in JSON is answered in JSON.
"""

from enum import Enum
from typing import TypeVar

import msgspec

from nodeworthy.bus.records import VERSION, Message
from nodeworthy.errors import PayloadError, PayloadVersionError

MAX_BODY_BYTES = 1024 * 1024
"""The default ``max_payload`` of a NATS server; no message of ours needs more."""

_Kind = TypeVar("_Kind", bound=Message)
_Type = TypeVar("_Type")


class Format(Enum):
    """How a body is written."""

    MESSAGEPACK = "messagepack"
    JSON = "json"


class _Head(msgspec.Struct):
    version: int = VERSION


def format_of(body: bytes) -> Format:
    """The format of a body, by its first byte."""
    return Format.JSON if body[:1] in (b"{", b"[") else Format.MESSAGEPACK


def encode(message: Message, form: Format = Format.MESSAGEPACK) -> bytes:
    """The body of a message.

    Raises:
        PayloadError: it would pass :data:`MAX_BODY_BYTES`, or holds text that is no Unicode.
    """
    try:
        body = msgspec.json.encode(message) if form is Format.JSON else msgspec.msgpack.encode(message)
    except UnicodeEncodeError as error:
        raise PayloadError(f"a {type(message).__name__} cannot be written", why="it holds a lone surrogate") from error
    if len(body) > MAX_BODY_BYTES:
        raise PayloadError(
            f"a {type(message).__name__} has {len(body):,} bytes", why=f"the limit is {MAX_BODY_BYTES:,}"
        )
    return body


def decode(body: bytes, kind: type[_Kind], *, limit: int = MAX_BODY_BYTES) -> _Kind:
    """The message of a body.

    Raises:
        PayloadVersionError: it is of a format version that this program does not read.
        PayloadError: it is larger than ``limit``, does not decode, or has another shape than ``kind``.
    """
    if len(body) > limit:
        raise PayloadError(f"a body of {len(body):,} bytes was not read", why=f"the limit is {limit:,}", too_large=True)
    is_json = format_of(body) is Format.JSON
    try:
        _check_version(_read(body, _Head, is_json).version)
        return _read(body, kind, is_json)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PayloadError(f"a body is no {kind.__name__}", why=str(error)) from error


def _read(body: bytes, kind: type[_Type], is_json: bool) -> _Type:
    return msgspec.json.decode(body, type=kind) if is_json else msgspec.msgpack.decode(body, type=kind)


def _check_version(version: int) -> None:
    if version == VERSION:
        return
    raise PayloadVersionError(
        f"a message of format version {version} was not read",
        why=f"this program reads version {VERSION}",
        todo="upgrade the program that is older" if version > VERSION else "",
    )
