"""An inspection in few enough bytes for the bus: what is cut off is said, and changes no answer but to "unknown"."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from nodeworthy.requirements import Defect, Evidence, Inspection, Requirement, Sureness, Unexplored

MOST = 50
"""Of each list; images have some ten requirements."""
MOST_EVIDENCE = 3
"""Places of one requirement."""
MOST_LETTERS = 300
"""Of one text: what stands in an image can be as long as its author likes."""

_Evident = TypeVar("_Evident", Requirement, Defect)


def fit_inspection(found: Inspection) -> Inspection:
    """The inspection without the list of libraries, its lists and texts cut to what a person reads.

    Requirements and defects that are certain come first. Where a requirement is cut off the answer stays open.
    """
    requirements = sorted(found.requirements, key=_rank)
    cut = len(requirements) - MOST
    rest = (Unexplored(f"{cut:,} more requirements", "too many to be kept"),) if cut > 0 else ()
    # Those that decide come first: cutting must not lose that the answer is open.
    unexplored = sorted((*rest, *found.unexplored), key=lambda one: not one.decides)
    return msgspec.structs.replace(
        found,
        start=tuple(map(_short, found.start[:MOST_EVIDENCE])),
        requirements=tuple(map(_with_few, requirements[:MOST])),
        defects=tuple(map(_with_few, sorted(found.defects, key=_rank)[:MOST])),
        information=tuple(
            msgspec.structs.replace(one, text=_short(one.text), evidence=_few(one.evidence))
            for one in found.information[:MOST]
        ),
        unexplored=tuple(
            msgspec.structs.replace(one, what=_short(one.what), why=_short(one.why)) for one in unexplored[:MOST]
        ),
        software=tuple(
            msgspec.structs.replace(one, name=_short(one.name), version=_short(one.version), file=_short(one.file))
            for one in found.software[:MOST]
        ),
        libraries=(),
    )


def _rank(one: Requirement | Defect) -> int:
    return list(Sureness).index(one.sureness)


def _with_few(one: _Evident) -> _Evident:
    return msgspec.structs.replace(one, text=_short(one.text), remedy=_short(one.remedy), evidence=_few(one.evidence))


def _few(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple(
        msgspec.structs.replace(
            one, file=_short(one.file), seen=_short(one.seen), symbol=_short(one.symbol), rule=_short(one.rule)
        )
        for one in evidence[:MOST_EVIDENCE]
    )


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
