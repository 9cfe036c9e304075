"""Lines that others can cause as often as they like: written once, then counted.

A message that cannot be read costs its sender nothing and a log line costs disk, so a thousand of one kind must not give a
thousand lines. Only lines that name what they are *about* are held back; what a service says of itself is always written.
"""

import logging
from dataclasses import dataclass

ABOUT = "about"
"""The attribute of a log record that names what the line is about: a subject, a key, a node."""

SILENCE_SECONDS = 60.0
"""How long a line with the same event about the same is not written again."""

MAX_ABOUTS = 50
"""Things that one event is written about in that time; names come from outside too. All others count as one."""

REPEATED = "repeated"
"""The attribute of a record that tells how many such lines were not written since the last one that was."""


@dataclass(slots=True)
class _Written:
    time: float
    held_back: int = 0


class Repeats(logging.Filter):
    """Holds lines back; the next one that is written after the silence tells how many they were."""

    def __init__(self) -> None:
        super().__init__()
        self._written: dict[str, dict[str, _Written]] = {}
        """By event, which is a name of ours, then by what it is about."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be written."""
        about = getattr(record, ABOUT, "")
        if not about:
            return True
        known = self._known(record.getMessage(), about, record.created)
        if 0 <= record.created - known.time < SILENCE_SECONDS:
            known.held_back += 1
            return False
        setattr(record, REPEATED, known.held_back)
        known.time, known.held_back = record.created, 0
        return True

    def _known(self, event: str, about: str, now: float) -> _Written:
        written = self._written.setdefault(event, {})
        if about not in written and len(written) >= MAX_ABOUTS:
            self._forget_quiet(written, now)
        if about not in written and len(written) >= MAX_ABOUTS:
            about = _OTHERS
        return written.setdefault(about, _Written(float("-inf")))

    @staticmethod
    def _forget_quiet(written: dict[str, _Written], now: float) -> None:
        """Make room: what was silent for long enough would be written again anyway."""
        for about, known in tuple(written.items()):
            if about != _OTHERS and not 0 <= now - known.time < SILENCE_SECONDS:
                del written[about]


_OTHERS = "\0"
"""No name from outside is this one."""
