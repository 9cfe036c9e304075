"""The distinct vectors of answers: which nodes are alike for a list of terms.

Each set is folded first (contents on which its terms answer alike are one class), then the classes of all sets by row. What
follows is done once for each vector; the cost grows with the variety of the fleet.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nodeworthy.fleet import kleene
from nodeworthy.fleet.answers import UNASKED, Codes, KeyedTerm, TermAnswers, ask_defaults, key_term
from nodeworthy.fleet.grouping import Groups, Numbers, distinct, group
from nodeworthy.fleet.table import Fleet
from nodeworthy.rules import MATCHED_SET, Answer, CompiledTerm

_NOTHING = np.zeros(0, np.intp)


class Panel(NamedTuple):
    """What a list of rules reads: terms by set, and sets that are read as a whole."""

    terms: Mapping[str, tuple[KeyedTerm, ...]]
    whole: frozenset[str]
    keys: Mapping[int, bytes]
    """By ``id`` of a term, which lives as long as the rules of the panel: digests are made once."""


def make_panel(terms: Iterable[CompiledTerm], whole: Iterable[str] = ()) -> Panel:
    """The panel of these terms, each once; those that read ``rule.matched`` depend on other rules and are left out."""
    by_set: dict[str, dict[bytes, KeyedTerm]] = {}
    keys = {}
    for term in terms:
        if term.set_name != MATCHED_SET:
            keyed = key_term(term)
            keys[id(term)] = keyed.key
            by_set.setdefault(term.set_name, {})[keyed.key] = keyed
    return Panel({name: tuple(keyed.values()) for name, keyed in by_set.items()}, frozenset(whole), keys)


class _Classes(NamedTuple):
    """The contents of one set, those together that the terms do not tell apart."""

    numbers: Numbers | None
    """By row; ``None`` where there is only one class."""
    codes: Sequence[Codes]
    """By term: the code of its answer, by class."""
    answers: Sequence[TermAnswers]

    def by_group(self, groups: Groups, codes: Codes) -> Codes:
        """The codes of a term, by group of rows."""
        return np.repeat(codes, len(groups.first)) if self.numbers is None else codes[self.numbers[groups.first]]


class Vectors:
    """The distinct vectors of a panel on some rows."""

    def __init__(self, fleet: Fleet, panel: Panel, rows: Numbers) -> None:
        """Look at the rows; terms are asked of contents that they were never asked of."""
        self.fleet = fleet
        self.rows = rows
        self._version = fleet.version
        self._keys = panel.keys
        self._codes: dict[bytes, Codes] = {}
        self._answers: dict[bytes, TermAnswers] = {}
        self._fresh: set[bytes] = set()
        self._whole: dict[str, Numbers] = {name: fleet.numbers(name, rows) for name in sorted(panel.whole)}
        classes = {name: self._classify(name, terms) for name, terms in panel.terms.items()}
        columns = [found.numbers for found in classes.values() if found.numbers is not None]
        self.groups: Groups = group([*columns, *self._whole.values()], len(rows))
        for name, found in classes.items():
            for term, codes, answers in zip(panel.terms[name], found.codes, found.answers, strict=True):
                self._codes[term.key] = found.by_group(self.groups, codes)
                self._answers[term.key] = answers
                if answers.fresh:
                    self._fresh.add(term.key)

    @property
    def size(self) -> int:
        """How many distinct vectors there are."""
        return len(self.groups.first)

    def codes(self, term: CompiledTerm) -> Codes:
        """By vector: the code of a term's answer; equal codes are equal answers."""
        return self._codes[self._keys[id(term)]]

    def outcomes(self, term: CompiledTerm) -> kleene.Outcomes:
        """By vector: the number of the outcome of a term."""
        key = self._keys[id(term)]
        return self._answers[key].outcomes()[self._codes[key]]

    def answer(self, term: CompiledTerm, vector: int) -> Answer:
        """The answer of a term, with its reason."""
        key = self._keys[id(term)]
        return self._answers[key].answers[int(self._codes[key][vector])]

    def is_fresh(self, term: CompiledTerm) -> bool:
        """Whether the term had to be asked of some content that it was never asked of before."""
        return self._keys.get(id(term)) in self._fresh

    def whole(self, name: str) -> Numbers:
        """By vector: the number of the content of a set that is read as a whole."""
        return self._whole[name][self.groups.first]

    def row(self, vector: int) -> int:
        """The row of the first node that has a vector."""
        return int(self.rows[self.groups.first[vector]])

    def check(self) -> None:
        """Stop where the table is not the one that was looked at: rows may be other nodes now.

        Raises:
            RuntimeError: facts changed since; that is a mistake in the calling program.
        """
        if self.fleet.version != self._version:
            raise RuntimeError("the fleet has changed since this was evaluated; evaluate again")

    def _classify(self, name: str, terms: Sequence[KeyedTerm]) -> _Classes:
        numbers = self.fleet.numbers(name, self.rows)
        column = self.fleet.column(name)
        if column is None:
            return _must_fold(numbers, distinct(numbers), ask_defaults(terms))
        memo, contents = self.fleet.memo, column.contents
        if len(contents) < len(numbers):
            # Mostly everything was asked before, and that is seen without looking which contents these rows have.
            answers = memo.ask(name, contents, terms, _NOTHING)
            answered = np.all([found.codes[: len(contents)] != UNASKED for found in answers], axis=0)
            folded = _fold(numbers, np.flatnonzero(answered), answers, len(contents))
            if folded is not None:
                return folded
        here = distinct(numbers)
        return _must_fold(numbers, here, memo.ask(name, contents, terms, here))


def _must_fold(numbers: Numbers, contents: Numbers, answers: Sequence[TermAnswers]) -> _Classes:
    folded = _fold(numbers, contents, answers, int(contents[-1]) + 1 if len(contents) else 0)
    assert folded is not None
    return folded


def _fold(numbers: Numbers, contents: Numbers, answers: Sequence[TermAnswers], space: int) -> _Classes | None:
    """The classes of these contents, whose numbers are less than ``space``; ``None`` where a row has another content."""
    codes = [found.codes[contents] for found in answers]
    alike = group(codes, len(contents))
    class_of = np.full(space, len(alike.first), np.intp)
    class_of[contents] = alike.numbers
    by_row = class_of[numbers]
    least, greatest = (int(by_row.min()), int(by_row.max())) if len(numbers) else (0, 0)
    if len(numbers) and greatest == len(alike.first):
        return None
    if least == greatest:
        first = alike.first[least : least + 1]
        return _Classes(None, [code[first] for code in codes], answers)
    return _Classes(by_row, [code[alike.first] for code in codes], answers)
