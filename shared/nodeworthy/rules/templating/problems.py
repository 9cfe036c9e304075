"""What goes wrong in a template, and where."""

from nodeworthy.errors import RuleError

TODO = "the language is Go's text/template with the functions of sprig: https://masterminds.github.io/sprig/"


class FunctionError(Exception):
    """A function cannot answer; whoever called it knows the place and makes a RuleError of it."""


def place(text: str, position: int) -> str:
    """Where a position is, for people: lines and columns count from 1."""
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"line {line}, column {column}"


def template_error(text: str, position: int, message: str, todo: str = "") -> RuleError:
    """The error of a template at a place of it."""
    return RuleError(f"template, {place(text, position)}", why=message, todo=todo)


def shown(value: str) -> str:
    """A part of a template as a message shows it: quoted and not longer than a line takes."""
    return repr(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")


_MAX_SHOWN = 60
