"""Variables in the words of a Containerfile; pure.

``$NAME``, ``${NAME}``, ``${NAME:-word}``, ``${NAME:+word}`` (also without the colon: set, though perhaps empty) and
``${NAME:?message}``, with quotes and escapes as in a shell (docs.docker.com, "Dockerfile reference", "Environment
replacement").
"""

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_LENGTH = 4096
"""Characters of a word; words that hold each other may double at every argument."""
_MAX_DEPTH = 20


class ExpansionError(ValueError):
    """A word cannot be expanded; the message says why."""


def expand(word: str, values: Mapping[str, str], escape: str) -> str:
    """A word with its variables replaced and its quotes taken off; a variable without a value is empty.

    Raises:
        ExpansionError: a form that is not known, or ``${NAME:?}`` without a value.
    """
    text, _ = _Expander(values, escape).read(word, 0, "", 0)
    return text


class _Expander:
    def __init__(self, values: Mapping[str, str], escape: str) -> None:
        self._values = values
        self._escape = escape

    def read(self, word: str, place: int, end: str, depth: int) -> tuple[str, int]:
        """What stands from a place on, expanded, and the place of ``end`` (empty: the word's end)."""
        if depth > _MAX_DEPTH:
            raise ExpansionError("it is nested too deep")
        made = ""
        quote = ""
        while place < len(word) and (quote or word[place] != end):
            letter = word[place]
            if letter == quote:
                quote, place = "", place + 1
            elif not quote and letter in "\"'":
                quote, place = letter, place + 1
            elif letter == self._escape and quote != "'":
                made, place = made + word[place + 1 : place + 2], place + 2
            elif letter == "$" and quote != "'":
                value, place = self._read_variable(word, place + 1, depth)
                made += value
            else:
                made, place = made + letter, place + 1
            if len(made) > _MAX_LENGTH:
                raise ExpansionError(f"it has more than {_MAX_LENGTH} characters")
        if quote or (end and place >= len(word)):
            raise _unended(word)
        return made, place

    def _read_variable(self, word: str, place: int, depth: int) -> tuple[str, int]:
        is_braced = word[place : place + 1] == "{"
        found = _NAME.match(word, place + is_braced)
        if found is None:
            if is_braced:
                raise ExpansionError(f"{word[:60]!r} names no variable")
            return "$", place
        if not is_braced:
            return self._values.get(found[0], ""), found.end()
        return self._read_braced(word, found[0], found.end(), depth)

    def _read_braced(self, word: str, name: str, place: int, depth: int) -> tuple[str, int]:
        value = self._values.get(name)
        if place >= len(word):
            raise _unended(word)
        if word[place : place + 1] == "}":
            return value or "", place + 1
        is_strict = word[place : place + 1] == ":"
        operator = word[place + is_strict : place + is_strict + 1]
        if operator not in {"-", "+", "?"}:
            raise ExpansionError(f"the form of ${{{name}...}} is not known here")
        other, place = self.read(word, place + is_strict + 1, "}", depth + 1)
        is_set = bool(value) if is_strict else value is not None
        if operator == "?" and not is_set:
            raise ExpansionError(other or f"{name} has no value")
        if operator == "+":
            return (other if is_set else ""), place + 1
        return (value or "" if is_set else other), place + 1


def _unended(word: str) -> ExpansionError:
    return ExpansionError(f"{word[:60]!r} has a quote or a brace without its end")
