"""What is found while a document is read, gathered so that a person sees everything at once."""

from collections.abc import Callable
from typing import TypeVar

from nodeworthy.errors import DocumentError, Problem

MAX_FINDINGS = 1000
"""More of them nobody reads; a generated document could have a million."""

MAX_PATTERNS = 1000
"""How many regular expressions of a document may need RE2, which may take a quarter of a megabyte for each."""

_Read = TypeVar("_Read")

_MAX_SHOWN = 300
"""How much of a path or message is kept: both hold text of the document."""


class Findings:
    """Collects the findings of one document in four degrees.

    *Problems* make the part that they are in unreadable. *Bad values* are wrong too, but the rule runs and is in error only
    where it looks at them. *Lax* places are what NFD passes over in silence and a validation refuses: fields that nobody
    reads, equal keys, further documents. *Notices* are good to know and refuse nothing.
    """

    def __init__(self, source: str, *, max_patterns: int = MAX_PATTERNS) -> None:
        """``max_patterns`` is how many regular expressions may still need RE2."""
        self.source = source
        self.patterns_left = max_patterns
        self._wrong: list[Problem] = []
        self._lax: list[Problem] = []
        self._notices: list[Problem] = []
        self._part: list[Problem] = []

    def problem(self, line: int, path: str, message: str, hint: str = "") -> None:
        """Note what makes a part unreadable."""
        self._part.append(self._add(self._wrong, line, path, message, hint))

    def bad_value(self, line: int, path: str, message: str, hint: str = "") -> None:
        """Note a value that will be an error when evaluation reaches it."""
        self._add(self._wrong, line, path, message, hint)

    def lax(self, line: int, path: str, message: str, hint: str = "") -> None:
        """Note something that is passed over."""
        self._add(self._lax, line, path, message, hint)

    def notice(self, line: int, path: str, message: str, hint: str = "") -> None:
        """Note something that is good to know."""
        self._add(self._notices, line, path, message, hint)

    def spend_pattern(self, line: int, path: str) -> bool:
        """Count one regular expression that needs RE2; ``False``, and a problem, beyond the limit."""
        if not self.patterns_left:
            self.problem(line, path, f"the document has more than {MAX_PATTERNS:,} regular expressions")
            return False
        self.patterns_left -= 1
        return True

    def read_part(self, read: Callable[[], _Read]) -> tuple[_Read, tuple[Problem, ...]]:
        """A part, and the problems that make it unreadable; what stands around it does not become unreadable by them."""
        around, self._part = self._part, []
        try:
            return read(), tuple(self._part[:MAX_FINDINGS])
        finally:
            self._part = around

    @property
    def problems_in_part(self) -> int:
        """How many problems the part has that is being read."""
        return len(self._part)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, in the order of the document."""
        return _in_order(self._wrong)

    @property
    def notices(self) -> tuple[Problem, ...]:
        """What is passed over and what is good to know, in the order of the document."""
        return _in_order([*self._lax, *self._notices])

    @property
    def objections(self) -> tuple[Problem, ...]:
        """What a validation refuses, in the order of the document."""
        return _in_order([*self._wrong, *self._lax])

    def refuse(self, *, strict: bool) -> None:
        """Raise if the document is of no use, or if a validation refuses it.

        Raises:
            DocumentError: something outside of every part is wrong; or ``strict``, and anything is wrong or lax.
        """
        if found := self.objections if strict else self.problems if self._part else ():
            raise DocumentError(self.source, found)

    def _add(self, kept: list[Problem], line: int, path: str, message: str, hint: str) -> Problem:
        problem = Problem(self.source, line, _printable(path), _printable(message), _printable(hint))
        if len(kept) < MAX_FINDINGS:
            kept.append(problem)
        elif len(kept) == MAX_FINDINGS:
            kept.append(Problem(self.source, line, "", f"more than {MAX_FINDINGS} findings; the rest is left out"))
        return problem


def _printable(text: str) -> str:
    # A document may come from a stranger's registry and end on a terminal.
    shown = "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text[:_MAX_SHOWN])
    return shown if len(text) <= _MAX_SHOWN else shown + "…"


def _in_order(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line))
