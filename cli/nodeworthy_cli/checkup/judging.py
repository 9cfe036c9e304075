"""How nodes fare with images: asked of the validator, or judged here from the facts that there are."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from nodeworthy import fleet
from nodeworthy.bus.requests import (
    MAX_IMAGES,
    MAX_NODES,
    MAX_PAGE,
    ImageTotals,
    NodeGroup,
    NodesRequest,
    NodeSummary,
    Undeclared,
    ValidateRequest,
)
from nodeworthy.bus.store import Store
from nodeworthy.bus.validating import list_nodes, validate
from nodeworthy.errors import NodeworthyError
from nodeworthy.fleet import Declarations, Fleet, Question
from nodeworthy.images import ImageKnowledge
from nodeworthy.verdicts import Answer, Wishes
from nodeworthy_validator.image_answers import FIRST_NODES, ImageAnswers, JudgedAnswers
from nodeworthy_validator.selection import Selection

GROUPS = 20
"""Kinds of nodes that are told apart for one image."""
_AT_ONCE = 4
"""Questions to the validators at once."""


class Known(NamedTuple):
    """An image that was looked up."""

    image: str
    knowledge: ImageKnowledge


class Fare(NamedTuple):
    """How some nodes fare with one image."""

    counts: Mapping[Answer, int]
    """Only answers that a node has."""
    groups: tuple[NodeGroup, ...] = ()
    """Nodes with one answer and one reason, the largest group first; perhaps not all."""

    @property
    def size(self) -> int:
        """How many nodes these are."""
        return sum(self.counts.values())

    def count(self, answer: Answer) -> int:
        """How many of them have an answer."""
        return self.counts.get(answer, 0)

    def having(self, answer: Answer) -> tuple[NodeGroup, ...]:
        """The groups with an answer."""
        return tuple(group for group in self.groups if group.answer is answer)


class Judge(Protocol):
    """Says how nodes fare with images."""

    async def ask(self, images: Sequence[Known], nodes: Sequence[str], undeclared: Undeclared) -> list[Fare]:
        """How these nodes fare with each image.

        Raises:
            BusError: there is no answer.
        """
        ...


class LocalJudge:
    """Judges from a table of facts."""

    def __init__(self, facts: Fleet) -> None:
        self._facts = facts
        self._declarations = Declarations()

    async def ask(self, images: Sequence[Known], nodes: Sequence[str], undeclared: Undeclared) -> list[Fare]:
        """How these nodes fare with each image."""
        wishes = Wishes(undeclared_is_compatible=undeclared is Undeclared.COMPATIBLE)
        return [self._judge(one, nodes, wishes) for one in images]

    def _judge(self, one: Known, nodes: Sequence[str], wishes: Wishes) -> Fare:
        question = Question(one.knowledge, wishes=wishes)
        try:
            results = fleet.judge_image(self._facts, question, nodes, self._declarations)
        except NodeworthyError as error:
            return _unknown(str(error), nodes)
        selection = Selection(nodes, {}, is_everything=False)
        answers = ImageAnswers(one.image, JudgedAnswers(results), selection)
        return Fare(answers.counts(), tuple(answers.groups(GROUPS)[0]))


class BusJudge:
    """Asks the validators, in parts that they take."""

    def __init__(self, store: Store, *, seconds: float) -> None:
        """``seconds`` for one part."""
        self._store = store
        self._seconds = seconds
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, images: Sequence[Known], nodes: Sequence[str], undeclared: Undeclared) -> list[Fare]:
        """How these nodes fare with each image; raises what :func:`nodeworthy.bus.validating.validate` raises."""
        fares: list[Fare] = []
        for start in range(0, len(images), MAX_IMAGES):
            names = tuple(one.image for one in images[start : start + MAX_IMAGES])
            parts = [
                await self._ask_part(names, tuple(nodes[first : first + MAX_NODES]), undeclared)
                for first in range(0, len(nodes), MAX_NODES)
            ]
            fares += [_join(told) for told in zip(*parts, strict=True)]
        return fares

    async def _ask_part(
        self, images: tuple[str, ...], nodes: tuple[str, ...], undeclared: Undeclared
    ) -> tuple[Fare, ...]:
        request = ValidateRequest(images=images, nodes=nodes, undeclared=undeclared, limit=0, groups=GROUPS)
        async with self._places:
            reply = await validate(self._store.connection, self._store.names, request, seconds=self._seconds)
        return tuple(_read(total, nodes) for total in reply.totals)

    async def list_nodes(self, names: Sequence[str]) -> list[NodeSummary]:
        """What the validators know of these nodes, or of all; raises what the question raises."""
        found: list[NodeSummary] = []
        cursor = ""
        while True:
            request = NodesRequest(nodes=tuple(names), limit=MAX_PAGE, cursor=cursor)
            reply = await list_nodes(self._store.connection, self._store.names, request, seconds=self._seconds)
            found += reply.nodes
            cursor = reply.cursor
            if not cursor:
                return found


def _read(total: ImageTotals, nodes: Sequence[str]) -> Fare:
    if total.problem is not None:
        why = f": {total.problem.why}" if total.problem.why else ""
        return _unknown(f"{total.problem.what}{why}", nodes)
    return Fare(total.counts, total.groups)


def _unknown(reason: str, nodes: Sequence[str]) -> Fare:
    group = NodeGroup(Answer.UNKNOWN, reason, len(nodes), tuple(nodes[:FIRST_NODES]))
    return Fare({Answer.UNKNOWN: len(nodes)}, (group,))


def _join(parts: Iterable[Fare]) -> Fare:
    """The fare of nodes that were asked about in several parts."""
    counts: dict[Answer, int] = {}
    groups: dict[tuple[Answer, str], NodeGroup] = {}
    for part in parts:
        for answer, count in part.counts.items():
            counts[answer] = counts.get(answer, 0) + count
        for one in part.groups:
            known = groups.get((one.answer, one.reason))
            both = (
                one
                if known is None
                else NodeGroup(
                    one.answer, one.reason, known.count + one.count, (*known.nodes, *one.nodes)[:FIRST_NODES]
                )
            )
            groups[one.answer, one.reason] = both
    return Fare(counts, tuple(sorted(groups.values(), key=lambda one: -one.count)[:GROUPS]))
