"""One evaluation of a chain on many nodes: each rule is decided for all vectors of answers at once.

A rule's outcome follows from the answers of its terms. Two kinds of rules need more, and are evaluated on one node of each
kind of input: those that read ``rule.matched`` (input: what the rules before them gave of the names that they read) and
those with templates (input: the contents of their sets as a whole). Their results are remembered under their inputs.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodeworthy.features import Lookup
from nodeworthy.fleet import kleene
from nodeworthy.fleet.chains import AnyRule, Chain, needs_more, reads_matched
from nodeworthy.fleet.grouping import Groups, Numbers, group
from nodeworthy.fleet.vectors import Vectors
from nodeworthy.rules import (
    MATCHED_SET,
    Answer,
    ChainResult,
    CompiledRule,
    CompiledTerm,
    RuleResult,
    TemplateEngine,
    UnreadableRule,
)
from nodeworthy.rules.back_references import BackReferences
from nodeworthy.rules.evaluation import evaluate_answered, hand_on, unreadable_result

_MAX_REPLAYS = 1_000
"""Vectors of which it is kept what their rules gave so far, some kilobytes each; there are some dozen in a fleet."""


class Decided(NamedTuple):
    """One rule on every vector: equal numbers are equal results."""

    numbers: Numbers
    results: Sequence[RuleResult]

    def outcomes(self) -> kleene.Outcomes:
        """By vector: the number of the outcome."""
        return np.array([kleene.NUMBERS[result.outcome] for result in self.results], np.uint8)[self.numbers]

    def result(self, vector: int) -> RuleResult:
        """The result on a vector."""
        return self.results[int(self.numbers[vector])]


class _Replay:
    """What the rules of a chain gave on one vector, up to some place."""

    def __init__(self, matched: BackReferences) -> None:
        self.matched = matched
        self.digest = hashlib.sha256()
        """Of all results so far."""
        self.end = 0
        """The place of the first rule that is not in it."""


class Walk:
    """One evaluation of a chain, rule by rule."""

    def __init__(self, chain: Chain, vectors: Vectors, templates: TemplateEngine | None) -> None:
        self.chain = chain
        self.vectors = vectors
        self.templates = templates
        self.decided: list[Decided] = []
        self.first_given = np.full(vectors.size, -1, np.intp)
        """By vector: the first rule that is not in error, since which ``rule.matched`` exists."""
        self.in_doubt = np.zeros(vectors.size, np.bool_)
        """By vector: whether the outcome of some rule is unknown."""
        self.ran: set[int] = set()
        """The places of rules of which something had to be evaluated."""
        self._history = np.zeros(vectors.size, np.intp)
        self._history_end = 0
        self._replays: dict[int, _Replay] = {}
        """By vector."""
        self._written: dict[tuple[int, int], bytes] = {}
        """By place of a rule and number of its result: the result in writing."""

    def decide(self, place: int, rule: AnyRule) -> None:
        """Decide the next rule."""
        decided = self.number(place, rule)
        self.decided.append(decided)
        outcomes = decided.outcomes()
        self.first_given[(self.first_given < 0) & (outcomes != kleene.ERROR)] = place
        self.in_doubt |= outcomes == kleene.UNKNOWN

    def number(self, place: int, rule: AnyRule) -> Decided:
        """What a rule gives, given all before it."""
        vectors = self.vectors
        if isinstance(rule, UnreadableRule):
            return Decided(np.zeros(vectors.size, np.intp), [unreadable_result(rule)])
        if any(map(vectors.is_fresh, rule.terms())):
            self.ran.add(place)
        if needs_more(rule):
            alike = group(self.inputs(place, rule), vectors.size)
            return _number_alike(alike, [self.remembered(place, rule, vector) for vector in alike.first.tolist()])
        outcomes = kleene.decide(rule, vectors.outcomes, vectors.size)
        alike = group(self.columns_of_reason(rule, outcomes), vectors.size)
        return _number_alike(alike, [self.evaluate(place, rule, vector) for vector in alike.first.tolist()])

    def columns_of_reason(self, rule: CompiledRule, outcomes: kleene.Outcomes) -> Iterator[npt.NDArray[np.integer]]:
        """What a result hangs on: the outcome, and where that is no yes or no, the answers that say why."""
        yield outcomes
        undecided = outcomes >= kleene.UNKNOWN
        if undecided.any():
            yield from (np.where(undecided, self.vectors.codes(term), 0) for term in rule.terms())

    def inputs(self, place: int, rule: CompiledRule) -> Iterator[npt.NDArray[np.integer]]:
        """All that a rule with templates, or one that reads what rules gave, depends on."""
        for term in rule.terms():
            if term.set_name != MATCHED_SET:
                yield self.vectors.codes(term)
        if rule.source.has_templates:
            yield from (self.vectors.whole(name) for name in sorted(rule.sets))
        if not reads_matched(rule):
            return
        yield self.vectors.whole(MATCHED_SET)
        if isinstance(self.chain.givers[place], range):
            yield self.history(place)
            return
        yield (self.first_given >= 0).astype(np.uint8)
        for earlier in self.chain.givers[place]:
            yield self.decided[earlier].numbers
        if self.in_doubt.any():
            # Where a name is in doubt, the reason tells of the other names in doubt too.
            yield np.where(self.in_doubt, self.history(place), 0)

    def history(self, place: int) -> Numbers:
        """By vector: equal numbers where all rules before a place gave the same."""
        if self._history_end < place:
            news = (one.numbers for one in self.decided[self._history_end : place])
            self._history = group([self._history, *news], self.vectors.size).numbers
            self._history_end = place
        return self._history

    def remembered(self, place: int, rule: CompiledRule, vector: int) -> RuleResult:
        """The result of a rule that needs more than answers, which is made if there was none for the same inputs."""
        if self.templates is not None:
            # Another engine may say something else.
            return self.evaluate(place, rule, vector)
        memo = self.vectors.fleet.results
        key = self.key(place, rule, vector)
        result = memo.find(key)
        if result is None:
            self.ran.add(place)
            result = self.evaluate(place, rule, vector)
            memo.keep(key, result)
        return result

    def key(self, place: int, rule: CompiledRule, vector: int) -> bytes:
        """The inputs of a rule on a vector: as :meth:`inputs`, and the same in every evaluation."""
        fleet, row = self.vectors.fleet, self.vectors.row(vector)
        answers = [self.vectors.answer(term, vector) for term in rule.terms() if term.set_name != MATCHED_SET]
        names = sorted(rule.sets) if rule.source.has_templates else []
        if reads_matched(rule):
            names.append(MATCHED_SET)
        key = hashlib.sha256(self.chain.keys[place])
        key.update(repr((answers, [fleet.serial(row, name) for name in names])).encode())
        if reads_matched(rule) and self.hangs_on_all(place, vector):
            key.update(self.replay(place, vector).digest.digest())
        elif reads_matched(rule):
            key.update(b"given" if self.first_given[vector] >= 0 else b"nothing")
            for earlier in self.chain.givers[place]:
                key.update(self.written(earlier, vector))
        return key.digest()

    def hangs_on_all(self, place: int, vector: int) -> bool:
        """Whether the result of a rule that reads what rules gave hangs on every rule before it."""
        return bool(self.in_doubt[vector]) or isinstance(self.chain.givers[place], range)

    def written(self, place: int, vector: int) -> bytes:
        """A digest of the result of a rule and of all that tells what it may hand on."""
        number = int(self.decided[place].numbers[vector])
        found = self._written.get((place, number))
        if found is None:
            result = repr(self.decided[place].results[number]).encode()
            found = self._written[place, number] = hashlib.sha256(self.chain.keys[place] + result).digest()
        return found

    def evaluate(self, place: int, rule: CompiledRule, vector: int) -> RuleResult:
        """The result of a rule on the first node with a vector; terms are not asked again."""
        facts = self.vectors.fleet.row_facts(self.vectors.row(vector))
        matched = self.given_before(place, vector).lookup() if reads_matched(rule) else None

        def find(term: CompiledTerm) -> Lookup:
            return facts.lookup(term.set_name) if matched is None or term.set_name != MATCHED_SET else matched

        def ask(term: CompiledTerm) -> Answer:
            return self.vectors.answer(term, vector) if term.set_name != MATCHED_SET else term.answer(find(term))

        return evaluate_answered(rule, ask, find, self.templates)

    def given_before(self, place: int, vector: int) -> BackReferences:
        """What a rule sees of those before it, as far as it reads it."""
        if self.hangs_on_all(place, vector):
            return self.replay(place, vector).matched
        matched = self.nothing_given(vector)
        if self.first_given[vector] >= 0:
            matched.feed()
        for earlier in self.chain.givers[place]:
            hand_on(matched, self.chain.rules[earlier], self.decided[earlier].result(vector))
        return matched

    def replay(self, place: int, vector: int) -> _Replay:
        """What all rules before a place gave, going on from where it was asked last."""
        found = self._replays.get(vector)
        if found is None:
            if len(self._replays) >= _MAX_REPLAYS:
                self._replays.clear()
            found = self._replays[vector] = _Replay(self.nothing_given(vector))
        for earlier in range(found.end, place):
            hand_on(found.matched, self.chain.rules[earlier], self.decided[earlier].result(vector))
            found.digest.update(self.written(earlier, vector))
        found.end = place
        return found

    def nothing_given(self, vector: int) -> BackReferences:
        """What a rule sees that stands before all others."""
        return BackReferences(self.vectors.fleet.lookup(self.vectors.row(vector), MATCHED_SET))

    def chain_of(self, vector: int) -> ChainResult:
        """The whole chain on the first node with a vector."""
        matched = self.replay(len(self.decided), vector).matched
        return ChainResult(tuple(one.result(vector) for one in self.decided), matched.names)


def _number_alike(alike: Groups, results: Sequence[RuleResult]) -> Decided:
    """Results by vector, equal ones under one number."""
    if len(results) <= 1:
        return Decided(alike.numbers, results)
    places: dict[str, int] = {}
    distinct: list[RuleResult] = []
    renumbered = np.zeros(len(results), np.intp)
    for number, result in enumerate(results):
        key = repr(result)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(result)
        renumbered[number] = places[key]
    return Decided(renumbered[alike.numbers], distinct)
