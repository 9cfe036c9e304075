"""What must be read before anything may be written: nothing is known to be gone before everything was seen once."""

from collections.abc import Callable
from enum import StrEnum


class Input(StrEnum):
    """What a labeler begins with."""

    FACTS = "the facts of nodes"
    LABELS = "the labels of nodes"
    RULES = "the rules"
    OTHERS = "other labelers"


class Inputs:
    """Waits for the first complete read of all inputs; ``on_complete`` is called once."""

    def __init__(self, on_complete: Callable[[], None]) -> None:
        self._missing = dict.fromkeys(Input)
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
