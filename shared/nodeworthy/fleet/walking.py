"""One evaluation of a chain on many nodes: each rule is decided for all vectors of answers at once.

A rule's outcome follows from the answers of its terms. Two kinds of rules need more, and are evaluated on one node of each
kind of input: those that read ``rule.matched`` (input: what the rules before them gave of the names that they read) and
those with templates (input: the contents of their sets as a whole).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodeworthy import rules
from nodeworthy.features import Snapshot
from nodeworthy.fleet import kleene
from nodeworthy.fleet.chains import AnyRule, Chain, needs_more, reads_matched
from nodeworthy.fleet.grouping import Groups, Numbers, group
from nodeworthy.fleet.table import RowFacts
from nodeworthy.fleet.vectors import Vectors
from nodeworthy.rules import MATCHED_SET, ChainResult, CompiledRule, Outcome, RuleResult, TemplateEngine, UnreadableRule


class Decided(NamedTuple):
    """One rule on every vector: equal numbers are equal results."""

    numbers: Numbers
    results: Sequence[RuleResult]

    def outcomes(self) -> kleene.Outcomes:
        """By vector: the number of the outcome."""
        return np.array([kleene.NUMBERS[result.outcome] for result in self.results], np.uint8)[self.numbers]


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
        self.chains: dict[int, ChainResult] = {}

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
            [result] = rules.evaluate_chain([rule], Snapshot({})).results
            return Decided(np.zeros(vectors.size, np.intp), [result])
        if needs_more(rule):
            alike = group(self.inputs(place, rule), vectors.size)
            return _number_alike(alike, [self.example(place, rule, vector) for vector in alike.first.tolist()])
        outcomes = kleene.decide(rule, vectors.outcomes, vectors.size)
        alike = group(self.columns_of_reason(rule, outcomes), vectors.size)
        return _number_alike(alike, [self.result(rule, vector) for vector in alike.first.tolist()])

    def columns_of_reason(self, rule: CompiledRule, outcomes: kleene.Outcomes) -> Iterator[npt.NDArray[np.integer]]:
        """What a result hangs on: the outcome, and where that is no yes or no, the answers that say why."""
        yield outcomes
        undecided = outcomes >= kleene.UNKNOWN
        if undecided.any():
            yield from (np.where(undecided, self.vectors.codes(term), 0) for term in rule.terms())

    def result(self, rule: CompiledRule, vector: int) -> RuleResult:
        """The result of a rule that hangs on the answers of its terms alone."""
        answer = rules.decide(rule, lambda term: self.vectors.answer(term, vector))
        if answer.outcome in {Outcome.UNKNOWN, Outcome.ERROR}:
            return RuleResult(rule.source.name, answer.outcome, answer.reason, answer.todo)
        return rules.evaluate_rule(rule, self.facts(vector))

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
        yield (self.first_given >= 0).astype(np.uint8)
        for earlier in self.chain.givers[place]:
            yield self.decided[earlier].numbers
        if self.in_doubt.any():
            # Where a name is in doubt, the reason tells of the other names in doubt too.
            yield from (np.where(self.in_doubt, one.numbers, 0) for one in self.decided)

    def example(self, place: int, rule: CompiledRule, vector: int) -> RuleResult:
        """The result of a rule on one node, evaluated with no more of the chain than it depends on."""
        if not reads_matched(rule):
            return rules.evaluate_rule(rule, self.facts(vector), self.templates)
        if self.in_doubt[vector] or rule.matched_names is None:
            return self.chain_of(vector).results[place]
        needed = self.needed(place) | {place}
        if self.first_given[vector] >= 0:
            needed.add(int(self.first_given[vector]))
        part = [self.chain.rules[one] for one in sorted(needed)]
        return rules.evaluate_chain(part, self.facts(vector), self.templates).results[-1]

    def needed(self, place: int) -> set[int]:
        """The places of all rules that a rule hangs on, directly or through others."""
        found: set[int] = set()
        waiting = [place]
        while waiting:
            new = set(self.chain.givers[waiting.pop()]) - found
            found |= new
            waiting.extend(new)
        return found

    def chain_of(self, vector: int) -> ChainResult:
        """The whole chain on the first node with a vector, evaluated once."""
        found = self.chains.get(vector)
        if found is None:
            found = rules.evaluate_chain(self.chain.rules, self.facts(vector), self.templates)
            self.chains[vector] = found
        return found

    def facts(self, vector: int) -> RowFacts:
        """The facts of the first node with a vector."""
        return self.vectors.fleet.row_facts(self.vectors.row(vector))


def _number_alike(alike: Groups, results: Sequence[RuleResult]) -> Decided:
    """Results by vector, equal ones under one number."""
    places: dict[bytes, int] = {}
    distinct: list[RuleResult] = []
    renumbered = np.zeros(len(results), np.intp)
    for number, result in enumerate(results):
        key = repr(result).encode()
        if key not in places:
            places[key] = len(distinct)
            distinct.append(result)
        renumbered[number] = places[key]
    return Decided(renumbered[alike.numbers], distinct)
