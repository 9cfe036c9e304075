"""What must be read before anything may be written: nothing is known to be gone before everything was seen once."""

from collections.abc import Callable, Iterable
from enum import StrEnum


class Input(StrEnum):
    """What a labeler begins with."""

    FACTS = "the facts of nodes"
    LABELS = "the labels of nodes"
    RULES = "the rules"
    OTHERS = "other labelers"
    NODES = "the nodes of the cluster"
    NODE_FEATURES = "the NodeFeature objects of the cluster"


BUS_INPUTS = (Input.FACTS, Input.LABELS, Input.RULES, Input.OTHERS)
"""Where there is no cluster."""


class Inputs:
    """Waits for the first complete read of ``needed`` inputs; ``on_complete`` is called once."""

    def __init__(self, on_complete: Callable[[], None], needed: Iterable[Input] = BUS_INPUTS) -> None:
        self._missing = dict.fromkeys(needed)
        self._on_complete = on_complete

    @property
    def missing(self) -> tuple[Input, ...]:
        """What was not read completely yet."""
        return tuple(self._missing)

    def note(self, found: Input) -> None:
        """An input was read completely, now or once more."""
        if found not in self._missing:
            return
        del self._missing[found]
        if not self._missing:
            self._on_complete()
