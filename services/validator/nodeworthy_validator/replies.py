"""Replies within their size: what does not fit is left out and said so, or comes with the next page."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from nodeworthy.bus.requests import NodeGroup, Require
from nodeworthy.verdicts import Answer, Verdict

MAX_TEXT = 500
"""Letters of a reason in a group: it may hold what strangers wrote into a specification."""

_Item = TypeVar("_Item")


class Budget:
    """Bytes that a reply may still take, counted as JSON, the longer of the two formats."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def take(self, item: object) -> bool:
        """Whether an item still fits; if so, its bytes are taken."""
        size = json_size(item)
        if size > self.left:
            return False
        self.left -= size
        return True


def json_size(item: object) -> int:
    """Bytes of an item in a list."""
    return len(msgspec.json.encode(item)) + 1


def fitting(items: Iterable[_Item], budget: Budget, most: int) -> Iterator[_Item]:
    """The first of the items, as many as fit and not more than ``most``."""
    for number, item in enumerate(items):
        if number == most or not budget.take(item):
            return
        yield item


def shorten_verdict(verdict: Verdict, limit: int) -> Verdict:
    """The verdict, without its findings if it is too large: somebody's specification may ask for ten thousand things."""
    size = json_size(verdict)
    if size <= limit:
        return verdict
    notice = f"findings left out: the verdict has {size:,} bytes, over {limit:,}; nodeworthy check on the node has all"
    return msgspec.structs.replace(verdict, reason=cut(verdict.reason), findings=(), sets=(), notices=(notice,))


def shorten_group(group: NodeGroup) -> NodeGroup:
    """The group with a reason that a line can hold."""
    return msgspec.structs.replace(group, reason=cut(group.reason))


def cut(text: str) -> str:
    """The text in at most :data:`MAX_TEXT` letters."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def overall(counts: dict[Answer, int], require: Require, *, undecided: int) -> Answer:
    """What the answers of all nodes make together; without any node nothing is known.

    One node that certainly fails is enough for "no" where every node is required. Nodes that may be meant and were not asked
    about can still make a "no" of a "yes" there, and a "yes" of a "no" where one node is enough.
    """
    failing = [answer for answer in (Answer.INCOMPATIBLE, Answer.IMAGE_DEFECT) if counts.get(answer)]
    decisive = failing[:1] if require is Require.ALL else [Answer.COMPATIBLE] * bool(counts.get(Answer.COMPATIBLE))
    if decisive:
        return decisive[0]
    if counts.get(Answer.UNKNOWN) or undecided or not counts:
        return Answer.UNKNOWN
    return Answer.COMPATIBLE if require is Require.ALL else failing[0]


def share(limit: int, among: Sequence[object]) -> int:
    """An equal share for each."""
    return limit // max(1, len(among))
