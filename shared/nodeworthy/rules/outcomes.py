"""The four outcomes of a question, and how they combine."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from nodeworthy.errors import RuleError


class Outcome(StrEnum):
    """How a question ended. Only TRUE is evidence for something, and only FALSE against it."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"
    """The facts do not say."""
    ERROR = "error"
    """The question cannot be asked of these facts; counts as unknown wherever something is decided."""


class Answer(NamedTuple):
    """An outcome with its reason, which is there for UNKNOWN and ERROR."""

    outcome: Outcome
    reason: str = ""
    todo: str = ""


HOLDS = Answer(Outcome.TRUE)
FAILS = Answer(Outcome.FALSE)


def ask(question: Callable[[], bool]) -> Answer:
    """The answer to a question of yes or no, which is an error where the question raises one."""
    try:
        return HOLDS if question() else FAILS
    except RuleError as error:
        return Answer(Outcome.ERROR, str(error), error.todo)


def all_hold(answers: Iterable[Answer]) -> Answer:
    """Whether everything holds; the answers are asked for one by one and no more than needed.

    False ends the search, also after unknown. An error ends it too, as it does in NFD; after unknown the whole is unknown,
    because with more facts the search might have ended before the error.
    """
    unknown: Answer | None = None
    for answer in answers:
        if answer.outcome is Outcome.TRUE:
            continue
        if answer.outcome is Outcome.FALSE:
            return answer
        if answer.outcome is Outcome.ERROR:
            return unknown or answer
        unknown = unknown or answer
    return unknown or HOLDS


def any_holds(answers: Iterable[Answer]) -> Answer:
    """Whether something holds; true ends the search, also after unknown, and an error as in :func:`all_hold`."""
    unknown: Answer | None = None
    for answer in answers:
        if answer.outcome is Outcome.FALSE:
            continue
        if answer.outcome is Outcome.TRUE:
            return answer
        if answer.outcome is Outcome.ERROR:
            return unknown or answer
        unknown = unknown or answer
    return unknown or FAILS
