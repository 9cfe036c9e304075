"""What terms have answered: each term is asked once of each distinct content of its set.

The answer hangs on the term and on the content with its state, and on nothing else (rules.matching), so these are the whole
key: the digest of the term's source, the set, and the content's number, which is void when the content goes.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from nodeworthy.errors import UsageError
from nodeworthy.fleet import kleene
from nodeworthy.fleet.contents import DEFAULTS, Contents
from nodeworthy.rules import Answer, CompiledTerm, Outcome
from nodeworthy.rules.outcomes import FAILS, HOLDS

Codes: TypeAlias = npt.NDArray[np.int16]

UNASKED = -1
"""Stands where a term was not asked."""

_MAX_ANSWERS = 1_000
"""Distinct answers of one term; true and false are two, and reasons why not may hold values of single nodes."""

_CROWDED = tuple(
    Answer(outcome, f"for one of more than {_MAX_ANSWERS:,} reasons: ask this node alone")
    for outcome in (Outcome.UNKNOWN, Outcome.ERROR)
)
"""Stand in for answers beyond that number."""


_OVERHEAD = 1_500
"""Bytes that a term costs in the memo beside its codes, roughly, so that very many small ones are bounded too."""


class KeyedTerm(NamedTuple):
    """A term with the digest of its source."""

    key: bytes
    term: CompiledTerm


def key_term(term: CompiledTerm) -> KeyedTerm:
    """The term with its key: what is written alike is asked alike."""
    return KeyedTerm(hashlib.sha256(repr(term.source).encode()).digest(), term)


class TermAnswers:
    """What one term says of the contents of its set, as codes of distinct answers; codes 0 and 1 are false and true."""

    def __init__(self) -> None:
        self.codes: Codes = np.zeros(0, np.int16)
        """By number of the content; negative where the term was not asked."""
        self.fresh = 0
        """Of how many contents the term was asked when its answers were wanted last."""
        self.answers: list[Answer] = [FAILS, HOLDS, *_CROWDED]
        self._by_answer = {answer: code for code, answer in enumerate(self.answers)}

    def outcomes(self) -> npt.NDArray[np.uint8]:
        """By code: the number of its outcome."""
        return np.array([kleene.NUMBERS[answer.outcome] for answer in self.answers], np.uint8)

    def code(self, answer: Answer) -> int:
        """The code of an answer."""
        if answer is FAILS or answer is HOLDS:
            return int(answer is HOLDS)
        code = self._by_answer.get(answer)
        if code is not None:
            return code
        if len(self.answers) >= _MAX_ANSWERS:
            return self._by_answer[_CROWDED[answer.outcome is Outcome.ERROR]]
        self.answers.append(answer)
        self._by_answer[answer] = len(self.answers) - 1
        return len(self.answers) - 1

    def grow(self, size: int) -> None:
        """Make room for more contents."""
        if size > len(self.codes):
            # By half more, so that a fleet that is being filled does not copy them for every node.
            room = np.full(max(size, len(self.codes) * 3 // 2) - len(self.codes), UNASKED, np.int16)
            self.codes = np.concatenate([self.codes, room])

    def unasked(self, numbers: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Those of these contents of which the term was not asked."""
        missing: npt.NDArray[np.intp] = numbers[self.codes[numbers] == UNASKED]
        return missing


class _SetAnswers(NamedTuple):
    """The answers of the terms that read one set."""

    contents: Contents
    by_term: dict[bytes, TermAnswers]


class AnswerMemo:
    """The answers of all terms; beyond a number of bytes those that were not wanted for longest are forgotten."""

    def __init__(self, *, max_bytes: int, max_asks: int) -> None:
        self._max_bytes = max_bytes
        self._max_asks = max_asks
        self._used = 0
        self._sets: dict[str, _SetAnswers] = {}
        self._order: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self.asked = 0
        """How often a term was asked of a content."""

    def ask(
        self, set_name: str, contents: Contents, terms: Sequence[KeyedTerm], numbers: npt.NDArray[np.intp]
    ) -> list[TermAnswers]:
        """The answers of terms that read one set, complete for these contents of it.

        Raises:
            UsageError: more terms were to be asked of more contents than the limit of one evaluation.
        """
        by_term = self._answers_of(set_name, contents)
        found = []
        for term in terms:
            answers = by_term.get(term.key)
            if answers is None:
                answers = by_term[term.key] = TermAnswers()
                self._used += _OVERHEAD
            self._used -= answers.codes.nbytes
            answers.grow(len(contents))
            self._used += answers.codes.nbytes
            self._order[set_name, term.key] = None
            self._order.move_to_end((set_name, term.key))
            found.append(answers)
        self._evict()
        questions = [(keyed.term, answers) for keyed, answers in zip(terms, found, strict=True)]
        self._fill(set_name, contents, questions, numbers)
        return found

    def _fill(
        self,
        set_name: str,
        contents: Contents,
        questions: Sequence[tuple[CompiledTerm, TermAnswers]],
        numbers: npt.NDArray[np.intp],
    ) -> None:
        """Ask what was not asked, of terms that lack the same answers together, so that a content is unpacked once."""
        unasked = [(term, answers, answers.unasked(numbers)) for term, answers in questions]
        count = sum(len(missing) for _, _, missing in unasked)
        if count > self._max_asks:
            raise UsageError(
                f"too many questions about {set_name}",
                why=f"{len(questions)} terms and {len(numbers):,} distinct contents; the limit is {self._max_asks:,}",
                todo="ask for fewer nodes, or with fewer rules on this set",
            )
        waiting: dict[bytes, list[tuple[CompiledTerm, TermAnswers]]] = {}
        for term, answers, missing in unasked:
            answers.fresh = len(missing)
            waiting.setdefault(missing.tobytes(), []).append((term, answers))
        for numbers_of_these, asked in waiting.items():
            _ask(contents, asked, np.frombuffer(numbers_of_these, np.intp))
        self.asked += count

    def _answers_of(self, set_name: str, contents: Contents) -> dict[bytes, TermAnswers]:
        found = self._sets.get(set_name)
        if found is None or found.contents is not contents:
            # A set that nobody spoke of for a while: the numbers began anew.
            for key in tuple(found.by_term) if found else ():
                self._forget(set_name, key)
            found = self._sets[set_name] = _SetAnswers(contents, {})
        elif contents.freed:
            freed = np.fromiter(contents.freed, np.intp, len(contents.freed))
            for answers in found.by_term.values():
                answers.codes[freed[freed < len(answers.codes)]] = UNASKED
        contents.freed.clear()
        return found.by_term

    def _evict(self) -> None:
        while self._used > self._max_bytes:
            self._forget(*next(iter(self._order)))

    def _forget(self, set_name: str, key: bytes) -> None:
        del self._order[set_name, key]
        by_term = self._sets[set_name].by_term
        self._used -= by_term.pop(key).codes.nbytes + _OVERHEAD
        if not by_term:
            del self._sets[set_name]


def _ask(contents: Contents, asked: Sequence[tuple[CompiledTerm, TermAnswers]], numbers: npt.NDArray[np.intp]) -> None:
    """Ask these terms of each of these contents."""
    codes: list[list[int]] = [[] for _ in asked]
    for number in numbers.tolist():
        content = contents.lookup(number)
        for (term, answers), its in zip(asked, codes, strict=True):
            its.append(answers.code(term.answer(content)))
    for (_, answers), its in zip(asked, codes, strict=True):
        answers.codes[numbers] = its


def ask_defaults(terms: Sequence[KeyedTerm]) -> list[TermAnswers]:
    """The answers of terms whose set has no column: of what a set is of which nobody speaks."""
    found = []
    for _, term in terms:
        answers = TermAnswers()
        answers.codes = np.array([answers.code(term.answer(default)) for default in DEFAULTS], np.int16)
        found.append(answers)
    return found
