r"""The part of RE2's language that Python decides faster, with the same answers.

Crossing into RE2 costs a microsecond for every name of a set; most patterns of rules are a prefix (``^AVX512``), an ending,
a choice of words (``^(IBPB|IBRS)$``) or a few character classes. What is parsed here is understood completely: literal ASCII
characters, ``.``, simple classes, ``\d \w \s``, groups without a quantifier, ``^`` and ``$`` for the ends of the text, and
at most one ``*`` or ``+``, so that no text makes Python's engine slow. Everything else is left to RE2.
Source of the language: https://github.com/google/re2/wiki/Syntax; tests compare both engines.
"""

import re
from collections.abc import Callable, Collection
from itertools import product
from typing import NamedTuple

MAX_TEXT = 256
"""Longer texts go to RE2: with one repetition Python's engine may need the square of the length."""

_MAX_CHOICES = 32
"""How many words a pattern of words may stand for."""

_MAX_DEPTH = 8
"""How deep groups may nest."""

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_SPECIAL = set("\\.+*?()|[]{}^$")
_IN_CLASS = re.compile(r"[0-9A-Za-z_./:, ]")
_RANGE = re.compile(r"[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]")


class SimplePattern(NamedTuple):
    """A pattern in Python's language; ``words`` are its choices where it has nothing but letters and anchors."""

    python: str
    words: tuple[str, ...] | None
    """Each word may begin with ``^`` and end with ``$``, written as the control characters START and END."""
    required: str
    """Letters that stand in every text in which the pattern is found, as far as that is seen; may be empty."""


START, END = "\x02", "\x03"
_ANCHORS = ((START,), (END,))


class _NotSimpleError(Exception):
    """The pattern has a part that is left to RE2."""


def parse_simple(pattern: str) -> SimplePattern | None:
    """The pattern, if it lies within the part described above; ``None`` says nothing about whether it is good."""
    ignore_case = pattern.startswith("(?i)")
    parser = _Parser(pattern, 4 if ignore_case else 0)
    if not pattern.isascii() or not pattern.isprintable():
        return None
    try:
        python, words = parser.choices(0)
    except _NotSimpleError:
        return None
    if parser.position != len(pattern):
        return None
    return SimplePattern("(?i)" + python, None, "") if ignore_case else SimplePattern(python, words, parser.required)


class _Parser:
    """Recursive descent; each method returns Python's spelling and the words, ``None`` where it is not made of words."""

    def __init__(self, pattern: str, position: int) -> None:
        self.pattern = pattern
        self.position = position
        self.repetitions = 0
        self.required = ""

    def choices(self, depth: int) -> tuple[str, tuple[str, ...] | None]:
        if depth > _MAX_DEPTH:
            raise _NotSimpleError
        parts = [self.sequence(depth)]
        while self.peek() == "|":
            self.position += 1
            parts.append(self.sequence(depth))
        if len(parts) > 1 and not depth:
            self.required = ""
        python = "|".join(part for part, _ in parts)
        words: tuple[str, ...] | None = ()
        for _, some in parts:
            words = None if words is None or some is None else words + some
        return python, words if words is None or len(words) <= _MAX_CHOICES else None

    def sequence(self, depth: int) -> tuple[str, tuple[str, ...] | None]:
        python = ""
        words: tuple[str, ...] = ("",)
        only_words = True
        run = ""
        while (letter := self.peek()) and letter not in "|)":
            part, some = self.item(letter, depth)
            python += part
            if some is None or len(words) * len(some) > _MAX_CHOICES:
                only_words = False
            else:
                words = tuple(map("".join, product(words, some)))
            if some not in _ANCHORS:
                run = run + some[0] if some is not None and len(some) == 1 and some[0].isprintable() else ""
            if not depth and len(run) > len(self.required):
                self.required = run
        return python, words if only_words else None

    def item(self, letter: str, depth: int) -> tuple[str, tuple[str, ...] | None]:
        self.position += 1
        if letter == "^":
            return self.unrepeated(r"\A", (START,))
        if letter == "$":
            return self.unrepeated(r"\Z", (END,))
        if letter == "(":
            return self.group(depth)
        if letter in "[.\\":
            atom = {"[": self.character_class, ".": lambda: ".", "\\": self.escape}[letter]()
        elif letter in _SPECIAL:
            raise _NotSimpleError
        else:
            atom = re.escape(letter)
        quantifier = self.quantifier()
        # A letter that stands for itself may be written with a backslash; its last character is the letter.
        literal = letter not in "[." and not (atom.startswith("[")) and not quantifier
        return atom + quantifier, (atom[-1],) if literal else None

    def unrepeated(self, python: str, words: tuple[str, ...] | None) -> tuple[str, tuple[str, ...] | None]:
        if self.peek() in ("*", "+", "?", "{"):
            raise _NotSimpleError
        return python, words

    def group(self, depth: int) -> tuple[str, tuple[str, ...] | None]:
        if self.pattern.startswith("?:", self.position):
            self.position += 2
        python, words = self.choices(depth + 1)
        if self.peek() != ")":
            raise _NotSimpleError
        self.position += 1
        return self.unrepeated(f"(?:{python})", words)

    def escape(self) -> str:
        letter = self.peek()
        self.position += 1
        if letter and letter in _CLASSES:
            return f"[{_CLASSES[letter]}]"
        if not letter or letter.isalnum() or letter == "_":
            raise _NotSimpleError
        return re.escape(letter)

    def character_class(self) -> str:
        python = "["
        if self.peek() == "^":
            self.position += 1
            python += "^"
        empty = len(python)
        while (letter := self.peek()) != "]":
            found = _RANGE.match(self.pattern, self.position) or _IN_CLASS.match(self.pattern, self.position)
            if found:
                if found[0][0] > found[0][-1]:
                    raise _NotSimpleError
                python += found[0]
                self.position = found.end()
            elif letter == "\\":
                self.position += 1
                escaped = self.escape()
                python += escaped[1:-1] if escaped.startswith("[") else escaped
            else:
                raise _NotSimpleError
        if len(python) == empty:
            raise _NotSimpleError
        self.position += 1
        return python + "]"

    def quantifier(self) -> str:
        letter = self.peek()
        if letter == "{":
            raise _NotSimpleError
        if letter not in ("*", "+", "?"):
            return ""
        self.position += 1
        self.repetitions += letter != "?"
        if self.repetitions > 1 or self.peek() in ("*", "+", "?", "{"):
            raise _NotSimpleError
        return letter

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]


def word_test(words: tuple[str, ...]) -> Callable[[str], bool] | None:
    """A test made of string methods, where all words have the same anchors, at the ends only."""
    plain = tuple(word.removeprefix(START).removesuffix(END) for word in words)
    if any(START in word or END in word for word in plain):
        return None
    starts = {word.startswith(START) for word in words}
    ends = {word.endswith(END) for word in words}
    if starts == {True} and ends == {True}:
        return frozenset(plain).__contains__
    if starts == {True} and ends == {False}:
        return lambda text: text.startswith(plain)
    if starts == {False} and ends == {True}:
        return lambda text: text.endswith(plain)
    if starts == {False} and ends == {False} and len(plain) == 1:
        word = plain[0]
        return lambda text: word in text
    return None


def some_words_test(words: tuple[str, ...]) -> Callable[[Collection[str]], bool] | None:
    """Whether :func:`word_test` holds for some of many names, asked at once; ``None`` where that has no test."""
    test = word_test(words)
    if test is None:
        return None
    # The words stand in the text of all names, one a line, with the ends of lines for anchors.
    needles = tuple(word.replace(START, "\n").replace(END, "\n") for word in words)

    def some(names: Collection[str]) -> bool:
        text = "\n" + "\n".join(names) + "\n"
        if text.count("\n") != len(names) + 1:
            # No names, or one with an end of line of its own.
            return any(map(test, names))
        return any(needle in text for needle in needles)

    return some
