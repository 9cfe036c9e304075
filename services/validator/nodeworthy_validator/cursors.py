"""Cursors: where a page ended, in a form that any replica can go on from.

A cursor is ``REVISION.IMAGE.NODE``: how far the replica that made the page had read the bus, the place of the image among
those asked, and the last node as a token of the bus. Pages are in order of names, so nodes that come and go between two
pages neither repeat nor hide another one.
"""

from typing import NamedTuple

from nodeworthy.bus.names import decode_token, encode_token
from nodeworthy.errors import UsageError

MAX_NUMBER = 2**63


class Cursor(NamedTuple):
    """Where to go on: after ``node`` of image number ``image``."""

    revision: int = 0
    image: int = 0
    node: str = ""
    """Empty: from the first node on."""


def write_cursor(cursor: Cursor) -> str:
    """The cursor as text."""
    return f"{cursor.revision}.{cursor.image}.{encode_token(cursor.node) if cursor.node else ''}"


def parse_cursor(text: str) -> Cursor:
    """The cursor of a text; the inverse of :func:`write_cursor`. An empty text is the beginning.

    Raises:
        UsageError: it is no cursor.
    """
    if not text:
        return Cursor()
    revision, _, rest = text.partition(".")
    image, _, node = rest.partition(".")
    try:
        return Cursor(_read_number(revision), _read_number(image), decode_token(node) if node else "")
    except (UsageError, ValueError):
        raise UsageError(
            f"{text[:60]!r} is no cursor",
            why="a cursor is taken from the page before as it is",
            todo="begin without one",
        ) from None


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < MAX_NUMBER):  # noqa: PLR2004 # digits of 2**63
        raise ValueError(text)
    return int(text)
