"""One pass over the sources: everything that can be said of a machine, with what could not be found out."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from nodeworthy.errors import EncodingError, UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth, clean_text, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES, Reading, Source
from nodeworthy_detector.sources.reading import Answer, describe, unknown


class SourceAnswer(msgspec.Struct, frozen=True):
    """What one source says of each of its sets, and how it fared."""

    sets: Mapping[str, Answer]
    health: SourceHealth | None = None
    """``None``: the source was not asked."""
    expires_in: float | None = None
    """As :attr:`Reading.expires_in`."""


def discover(host: Host, sources: Sequence[Source] = SOURCES, *, only: Collection[str] | None = None) -> Snapshot:
    """Ask the sources of a host, all of them or ``only`` those with these names.

    The catalogue always holds the sets of all ``sources``: a set whose source was not asked for is unknown, not absent. A
    source that fails makes its own sets unknown and is named in the snapshot's health.

    Raises:
        UsageError: ``only`` names a source that does not exist.
    """
    check_names(sources, only or ())
    return assemble(
        (source.name, ask(source, host) if only is None or source.name in only else not_asked(source))
        for source in sources
    )


def check_names(sources: Sequence[Source], names: Iterable[str]) -> None:
    """Make sure that every name is a source's.

    Raises:
        UsageError: one is not.
    """
    known = [source.name for source in sources]
    strange = sorted(set(names) - set(known))
    if strange:
        raise UsageError(
            f"there is no source {', '.join(clean_text(name) for name in strange)}",
            why=f"the sources are {', '.join(known)}",
        )


def ask(source: Source, host: Host, before: SourceAnswer | None = None) -> SourceAnswer:
    """Ask one source; whatever happens inside it stays there. What it said ``before`` need not be checked again."""
    try:
        reading = source.read(host)
    except Exception as error:  # noqa: BLE001 # whatever happens inside one source stays there
        return failed(source, f"source {source.name} failed: {describe(error)}", describe(error))
    sets = {name: _checked(reading, name, before.sets.get(name) if before else None) for name in source.sets}
    health = SourceHealth(error=clean_text(reading.error) or _why_blind(sets), faults=reading.faults)
    return SourceAnswer(sets, health, reading.expires_in)


def failed(source: Source, reason: str, error: str) -> SourceAnswer:
    """The answer of a source that gave none: its sets are unknown for a ``reason``, and its health has the ``error``."""
    return SourceAnswer(dict.fromkeys(source.sets, unknown(reason)), SourceHealth(error=clean_text(error)))


def disabled(source: Source) -> SourceAnswer:
    """The answer in the name of a source that the configuration switches off: absent would be a fact, and it is none."""
    reason = f"source {source.name} is switched off in the configuration of this node's detector"
    return SourceAnswer(dict.fromkeys(source.sets, unknown(reason)), SourceHealth(disabled=True))


def not_asked(source: Source) -> SourceAnswer:
    """The answer in the name of a source that was not asked."""
    return SourceAnswer(dict.fromkeys(source.sets, unknown(f"source {source.name} was not asked for")))


def assemble(answers: Iterable[tuple[str, SourceAnswer]]) -> Snapshot:
    """The snapshot of all sources' answers, each with its source's name."""
    sets: dict[str, Answer] = {}
    health: dict[str, SourceHealth] = {}
    for name, answer in answers:
        sets |= answer.sets
        if answer.health is not None:
            health[name] = answer.health
    return Snapshot(
        contents={name: answer for name, answer in sets.items() if isinstance(answer, FeatureSet)},
        statuses={name: answer for name, answer in sets.items() if isinstance(answer, SetStatus)},
        catalogue=frozenset(sets),
        sources=health,
    )


_FROM_SETTINGS = frozenset({"system.name"})
"""Sets that are known although nothing of the machine can be read."""


def _why_blind(sets: Mapping[str, Answer]) -> str:
    """Why a source found out nothing at all, as when a mount was taken away; empty if it found out something."""
    answers = [answer for name, answer in sets.items() if name not in _FROM_SETTINGS]
    reasons = [
        answer.reason for answer in answers if isinstance(answer, SetStatus) and answer.state is SetState.UNKNOWN
    ]
    return f"nothing could be found out: {reasons[0]}" if reasons and len(reasons) == len(answers) else ""


def _checked(reading: Reading, name: str, before: Answer | None) -> Answer:
    """What the source says of one set, if it can be published."""
    answer = reading.sets.get(name)
    if answer is not None and answer == before:
        return before
    if answer is None:
        return unknown("its source did not answer for it")
    if isinstance(answer, FeatureSet):
        try:
            encode(answer)
        except EncodingError as error:
            return unknown(str(error))
    return answer
