"""Cutting a template into tokens: text, and inside ``{{…}}`` names, literals and signs.

The grammar is that of Go's text/template (https://pkg.go.dev/text/template), trim markers (``{{-``, ``-}}``) and comments
included. Spaces inside actions are tokens too, for ``.a .b`` is not ``.a.b``.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from nodeworthy.rules.templating.problems import shown, template_error


class Kind(Enum):
    """What a token is."""

    TEXT = auto()
    LEFT = auto()
    RIGHT = auto()
    SPACE = auto()
    KEYWORD = auto()
    BOOL = auto()
    NIL = auto()
    IDENTIFIER = auto()
    DOT = auto()
    FIELD = auto()
    VARIABLE = auto()
    NUMBER = auto()
    TEXT_LITERAL = auto()
    PIPE = auto()
    ASSIGN = auto()
    DECLARE = auto()
    OPEN = auto()
    CLOSE = auto()
    SIGN = auto()
    """A printable character that means nothing by itself; the comma is one."""
    END = auto()


class Token(NamedTuple):
    """A piece of the template."""

    kind: Kind
    position: int
    text: str


KEYWORDS = frozenset({"block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"})

_SPACES = " \t\r\n"
_COMMENT = re.compile(r"\{\{(?:-[ \t\r\n])?/\*")
_RIGHT = re.compile(r"(?:[ \t\r\n]-)?\}\}")
_SPACE = re.compile(r"[ \t\r\n]+?(?=[ \t\r\n]-\}\})|[ \t\r\n]+")
_QUOTED = {
    '"': re.compile(r'"(?:\\[^\n]|[^\\"\n])*"'),
    "`": re.compile(r"`[^`]*`"),
    "'": re.compile(r"'(?:\\[^\n]|[^\\'\n])*'"),
}
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)
_SIGNS = {"|": Kind.PIPE, "=": Kind.ASSIGN, "(": Kind.OPEN, ")": Kind.CLOSE}
_AFTER_NAME = frozenset(" \t\r\n.,|:)(")


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a template, the last one of kind END.

    Raises:
        RuleError: something is none; what stands before it has been given.
    """
    position = 0
    while True:
        start = text.find("{{", position)
        if start < 0:
            if position < len(text):
                yield Token(Kind.TEXT, position, text[position:])
            yield Token(Kind.END, len(text), "the end of the template")
            return
        before = text[position:start]
        trims = text[start + 2 : start + 3] == "-" and text[start + 3 : start + 4] in tuple(_SPACES)
        kept = before.rstrip(_SPACES) if trims else before
        if kept:
            yield Token(Kind.TEXT, position, kept)
        if comment := _COMMENT.match(text, start):
            position = _after_comment(text, start, comment.end())
        else:
            yield Token(Kind.LEFT, start, "{{")
            action = _Action(text, start + (4 if trims else 2))
            yield from action.tokens()
            position = action.position


def _after_comment(text: str, start: int, position: int) -> int:
    end = text.find("*/", position)
    if end < 0:
        raise template_error(text, start, "this comment has no end")
    right = _RIGHT.match(text, end + 2)
    if right is None:
        raise template_error(text, start, "a comment must fill its action: {{/* … */}}")
    return _after_right(text, right)


def _after_right(text: str, right: re.Match[str]) -> int:
    position = right.end()
    if len(right[0]) > len("}}"):
        while text[position : position + 1] in tuple(_SPACES):
            position += 1
    return position


class _Action:
    """The inside of one ``{{…}}``; ``position`` is behind it when all tokens were taken."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.open = 0

    def tokens(self) -> Iterator[Token]:
        text = self.text
        while True:
            if right := _RIGHT.match(text, self.position):
                if self.open:
                    raise template_error(text, self.position, "a parenthesis is not closed")
                yield Token(Kind.RIGHT, self.position, "}}")
                self.position = _after_right(text, right)
                return
            token = self.token()
            yield token
            self.position = token.position + len(token.text)

    def token(self) -> Token:
        text, position = self.text, self.position
        if position >= len(text):
            raise template_error(text, position, "an action is not closed by }}")
        letter = text[position]
        if letter in _SPACES:
            return self.matched(Kind.SPACE, _SPACE)
        if letter in _QUOTED:
            return self.quoted(letter)
        if letter in "+-" or letter in "0123456789":
            return self.number()
        if letter == ".":
            return self.number() if text[position + 1 : position + 2] in tuple("0123456789") else self.field()
        if letter == "$":
            return Token(Kind.VARIABLE, position, text[position : self.end_of_name(position + 1)])
        return self.word() if _is_letter(letter) else self.mark(letter)

    def mark(self, letter: str) -> Token:
        text, position = self.text, self.position
        if letter in _SIGNS:
            return self.sign(letter)
        if letter == ":":
            if text[position + 1 : position + 2] != "=":
                raise template_error(text, position, "a : stands only in :=")
            return Token(Kind.DECLARE, position, ":=")
        if letter.isascii() and letter.isprintable():
            return Token(Kind.SIGN, position, letter)
        raise template_error(text, position, f"{shown(letter)} has no meaning in an action")

    def matched(self, kind: Kind, pattern: re.Pattern[str]) -> Token:
        found = pattern.match(self.text, self.position)
        return Token(kind, self.position, found[0] if found else "")

    def quoted(self, letter: str) -> Token:
        kind = Kind.NUMBER if letter == "'" else Kind.TEXT_LITERAL
        token = self.matched(kind, _QUOTED[letter])
        if not token.text:
            raise template_error(self.text, self.position, f"{letter} is not closed; only `…` may hold several lines")
        return token

    def sign(self, letter: str) -> Token:
        self.open += {"(": 1, ")": -1}.get(letter, 0)
        if self.open < 0:
            raise template_error(self.text, self.position, "a ) without (")
        return Token(_SIGNS[letter], self.position, letter)

    def number(self) -> Token:
        token = self.scan_number(self.position)
        end = token.position + len(token.text)
        if self.text[end : end + 1] in tuple("+-"):
            # A complex number: 1+2i.
            second = self.scan_number(end)
            if not second.text.endswith("i"):
                raise self.bad_number(token.text + second.text)
            return Token(Kind.NUMBER, token.position, token.text + second.text)
        return token

    def scan_number(self, position: int) -> Token:
        found = _NUMBER.match(self.text, position)
        text = found[0] if found else ""
        end = position + len(text)
        if end < len(self.text) and _is_letter(self.text[end]):
            raise self.bad_number(text + self.text[end])
        return Token(Kind.NUMBER, position, text)

    def bad_number(self, text: str) -> Exception:
        return template_error(self.text, self.position, f"{shown(text)} is no number")

    def field(self) -> Token:
        end = self.end_of_name(self.position + 1)
        return Token(
            Kind.DOT if end == self.position + 1 else Kind.FIELD, self.position, self.text[self.position : end]
        )

    def word(self) -> Token:
        word = self.text[self.position : self.end_of_name(self.position)]
        if word in KEYWORDS:
            return Token(Kind.KEYWORD, self.position, word)
        kind = {"true": Kind.BOOL, "false": Kind.BOOL, "nil": Kind.NIL}.get(word, Kind.IDENTIFIER)
        return Token(kind, self.position, word)

    def end_of_name(self, position: int) -> int:
        text = self.text
        while position < len(text) and _is_letter(text[position]):
            position += 1
        if position < len(text) and text[position] not in _AFTER_NAME and not text.startswith("}}", position):
            raise template_error(text, position, f"{shown(text[position])} may not stand behind a name")
        return position


def _is_letter(letter: str) -> bool:
    return letter == "_" or letter.isalpha() or letter.isdecimal()
