"""What a verdict tells of a node beside its answer: the observed values, which differ among nodes that fare alike."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from nodeworthy.fleet.contents import DEFAULTS
from nodeworthy.fleet.grouping import Numbers, distinct
from nodeworthy.fleet.table import Fleet
from nodeworthy.fleet.vectors import Panel
from nodeworthy.rules import CompiledTerm
from nodeworthy.rules.judging import judge_term


def detail_columns(fleet: Fleet, panel: Panel, rows: Numbers) -> Iterator[npt.NDArray[np.integer]]:
    """By row: columns that are equal where a report on the specification of the panel is the same, word by word.

    Together with the vector of a row they are all that the report depends on (rules.reporting): for each set what its
    contents answer and show to the terms that ask them.
    """
    for name, terms in panel.terms.items():
        yield _shown(fleet, name, [keyed.term for keyed in terms], rows)
    for name in sorted(panel.whole):
        yield fleet.numbers(name, rows)


def _shown(fleet: Fleet, name: str, terms: Sequence[CompiledTerm], rows: Numbers) -> Numbers:
    column = fleet.column(name)
    numbers = fleet.numbers(name, rows)
    contents = distinct(numbers)
    seen: dict[object, int] = {}
    shown = np.zeros(int(contents[-1]) + 1 if len(contents) else 0, np.intp)
    for number in contents.tolist():
        found = column.contents.lookup(number) if column else DEFAULTS[number]
        told = tuple((term.answer(found), judge_term(term, found)) for term in terms)
        shown[number] = seen.setdefault(told, len(seen))
    return shown[numbers]
