"""How the nodes of a request fare with one image: counts, groups of nodes that fare alike, single verdicts."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from nodeworthy import verdicts
from nodeworthy.bus.requests import NodeGroup
from nodeworthy.errors import NodeworthyError
from nodeworthy.fleet import ImageResults, NodeKind
from nodeworthy.verdicts import Answer, Finding, Origin, State, Verdict
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.selection import Selection

FIRST_NODES = 5
"""Nodes that a group names."""

EXAMPLES = 4
"""Kinds of nodes that are looked at for each group that may be told; kinds with one reason become one group, and a look is a
verdict in full, about a millisecond."""


class Answers(Protocol):
    """Answers about the nodes of which facts are known."""

    def counts(self) -> Mapping[Answer, int]:
        """How many nodes have each answer."""

    def groups(self, most: int) -> tuple[list[NodeGroup], int]:
        """So many groups of nodes that fare alike, the largest first, and how many more there are."""

    def answers(self) -> Mapping[str, Answer]:
        """The answer of each node."""

    def verdicts(self, nodes: Sequence[str]) -> Iterator[Verdict]:
        """The verdict on each of these nodes."""


class JudgedAnswers:
    """Of an image that was looked at."""

    def __init__(self, results: ImageResults) -> None:
        self._results = results

    def counts(self) -> Mapping[Answer, int]:
        """How many nodes have each answer."""
        return self._results.counts()

    def groups(self, most: int) -> tuple[list[NodeGroup], int]:
        """Nodes that fare alike."""
        kinds = self._results.kinds()
        return [self._tell(kind) for kind in kinds[:most]], max(0, len(kinds) - most)

    def _tell(self, kind: NodeKind) -> NodeGroup:
        example = self._results.example(kind.number)
        names = heapq.nsmallest(FIRST_NODES, self._results.nodes(kind.number))
        return NodeGroup(kind.answer, example.reason, kind.size, tuple(names), example.score)

    def answers(self) -> Mapping[str, Answer]:
        """The answer of each node."""
        return dict(zip(self._results.nodes(), self._results.answers(), strict=True))

    def verdicts(self, nodes: Sequence[str]) -> Iterator[Verdict]:
        """The verdict on each of these nodes."""
        return self._results.verdicts(nodes)


class UnreadAnswers:
    """Of an image that could not be looked at: unknown on every node."""

    def __init__(self, image: str, error: NodeworthyError, nodes: Sequence[str], inventory: Inventory) -> None:
        self._image = image
        self._error = error
        self._nodes = nodes
        self._inventory = inventory

    def counts(self) -> Mapping[Answer, int]:
        """How many nodes have each answer."""
        return {Answer.UNKNOWN: len(self._nodes)}

    def groups(self, most: int) -> tuple[list[NodeGroup], int]:
        """Nodes that fare alike."""
        first = tuple(self._nodes[:FIRST_NODES])
        found = [NodeGroup(Answer.UNKNOWN, str(self._error), len(self._nodes), first)] if first else []
        return found[:most], len(found[most:])

    def answers(self) -> Mapping[str, Answer]:
        """The answer of each node."""
        return dict.fromkeys(self._nodes, Answer.UNKNOWN)

    def verdicts(self, nodes: Sequence[str]) -> Iterator[Verdict]:
        """The verdict on each of these nodes."""
        for node in nodes:
            facts = self._inventory.facts(node)
            assert facts is not None
            yield verdicts.unresolved(self._image, facts, self._error)


def unusable_verdict(image: str, node: str, why: str) -> Verdict:
    """The verdict on a node of which no facts are known."""
    finding = Finding(
        code="node-unknown",
        state=State.UNKNOWN,
        requirement="the node's facts are known",
        observed=why,
        origin=Origin.LOOKUP,
        settle="a detector that runs on the node; nodeworthy nodes lists what is known of each",
    )
    return Verdict(image=image, node=node, verdict=Answer.UNKNOWN, reason=why, findings=(finding,))


class ImageAnswers:
    """How all nodes of a request fare with one image."""

    def __init__(self, image: str, answers: Answers, selection: Selection, digest: str = "") -> None:
        """``image`` is what verdicts call it, ``digest`` what it resolved to, if it did."""
        self.digest = digest
        self._image = image
        self._answers = answers
        self._selection = selection

    def counts(self) -> dict[Answer, int]:
        """How many nodes have each answer; only answers that a node has."""
        counts = {answer: count for answer, count in self._answers.counts().items() if count}
        if self._selection.unusable:
            counts[Answer.UNKNOWN] = counts.get(Answer.UNKNOWN, 0) + len(self._selection.unusable)
        return counts

    def groups(self, most: int) -> tuple[list[NodeGroup], int]:
        """Groups with the same answer and reason, the largest first, and how many more there are of those that are alike."""
        found, more = self._answers.groups(EXAMPLES * most)
        merged: dict[tuple[Answer, str, int | None], NodeGroup] = {}
        for one in (*found, *self._unusable_group()):
            key = (one.answer, one.reason, one.score)
            merged[key] = _merge(merged[key], one) if key in merged else one
        groups = sorted(merged.values(), key=lambda one: -one.count)
        return groups[:most], more + len(groups[most:])

    def verdicts(self, after: str, only: Sequence[Answer], chunk: int) -> Iterator[Verdict]:
        """The verdict on each node after this one, in order, only those with one of these answers, if any are given."""
        names: Sequence[str] = self._selection.names
        if after:
            names = [name for name in names if name > after]
        if only:
            answers = self._answers.answers()
            names = [name for name in names if answers.get(name, Answer.UNKNOWN) in only]
        for start in range(0, len(names), chunk):
            yield from self._verdicts(names[start : start + chunk])

    def _verdicts(self, names: Sequence[str]) -> Iterator[Verdict]:
        unusable = self._selection.unusable
        judged = self._answers.verdicts([name for name in names if name not in unusable])
        for name in names:
            yield unusable_verdict(self._image, name, unusable[name]) if name in unusable else next(judged)

    def _unusable_group(self) -> Iterator[NodeGroup]:
        unusable = self._selection.unusable
        if unusable:
            reason = next(iter(unusable.values())) if len(unusable) == 1 else "no facts of these nodes are known"
            yield NodeGroup(Answer.UNKNOWN, reason, len(unusable), tuple(list(unusable)[:FIRST_NODES]))


def _merge(one: NodeGroup, other: NodeGroup) -> NodeGroup:
    nodes = tuple(sorted({*one.nodes, *other.nodes})[:FIRST_NODES])
    return NodeGroup(one.answer, one.reason, one.count + other.count, nodes, one.score)
