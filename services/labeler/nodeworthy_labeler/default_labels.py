"""Default labels of many nodes at once: each maker is asked once for each distinct content of its set."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from nodeworthy.features import Lookup
from nodeworthy.fleet import Fleet
from nodeworthy.fleet.contents import DEFAULTS
from nodeworthy.fleet.grouping import Numbers, distinct
from nodeworthy.labels import CompiledDefaults, DefaultLabels, LabelPolicy, make_default_labels


class _OneSet:
    """Facts that are one set."""

    def __init__(self, found: Lookup) -> None:
        self._found = found

    def lookup(self, _name: str) -> Lookup:
        return self._found


class MakerClasses(NamedTuple):
    """What one maker gives to each of some rows."""

    numbers: Numbers
    """By row: the place of what is made."""
    made: Sequence[DefaultLabels]


def classify(fleet: Fleet, policy: LabelPolicy, rows: Numbers) -> list[MakerClasses]:
    """By maker, what it gives to these rows."""
    makers = policy.defaults.makers
    return [_classify(fleet, policy, place, maker.set_name, rows) for place, maker in enumerate(makers, 1)]


def _classify(fleet: Fleet, policy: LabelPolicy, place: int, set_name: str, rows: Numbers) -> MakerClasses:
    numbers = fleet.numbers(set_name, rows)
    column = fleet.column(set_name)
    alone = CompiledDefaults(policy.defaults.makers[place - 1 : place], policy.defaults.is_listed)
    contents = distinct(numbers)
    class_of = np.zeros(int(contents[-1]) + 1 if len(contents) else 0, np.intp)
    seen: dict[bytes, int] = {}
    made: list[DefaultLabels] = []
    for number in contents.tolist():
        found = column.contents.lookup(number) if column else DEFAULTS[number]
        labels = make_default_labels(_OneSet(found), alone, auto_prefix=policy.auto_prefix)
        key = msgspec.msgpack.encode(labels)
        if key not in seen:
            seen[key] = len(made)
            made.append(_at(labels, place))
        class_of[number] = seen[key]
    return MakerClasses(class_of[numbers], made)


def _at(made: DefaultLabels, place: int) -> DefaultLabels:
    """What a maker gives, in its place; a position of 0 is that of a name that yields to all others, and stays."""
    return DefaultLabels(
        labels=tuple(msgspec.structs.replace(label, position=place * bool(label.position)) for label in made.labels),
        unresolved=tuple(msgspec.structs.replace(one, position=place) for one in made.unresolved),
        rejected=made.rejected,
    )
