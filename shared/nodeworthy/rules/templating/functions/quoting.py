"""Texts made safe for another language: ``html``, ``js``, ``urlquery``, ``quote``, ``squote``."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote_plus

from nodeworthy.rules.templating.formatting import printed, text_of
from nodeworthy.rules.templating.limits import Budget
from nodeworthy.rules.templating.literals import quote as go_quote
from nodeworthy.rules.templating.signatures import Function
from nodeworthy.rules.templating.values import Value, text_bytes

_HTML = str.maketrans({"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SCRIPT = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _printed(budget: Budget, values: Sequence[Value]) -> str:
    return printed(["<no value>" if value is None else value for value in values], budget)


def html(budget: Budget, *values: object) -> str:
    """Values as text of an HTML page."""
    return _printed(budget, values).translate(_HTML)


def js(budget: Budget, *values: object) -> str:
    """Values as the inside of a JavaScript string."""
    return "".join(map(_script_letter, _printed(budget, values)))


def _script_letter(letter: str) -> str:
    if letter in _SCRIPT:
        return _SCRIPT[letter]
    if letter < " ":
        return f"\\u{ord(letter):04X}"
    return letter if letter.isascii() or letter.isprintable() else f"\\u{ord(letter):04X}"


def urlquery(budget: Budget, *values: object) -> str:
    """Values as a part of a URL's query."""
    return quote_plus(text_bytes(_printed(budget, values)), safe="")


def quote(budget: Budget, *values: object) -> str:
    """Each value in double quotes, with Go's escapes; nil is left out."""
    return " ".join([go_quote(text_of(value, budget)) for value in values if value is not None])


def squote(budget: Budget, *values: object) -> str:
    """Each value in single quotes, without escapes; nil is left out."""
    return " ".join([f"'{text_of(value, budget)}'" for value in values if value is not None])


FUNCTIONS: Mapping[str, Function] = {"html": html, "js": js, "urlquery": urlquery, "quote": quote, "squote": squote}
