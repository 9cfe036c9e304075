"""The four outcomes as numbers, and how they combine for many nodes at once, as ``rules.outcomes`` does for one."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nodeworthy.rules import CompiledRule, CompiledTerm, Outcome

Outcomes: TypeAlias = npt.NDArray[np.uint8]
Ask: TypeAlias = Callable[[CompiledTerm], Outcomes]

FALSE, TRUE, UNKNOWN, ERROR = range(4)
OUTCOMES = (Outcome.FALSE, Outcome.TRUE, Outcome.UNKNOWN, Outcome.ERROR)
"""By number."""
NUMBERS = {outcome: number for number, outcome in enumerate(OUTCOMES)}

_ENDED_UNKNOWN = 4
"""A state of the walk beside the outcomes: an error came after an unknown, so what follows is not asked."""

_ALL = np.array(
    [
        # FALSE, TRUE, UNKNOWN, ERROR: what the next answer makes of the state
        [FALSE, FALSE, FALSE, FALSE],
        [FALSE, TRUE, UNKNOWN, ERROR],
        [FALSE, UNKNOWN, UNKNOWN, _ENDED_UNKNOWN],
        [ERROR, ERROR, ERROR, ERROR],
        [_ENDED_UNKNOWN, _ENDED_UNKNOWN, _ENDED_UNKNOWN, _ENDED_UNKNOWN],
    ],
    np.uint8,
)
_ANY = np.array(
    [
        [FALSE, TRUE, UNKNOWN, ERROR],
        [TRUE, TRUE, TRUE, TRUE],
        [UNKNOWN, TRUE, UNKNOWN, _ENDED_UNKNOWN],
        [ERROR, ERROR, ERROR, ERROR],
        [_ENDED_UNKNOWN, _ENDED_UNKNOWN, _ENDED_UNKNOWN, _ENDED_UNKNOWN],
    ],
    np.uint8,
)
_END = np.array([FALSE, TRUE, UNKNOWN, ERROR, UNKNOWN], np.uint8)


def constant(outcome: int, size: int) -> Outcomes:
    """The same outcome for every node."""
    return np.full(size, outcome, np.uint8)


def all_hold(answers: Iterable[Outcomes], size: int) -> Outcomes:
    """Whether everything holds, asked in this order, as :func:`nodeworthy.rules.outcomes.all_hold`."""
    return _walk(_ALL, TRUE, answers, size)


def any_holds(answers: Iterable[Outcomes], size: int) -> Outcomes:
    """Whether something holds, asked in this order, as :func:`nodeworthy.rules.outcomes.any_holds`."""
    return _walk(_ANY, FALSE, answers, size)


def required(rule: CompiledRule, ask: Ask, size: int) -> Outcomes:
    """Whether the ``matchFeatures`` of a rule hold."""
    return all_hold(map(ask, rule.match_features), size)


def decide(rule: CompiledRule, ask: Ask, size: int) -> Outcomes:
    """Whether a rule without templates matches, as :func:`nodeworthy.rules.decide`."""
    needed = required(rule, ask, size)
    if not rule.match_any:
        return needed
    alternatives = any_holds((all_hold(map(ask, element), size) for element in rule.match_any), size)
    return all_hold((alternatives, needed), size)


def _walk(table: npt.NDArray[np.uint8], start: int, answers: Iterable[Outcomes], size: int) -> Outcomes:
    state = constant(start, size)
    for answer in answers:
        state = table[state, answer]
    return _END[state]
