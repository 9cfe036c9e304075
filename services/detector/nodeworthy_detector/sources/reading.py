"""What a source answers, and how its sets are kept from harming each other."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec

from nodeworthy.errors import NodeworthyError
from nodeworthy.features import FeatureSet, SetState, SetStatus, clean_text
from nodeworthy_detector.hostfs import Host

MAX_FAULTS = 50
"""Faults listed per source: enough to see what is wrong, and a snapshot stays small on a machine where all is wrong."""

_MAX_FAULT_LETTERS = 300


class Reading(msgspec.Struct, frozen=True):
    """What one source found: the content of each set, or why there is none."""

    sets: Mapping[str, FeatureSet | SetStatus]
    faults: tuple[str, ...] = ()
    error: str = ""
    """Why part of the source failed as a whole, such as a program; its own sets say what is not known for it."""
    expires_in: float | None = None
    """Seconds after which it would say something else though nothing has changed; ``None``: never."""


class Source(Protocol):
    """One kind of facts about a machine.

    ``sets`` names every set that it can deliver; an answer that leaves one out is unknown. ``read`` may raise anything: the
    pass over the sources makes its sets unknown and keeps the reason.
    """

    @property
    def name(self) -> str:
        """The source's name, the part of its sets' names before the dot."""
        ...

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the sets that it can deliver."""
        ...

    def read(self, host: Host) -> Reading:
        """Read the machine once."""
        ...


class Faults:
    """Single devices, files and lines that a source left out; a bounded list of sentences."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._more = 0

    def add(self, sentence: object) -> None:
        """Note one fault; the same sentence counts once."""
        text = clean_text(str(sentence))[:_MAX_FAULT_LETTERS]
        if text in self._sentences:
            return
        if len(self._sentences) < MAX_FAULTS:
            self._sentences.append(text)
        else:
            self._more += 1

    def listed(self) -> tuple[str, ...]:
        """The sentences in the order of their finding, and how many more there were."""
        more = (f"and {self._more:,} more",) if self._more else ()
        return (*self._sentences, *more)


Answer = FeatureSet | SetStatus
SetReader = Callable[[Host, Faults], Answer]
"""Reads one set. It raises an error of the tree when it cannot find out; faults are what it left out."""


def absent(reason: str) -> SetStatus:
    """The answer "observed not to be on this machine"."""
    return SetStatus(SetState.ABSENT, clean_text(reason))


def unknown(reason: str) -> SetStatus:
    """The answer "could not be found out"."""
    return SetStatus(SetState.UNKNOWN, clean_text(reason))


def attributes(values: Mapping[str, str | None], unobserved: Collection[str] = ()) -> FeatureSet:
    """A set of attributes; those without a value are not in it, which differs from an empty value.

    Of the ``unobserved`` ones without a value it is not known whether they are there.
    """
    found = {name: value for name, value in values.items() if value is not None}
    return FeatureSet(attributes=found, unobserved=frozenset(unobserved) - found.keys())


def read_sets(host: Host, readers: Mapping[str, SetReader]) -> Reading:
    """Run each reader on its own: what one raises makes its set unknown and no other."""
    faults = Faults()
    return Reading({name: _read_set(name, reader, host, faults) for name, reader in readers.items()}, faults.listed())


def _read_set(name: str, reader: SetReader, host: Host, faults: Faults) -> Answer:
    try:
        return reader(host, faults)
    except NodeworthyError as error:
        return unknown(str(error))
    except Exception as error:  # noqa: BLE001 # a defect in one reader must not take its neighbours along
        faults.add(f"{name}: {describe(error)}")
        return unknown(f"its reader failed: {describe(error)}")


def describe(error: Exception) -> str:
    """An unforeseen error in one line."""
    text = clean_text(str(error)).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:_MAX_FAULT_LETTERS]}" if text else type(error).__name__
