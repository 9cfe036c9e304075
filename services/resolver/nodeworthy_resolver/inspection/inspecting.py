"""An inspection from beginning to end: index the ELF files, find out what runs, ask every reading, put it together."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from nodeworthy.requirements import Inspection, Unexplored
from nodeworthy_resolver.inspection.closure import Start, find_start
from nodeworthy_resolver.inspection.indexing import ElfFiles
from nodeworthy_resolver.inspection.instructions import read_instructions
from nodeworthy_resolver.inspection.libraries import list_libraries
from nodeworthy_resolver.inspection.limits import DEFAULT_LIMITS, ENGINE, InspectingLimits
from nodeworthy_resolver.inspection.readings import listing
from nodeworthy_resolver.inspection.readings.isa_notes import read_isa_notes
from nodeworthy_resolver.inspection.readings.loading import read_loading
from nodeworthy_resolver.inspection.readings.machines import read_machines
from nodeworthy_resolver.inspection.readings.page_sizes import read_page_sizes
from nodeworthy_resolver.inspection.readings.symbol_versions import read_symbol_versions
from nodeworthy_resolver.inspection.subject import ImageConfig, Outcome, Reading, Subject
from nodeworthy_resolver.inspection.timing import OutOfTimeError, TimedTree
from nodeworthy_resolver.inspection.tree import Tree

READINGS: tuple[tuple[str, Reading], ...] = (
    ("machines of programs", read_machines),
    ("what the loader refuses", read_loading),
    ("symbol versions", read_symbol_versions),
    ("page sizes", read_page_sizes),
    ("notes on instruction sets", read_isa_notes),
    *listing.READINGS,
    ("instructions", read_instructions),
)
"""By the words in which one is named that fails. Disassembling is the last, since it takes all the time that is left."""

_Found = TypeVar("_Found")


def inspect_tree(
    tree: Tree,
    config: ImageConfig,
    limits: InspectingLimits = DEFAULT_LIMITS,
    *,
    clock: Callable[[], float] = time.monotonic,
    readings: Iterable[tuple[str, Reading]] = READINGS,
) -> Inspection:
    """What the files of an image say; everything that could not be looked at is named in the result."""
    subject, unread = make_subject(tree, config, limits, clock=clock)
    return inspect_subject(subject, unread, readings)


def inspect_subject(
    subject: Subject, unread: Iterable[Unexplored], readings: Iterable[tuple[str, Reading]] = READINGS
) -> Inspection:
    """As :func:`inspect_tree`, of what :func:`make_subject` prepared."""
    start = subject.start
    outcomes = [_ask(name, reading, subject) for name, reading in readings]
    first = next((subject.elves[one.path] for one in start.loaded if one.path in subject.elves), None)
    return Inspection(
        engine=ENGINE,
        machine=(first.architecture or str(first.machine)) if first else "",
        start=start.chain,
        requirements=_distinct(r for outcome in outcomes for r in outcome.requirements),
        defects=_distinct((*start.defects, *(d for outcome in outcomes for d in outcome.defects))),
        information=_distinct(i for outcome in outcomes for i in outcome.information),
        unexplored=_distinct((*unread, *start.unexplored, *(u for outcome in outcomes for u in outcome.unexplored))),
        software=_distinct(s for outcome in outcomes for s in outcome.software),
        libraries=list_libraries(subject),
    )


def make_subject(
    tree: Tree,
    config: ImageConfig,
    limits: InspectingLimits = DEFAULT_LIMITS,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Subject, tuple[Unexplored, ...]]:
    """An image, prepared for the readings, and the ELF files that could not be looked at."""
    timed = TimedTree(tree, clock, clock() + limits.seconds)
    elves = ElfFiles(timed)
    # What starts is found first: it must not be missing because other files took the room or the time.
    try:
        start = find_start(timed, elves, config)
    except OutOfTimeError as error:
        start = Start(unexplored=(Unexplored("what is started", str(error)),))
    left = elves.read_all(limits.elf_files)
    subject = Subject(timed, config, start, elves.sorted(), clock, timed.deadline)
    return subject, (*left, *elves.unexplored(start))


def _ask(name: str, reading: Reading, subject: Subject) -> Outcome:
    """What one reading found. One that fails on a file nobody thought of leaves its question open, and no other."""
    try:
        return reading(subject)
    except OutOfTimeError as error:
        return Outcome(unexplored=(Unexplored(name, str(error)),))
    except MemoryError:
        return Outcome(unexplored=(Unexplored(name, "the memory for it was used up"),))
    except Exception as error:  # noqa: BLE001 # the files are a stranger's: whatever it is, it is told and decides nothing
        return Outcome(unexplored=(Unexplored(name, f"reading it failed: {type(error).__name__}: {error}"),))


def _distinct(found: Iterable[_Found]) -> tuple[_Found, ...]:
    """In order, each once, by their texts: records that hold mappings cannot be hashed."""
    kept: dict[str, _Found] = {}
    for one in found:
        kept.setdefault(repr(one), one)
    return tuple(kept.values())
