"""A compatibility specification against many nodes: the outcome of each set on each, reports where asked for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nodeworthy import rules
from nodeworthy.errors import UsageError
from nodeworthy.fleet import kleene
from nodeworthy.fleet.chains import needs_more
from nodeworthy.fleet.grouping import Numbers, group
from nodeworthy.fleet.table import Fleet
from nodeworthy.fleet.vectors import Panel, Vectors, make_panel
from nodeworthy.rules import (
    MATCHED_SET,
    CompatibilitySet,
    CompiledRule,
    SetReport,
    TemplateEngine,
    UnreadableRule,
    compile_rules,
)


class Specification(NamedTuple):
    """Compatibility sets, with all that can be said of them without facts; make it once and evaluate it often."""

    sets: tuple[CompatibilitySet, ...]
    rules: tuple[tuple[CompiledRule | UnreadableRule, ...], ...]
    """By set."""
    panel: Panel

    def readable(self) -> Iterator[CompiledRule]:
        """Every rule that could be read, in order."""
        return (rule for one in self.rules for rule in one if isinstance(rule, CompiledRule))


def make_specification(sets: Sequence[CompatibilitySet]) -> Specification:
    """The specification of these sets, in this order."""
    compiled = tuple(compile_rules(one.rules) for one in sets)
    readable = [rule for one in compiled for rule in one if isinstance(rule, CompiledRule)]
    whole = {name for rule in readable if rule.source.has_templates for name in rule.sets}
    if any(map(needs_more, readable)):
        whole.add(MATCHED_SET)
    return Specification(tuple(sets), compiled, make_panel((t for rule in readable for t in rule.terms()), whole))


class SpecificationResults:
    """How nodes fare with a specification."""

    def __init__(self, specification: Specification, vectors: Vectors, report: "Reporter") -> None:
        self.specification = specification
        self.vectors = vectors
        self._report = report
        self.set_outcomes: tuple[kleene.Outcomes, ...] = _decide_sets(specification, vectors, report)
        """By set: the number of its outcome, by vector."""

    def outcomes(self, set_number: int) -> kleene.Outcomes:
        """By node: the number of the outcome of a set (:data:`kleene.OUTCOMES`); never ERROR, which counts as unknown."""
        return self.set_outcomes[set_number][self.vectors.groups.numbers]

    def vector_numbers(self) -> Numbers:
        """By node: its vector of answers. Nodes with one vector have the same outcomes, rule by rule and term by term."""
        return self.vectors.groups.numbers

    def example(self, vector: int) -> tuple[SetReport, ...]:
        """The report of the first node with a vector; what it observed may differ from what others with the vector have."""
        return self._report(vector)

    def report(self, node: str) -> tuple[SetReport, ...]:
        """The report of one node, with what was observed there."""
        self.vectors.check()
        return rules.report_sets(self.specification.sets, self.vectors.fleet.facts(node), self._report.templates)


def evaluate_specification(
    fleet: Fleet,
    specification: Specification,
    nodes: Sequence[str] | None = None,
    templates: TemplateEngine | None = None,
) -> SpecificationResults:
    """How these nodes, or all, fare with a specification: what ``rules.report_sets`` says of each.

    Raises:
        UsageError: a node is not in the table.
    """
    return evaluate_rows(fleet, specification, fleet.rows(nodes), templates)


def evaluate_rows(
    fleet: Fleet, specification: Specification, rows: Numbers, templates: TemplateEngine | None = None
) -> SpecificationResults:
    """As :func:`evaluate_specification`, on rows."""
    vectors = Vectors(fleet, specification.panel, rows)
    return SpecificationResults(specification, vectors, Reporter(specification, vectors, templates))


class Reporter:
    """Reports of examples, each made once."""

    def __init__(self, specification: Specification, vectors: Vectors, templates: TemplateEngine | None) -> None:
        self.templates = templates
        self._specification = specification
        self._vectors = vectors
        self._reports: dict[int, tuple[SetReport, ...]] = {}

    def __call__(self, vector: int) -> tuple[SetReport, ...]:
        """The report of the first node with a vector.

        Raises:
            UsageError: too many were made; a specification is a stranger's document.
        """
        self._vectors.check()
        found = self._reports.get(vector)
        if found is None:
            limit = self._vectors.fleet.limits.reports
            if len(self._reports) >= limit:
                raise UsageError(
                    "the specification tells too many kinds of nodes apart", why=f"at most {limit:,} are reported on"
                )
            facts = self._vectors.fleet.row_facts(self._vectors.row(vector))
            found = rules.report_sets(self._specification.sets, facts, self.templates)
            self._reports[vector] = found
        return found


def _decide_sets(specification: Specification, vectors: Vectors, report: Reporter) -> tuple[kleene.Outcomes, ...]:
    walk = _Walk(vectors, report)
    return tuple(
        _combine([walk.decide(set_number, place, rule) for place, rule in enumerate(one)], vectors.size)
        for set_number, one in enumerate(specification.rules)
    )


def _combine(outcomes: Sequence[kleene.Outcomes], size: int) -> kleene.Outcomes:
    """As rules.reporting: a set without rules says nothing, one false rule decides, an error is unknown."""
    if not outcomes:
        return kleene.constant(kleene.UNKNOWN, size)
    stacked = np.stack(outcomes)
    decided = np.where((stacked == kleene.TRUE).all(0), kleene.TRUE, kleene.UNKNOWN)
    return np.where((stacked == kleene.FALSE).any(0), kleene.FALSE, decided).astype(np.uint8)


class _Handed(NamedTuple):
    """One rule that later rules may hang on."""

    rule: CompiledRule
    numbers: tuple[npt.NDArray[np.integer], ...]
    """By vector: equal ones hand on the same."""


class _Walk:
    """One evaluation of a specification, rule by rule."""

    def __init__(self, vectors: Vectors, report: Reporter) -> None:
        self.vectors = vectors
        self.report = report
        self.handed: list[_Handed] = []
        self.has_error = np.zeros(vectors.size, np.bool_)
        """Where a rule was in error: then nobody knows what it would have handed on."""

    def decide(self, set_number: int, place: int, rule: CompiledRule | UnreadableRule) -> kleene.Outcomes:
        size = self.vectors.size
        if isinstance(rule, UnreadableRule):
            return kleene.constant(kleene.ERROR, size)
        if needs_more(rule):
            alike = group(list(self.inputs(rule)), size)
            found = [self.report(vector)[set_number].rules[place].outcome for vector in alike.first.tolist()]
            outcomes = np.array([kleene.NUMBERS[outcome] for outcome in found], np.uint8)[alike.numbers]
            self.handed.append(_Handed(rule, (alike.numbers,)))
        else:
            outcomes = kleene.decide(rule, self.vectors.outcomes, size)
            # A report hands on what matchFeatures alone decide (rules.reporting, case c-compat-030).
            required = kleene.required(rule, self.vectors.outcomes, size)
            self.handed.append(_Handed(rule, (outcomes, required)))
        self.has_error |= outcomes == kleene.ERROR
        return outcomes

    def inputs(self, rule: CompiledRule) -> Iterator[npt.NDArray[np.integer]]:
        """All that the outcome of a rule with templates, or of one that reads what rules gave, depends on."""
        for term in rule.terms():
            if term.set_name != MATCHED_SET:
                yield self.vectors.codes(term)
        if rule.source.has_templates:
            yield from (self.vectors.whole(name) for name in sorted(rule.sets))
        yield self.vectors.whole(MATCHED_SET)
        yield self.has_error.astype(np.uint8)
        names = rule.matched_names
        for one in self.handed:
            if names is None or one.rule.source.vars_template or not names.isdisjoint(one.rule.source.vars):
                yield from one.numbers
