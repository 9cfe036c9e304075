"""An image against many nodes: the answers of all, and verdicts where they are asked for.

A verdict reads the platform of a node (three sets) and the sets that the image's specification asks about. Nodes on which
all of that answers alike are of one *kind*; a fleet has some dozen kinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from nodeworthy import verdicts
from nodeworthy.errors import UsageError
from nodeworthy.fleet import kleene
from nodeworthy.fleet.declarations import Declarations
from nodeworthy.fleet.details import detail_columns
from nodeworthy.fleet.grouping import Numbers, group
from nodeworthy.fleet.specifications import SpecificationResults, evaluate_rows
from nodeworthy.fleet.table import Fleet
from nodeworthy.fleet.vectors import Panel, Vectors
from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy.verdicts import (
    Answer,
    Claims,
    Declaration,
    DeclaredResult,
    InspectedResult,
    NodeFacts,
    State,
    Verdict,
    Wishes,
)

PLATFORM_SETS = frozenset(
    {
        "system.architecture",
        "cpu.cpuid",
        "cpu.execution",
        "kernel.config",
        "kernel.binfmt",
        "kernel.version",
        "kubernetes.node",
    }
)
"""What the platform part of a verdict reads (verdicts.nodes, verdicts.platform)."""

_PLATFORM = Panel({}, PLATFORM_SETS, {})

_AT_ONCE = 10_000
"""Nodes whose verdicts are made together: each distinct one is made once for them, and kept until the next ones' turn."""


class Question(NamedTuple):
    """What is asked of every node."""

    knowledge: ImageKnowledge
    wanted: Platform | None = None
    """The platform to take from an index, instead of each node's own."""
    wishes: Wishes = Wishes()
    override: Declaration | None = None
    """A specification to use in place of the attached one."""


class NodeKind(NamedTuple):
    """Nodes that fare alike with an image: same answer, same outcome of every requirement."""

    number: int
    answer: Answer
    size: int
    example: str
    """The first of them."""


class _Kind(NamedTuple):
    answer: Answer
    first: int
    """Place of the first node."""
    claims: Claims
    results: SpecificationResults | None
    """Of the specification, where one is declared."""
    inspected: SpecificationResults | None
    """Of what the image's files ask for, where somebody looked."""


class ImageResults:
    """How nodes fare with one image."""

    def __init__(self, question: Question, platform: Vectors, kinds: Sequence[_Kind], numbers: Numbers) -> None:
        """Hold the kinds, and by node the number of its kind."""
        self._fleet = platform.fleet
        self._rows = platform.rows
        self._question = question
        self._platform = platform
        self._kinds = kinds
        self._numbers = numbers

    def counts(self) -> Mapping[Answer, int]:
        """How many nodes have each answer; an answer that none has is 0."""
        counts = dict.fromkeys(Answer, 0)
        for kind, size in zip(self._kinds, self._sizes(), strict=True):
            counts[kind.answer] += size
        return counts

    def kinds(self) -> list[NodeKind]:
        """Nodes that fare alike, the largest kind first."""
        self._platform.check()
        found = [
            NodeKind(number, kind.answer, size, self._fleet.name(int(self._rows[kind.first])))
            for number, (kind, size) in enumerate(zip(self._kinds, self._sizes(), strict=True))
        ]
        return sorted(found, key=lambda kind: (-kind.size, kind.number))

    def nodes(self, kind: int | None = None) -> list[str]:
        """The nodes of a kind, or all, in the order in which they were asked for."""
        self._platform.check()
        return self._fleet.names(self._rows if kind is None else self._rows[self._numbers == kind])

    def answers(self) -> list[Answer]:
        """The answer of every node, in the order of :meth:`nodes`."""
        answers = [kind.answer for kind in self._kinds]
        return [answers[number] for number in self._numbers.tolist()]

    def example(self, kind: int) -> Verdict:
        """The verdict on the first node of a kind; on the others observed values may differ, nothing else does."""
        return self._verdict(self._kinds[kind].first)

    def verdicts(self, nodes: Sequence[str] | None = None) -> Iterator[Verdict]:
        """The verdict on each of these nodes, or on all, each exactly as :func:`nodeworthy.verdicts.judge` makes it.

        Raises:
            UsageError: a node is not among those that were asked for.
        """
        places = np.arange(len(self._rows)) if nodes is None else self._places(nodes)
        for start in range(0, len(places), _AT_ONCE):
            yield from self._verdicts_at(places[start : start + _AT_ONCE])

    def _verdicts_at(self, places: Numbers) -> Iterator[Verdict]:
        self._platform.check()
        alike = group(self._details(places), len(places))
        made: dict[int, Verdict] = {}
        names = self._fleet.names(self._rows[places])
        for number, place, name in zip(alike.numbers.tolist(), places.tolist(), names, strict=True):
            if number not in made:
                made[number] = self._verdict(place)
            yield msgspec.structs.replace(made[number], node=name)

    def _details(self, places: Numbers) -> Iterator[npt.NDArray[np.integer]]:
        numbers = self._numbers[places]
        yield numbers
        asked = {id(results): results for kind in self._kinds for results in (kind.results, kind.inspected) if results}
        for results in asked.values():
            askers = [n for n, kind in enumerate(self._kinds) if results in (kind.results, kind.inspected)]
            mine = np.isin(numbers, askers)
            for column in detail_columns(self._fleet, results.specification.panel, self._rows[places[mine]]):
                spread = np.zeros(len(places), np.intp)
                spread[mine] = column
                yield spread

    def _verdict(self, place: int) -> Verdict:
        self._platform.check()
        claims = self._kinds[self._numbers[place]].claims
        node = node_facts(self._fleet, int(self._rows[place]))
        return verdicts.judge_claims(self._question.knowledge, node, claims, self._question.wishes)

    def _places(self, nodes: Sequence[str]) -> Numbers:
        places = {row: place for place, row in enumerate(self._rows.tolist())}
        rows = self._fleet.rows(nodes).tolist()
        strange = [node for node, row in zip(nodes, rows, strict=True) if row not in places]
        if strange:
            raise UsageError(f"node {strange[0]} is not among those that were asked about")
        return np.array([places[row] for row in rows], np.intp)

    def _sizes(self) -> list[int]:
        sizes: list[int] = np.bincount(self._numbers, minlength=len(self._kinds)).tolist()
        return sizes


def judge_image(
    fleet: Fleet, question: Question, nodes: Sequence[str] | None = None, declarations: Declarations | None = None
) -> ImageResults:
    """How these nodes, or all, fare with an image; for each what :func:`nodeworthy.verdicts.judge` says.

    Give the same ``declarations`` to every call, so that what one question read and compiled serves the next.

    Raises:
        UsageError: a node is not in the table, or no compatibility set is left to judge.
    """
    declarations = declarations or Declarations()
    platform = Vectors(fleet, _PLATFORM, fleet.rows(nodes))
    claims, classes = _claim(question, platform, declarations)
    kinds: list[_Kind] = []
    numbers = np.zeros(len(platform.rows), np.intp)
    for members in _by_question(claims):
        places = np.flatnonzero(np.isin(classes, members))
        results, inspected = _evaluate(claims[members[0]], question, platform.rows[places], declarations, fleet)
        columns = [classes[places], *(one.vector_numbers() for one in (results, inspected) if one)]
        alike = group(columns, len(places))
        numbers[places] = alike.numbers + len(kinds)
        for first in alike.first.tolist():
            one = claims[classes[places[first]]]
            answer = _answer(one, results, inspected, first, question.wishes)
            kinds.append(_Kind(answer, int(places[first]), one, results, inspected))
    return ImageResults(question, platform, kinds, numbers)


def node_facts(fleet: Fleet, row: int) -> NodeFacts:
    """A node as verdicts see it, under the name that the table has for it."""
    return NodeFacts.of(fleet.row_facts(row))._replace(name=fleet.name(row))


def _claim(question: Question, platform: Vectors, declarations: Declarations) -> tuple[list[Claims], Numbers]:
    """The distinct claims of the image on these nodes, and by node which of them it is."""
    places: dict[object, int] = {}
    distinct: list[Claims] = []
    classes = np.zeros(platform.size, np.intp)
    for vector in range(platform.size):
        node = node_facts(platform.fleet, platform.row(vector))
        claims = verdicts.read_claims(
            question.knowledge, node, wanted=question.wanted, override=question.override, read=declarations.read
        )
        # What is declared follows from the image that is chosen.
        key = (node.platform, claims.choice.finding, id(claims.choice.image), claims.emulator)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(claims)
        classes[vector] = places[key]
    return distinct, classes[platform.groups.numbers]


def _by_question(claims: Sequence[Claims]) -> list[list[int]]:
    """The places of claims, those with one declaration and one inspection together."""
    members: dict[tuple[int, int], list[int]] = {}
    for place, one in enumerate(claims):
        members.setdefault((id(one.declared.declaration), id(one.inspection)), []).append(place)
    return list(members.values())


def _evaluate(
    claims: Claims, question: Question, rows: Numbers, declarations: Declarations, fleet: Fleet
) -> tuple[SpecificationResults | None, SpecificationResults | None]:
    """What is declared and what was inspected, on the nodes that take the image."""
    declared, inspection = claims.declared.declaration, claims.inspection
    results = inspected = None
    if declared is not None:
        results = evaluate_rows(fleet, declarations.specification(declared, question.wishes.tags), rows)
    if inspection is not None:
        inspected = evaluate_rows(fleet, declarations.requirements(inspection), rows)
    return results, inspected


def _answer(
    claims: Claims,
    results: SpecificationResults | None,
    inspected: SpecificationResults | None,
    place: int,
    wishes: Wishes,
) -> Answer:
    """The answer alone, which hangs on the outcome of each set and not on what was observed."""
    declared = None if results is None else DeclaredResult(verdicts.overall(_states(results, place)), None, "", (), ())
    found = None
    if inspected is not None:
        assert claims.inspection is not None
        states = verdicts.settle_states(claims.inspection, _states(inspected, place))
        found = InspectedResult(claims.inspection, states)
    return verdicts.conclude(claims, declared, found, wishes)[0]


def _states(results: SpecificationResults, place: int) -> tuple[State, ...]:
    vector = results.vector_numbers()[place]
    return tuple(verdicts.state_of(kleene.OUTCOMES[outcomes[vector]]) for outcomes in results.set_outcomes)
