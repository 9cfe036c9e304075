"""Upper and lower case, and names written in the manner of programs: ``upper``, ``snakecase``, ``camelcase`` and so on.

Letters are changed one by one, as Go does: ``ß`` stays one letter in upper case.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple
from unicodedata import category

from nodeworthy.rules.templating.letters import SPACES
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.signatures import Function


def upper_letter(letter: str) -> str:
    """A letter in upper case, if that is one letter."""
    changed = letter.upper()
    return changed if len(changed) == 1 else letter


def lower_letter(letter: str) -> str:
    """A letter in lower case, if that is one letter."""
    changed = letter.lower()
    return changed if len(changed) == 1 else letter.lower()[:1] if letter == "\u0130" else letter


def upper(text: str) -> str:
    """In upper case."""
    return text.upper() if text.isascii() else "".join(map(upper_letter, text))


def lower(text: str) -> str:
    """In lower case."""
    return text.lower() if text.isascii() else "".join(map(lower_letter, text))


def title(budget: Budget, text: str) -> str:
    """The first letter of every word in title case; letters, digits and ``_`` do not part words."""
    budget.spend(len(text))
    parts: list[str] = []
    before = " "
    for letter in text:
        parts.append(_title_letter(letter) if _parts_words(before) else letter)
        before = letter
    return "".join(parts)


def _title_letter(letter: str) -> str:
    changed = letter.title()
    return changed if len(changed) == 1 else letter


def _parts_words(letter: str) -> bool:
    if letter.isascii():
        return not (letter.isalnum() or letter == "_")
    return letter in SPACES


def untitle(text: str) -> str:
    """The first letter of the text, and of every word behind a space, in lower case."""
    parts: list[str] = []
    is_first = True
    for letter in text:
        if letter in SPACES:
            is_first = True
        elif is_first:
            letter, is_first = lower_letter(letter), False  # noqa: PLW2901 # the letter as it is to be
        parts.append(letter)
    return "".join(parts)


def swapcase(text: str) -> str:
    """Upper case becomes lower case and the other way round; a word that began in lower case begins in title case."""
    parts: list[str] = []
    is_first = True
    for letter in text:
        kind = category(letter)
        if kind in ("Lu", "Lt"):
            parts.append(lower_letter(letter))
            is_first = False
        elif kind == "Ll":
            parts.append(_title_letter(letter) if is_first else upper_letter(letter))
            is_first = False
        else:
            parts.append(letter)
            is_first = letter in SPACES
    return "".join(parts)


def _is_connector(letter: str) -> bool:
    return letter in "-_" or letter in SPACES


def _is_upper(letter: str) -> bool:
    return category(letter) == "Lu"


def camelcase(budget: Budget, text: str) -> str:
    """``http_server`` as ``HttpServer``; connectors at the ends and all but one of several stay."""
    budget.spend(len(text))
    start = next((place for place, letter in enumerate(text) if not _is_connector(letter)), len(text))
    if start == len(text):
        return text
    parts = [text[:start]]
    current = upper_letter(text[start])
    lowers = _is_upper(text[start])
    # A letter is written when the next one is known: a connector before a word is left out.
    for letter in text[start + 1 :]:
        before, current = current, letter
        if _is_connector(current) and _is_connector(before):
            parts.append(before)
            continue
        if _is_connector(before):
            lowers = _is_upper(current)
            current = upper_letter(current)
            continue
        if lowers and _is_upper(current):
            current = lower_letter(current)
        else:
            lowers = False
        parts.append(before)
    return "".join((*parts, current))


def snakecase(budget: Budget, text: str) -> str:
    """``FirstName`` as ``first_name``."""
    budget.spend(len(text))
    return _joined_words(text, "_")


def kebabcase(budget: Budget, text: str) -> str:
    """``FirstName`` as ``first-name``."""
    budget.spend(len(text))
    return _joined_words(text, "-")


class _Kind(Enum):
    NUMBER = auto()
    UPPER = auto()
    LETTERS = auto()
    CONNECTOR = auto()
    PUNCTUATION = auto()
    OTHER = auto()
    NONE = auto()


class _Word(NamedTuple):
    kind: _Kind
    text: str


_WORDS = (_Kind.LETTERS, _Kind.NUMBER)
_APART = (_Kind.CONNECTOR, _Kind.PUNCTUATION, _Kind.NONE)


def _kind(letter: str) -> _Kind:
    if _is_connector(letter):
        return _Kind.CONNECTOR
    major = category(letter)
    if major[0] == "P":
        return _Kind.PUNCTUATION
    if major == "Lu":
        return _Kind.UPPER
    if major[0] == "L":
        return _Kind.OTHER if _is_wide(letter) else _Kind.LETTERS
    return _Kind.NUMBER if major[0] == "N" else _Kind.OTHER


def _is_wide(letter: str) -> bool:
    # xstrings counts letters of scripts without words apart.
    code = ord(letter)
    return 0x4E00 <= code <= 0x9FFF or 0x3040 <= code <= 0x30FF or 0xAC00 <= code <= 0xD7AF  # noqa: PLR2004 # Han, kana, Hangul


def _words(text: str) -> Iterator[_Word]:
    start = 0
    while start < len(text):
        kind = _kind(text[start])
        end = _run(text, start + 1, kind)
        if kind is _Kind.UPPER and end < len(text) and _kind(text[end]) is _Kind.LETTERS:
            # The last capital begins the next word: HTTPServer is HTTP and Server.
            end = end - 1 if end - start > 1 else _run(text, end, _Kind.LETTERS)
        yield _Word(kind, text[start:end])
        start = end


def _run(text: str, end: int, kind: _Kind) -> int:
    while end < len(text) and _kind(text[end]) is kind:
        end += 1
    return end


def _joined_words(text: str, connector: str) -> str:
    """The words of a text in lower case with a connector between; a number belongs to the letters behind it."""
    return _Joiner(text, connector).joined()


class _Joiner:
    """One walk over the words of a text; ``place`` is the next one."""

    def __init__(self, text: str, connector: str) -> None:
        self.words = [*_words(text), _Word(_Kind.NONE, "")]
        self.connector = connector
        self.parts: list[str] = []
        self.place = 0

    def joined(self) -> str:
        last = len(self.words) - 2
        while self.place < last:
            kind = self.words[self.place].kind
            self.write()
            following = self.words[self.place].kind
            if kind is _Kind.NUMBER:
                self.write_run()
            elif kind in _APART or following in _APART:
                continue
            elif following is not _Kind.NUMBER:
                self.parts.append(self.connector)
            elif self.place < last:
                self.write_number()
        while self.place <= last:
            self.write()
        return "".join(self.parts)

    def write(self) -> None:
        self.parts.append(_written(self.words[self.place], self.connector))
        self.place += 1

    def write_run(self) -> None:
        """Write letters and numbers that hang together."""
        while self.words[self.place].kind in _WORDS:
            self.write()
        self.part()

    def write_number(self) -> None:
        """Write a number behind a word: it begins a new one if letters follow."""
        if self.words[self.place + 1].kind is _Kind.LETTERS:
            self.parts.append(self.connector)
            self.write()
            self.write_run()
        else:
            self.write()
            self.part()

    def part(self) -> None:
        if self.words[self.place].kind not in _APART:
            self.parts.append(self.connector)


def _written(word: _Word, connector: str) -> str:
    if word.kind is _Kind.CONNECTOR:
        return connector * len(word.text)
    return lower(word.text) if word.kind is _Kind.UPPER else word.text


FUNCTIONS: Mapping[str, Function] = {
    "upper": upper,
    "lower": lower,
    "title": title,
    "untitle": untitle,
    "swapcase": swapcase,
    "camelcase": camelcase,
    "snakecase": snakecase,
    "kebabcase": kebabcase,
}
