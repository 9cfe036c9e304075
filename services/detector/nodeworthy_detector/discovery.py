"""One pass over the sources: everything that can be said of a machine, with what could not be found out."""

from collections.abc import Collection, Sequence

from nodeworthy.errors import EncodingError, UsageError
from nodeworthy.features import FeatureSet, SetStatus, Snapshot, SourceHealth, clean_text, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES, Reading, Source
from nodeworthy_detector.sources.reading import Answer, describe, unknown


def discover(host: Host, sources: Sequence[Source] = SOURCES, *, only: Collection[str] | None = None) -> Snapshot:
    """Ask the sources of a host, all of them or ``only`` those with these names.

    The catalogue always holds the sets of all ``sources``: a set whose source was not asked for is unknown, not absent. A
    source that fails makes its own sets unknown and is named in the snapshot's health.

    Raises:
        UsageError: ``only`` names a source that does not exist.
    """
    _check_names(sources, only)
    answers: dict[str, Answer] = {}
    health: dict[str, SourceHealth] = {}
    for source in sources:
        if only is None or source.name in only:
            found, health[source.name] = _ask(source, host)
            answers |= found
        else:
            answers |= dict.fromkeys(source.sets, unknown(f"source {source.name} was not asked for"))
    return Snapshot(
        contents={name: answer for name, answer in answers.items() if isinstance(answer, FeatureSet)},
        statuses={name: answer for name, answer in answers.items() if isinstance(answer, SetStatus)},
        catalogue=frozenset(answers),
        sources=health,
    )


def _check_names(sources: Sequence[Source], only: Collection[str] | None) -> None:
    known = [source.name for source in sources]
    strange = sorted(set(only or ()) - set(known))
    if strange:
        raise UsageError(
            f"there is no source {', '.join(clean_text(name) for name in strange)}",
            why=f"the sources are {', '.join(known)}",
        )


def _ask(source: Source, host: Host) -> tuple[dict[str, Answer], SourceHealth]:
    try:
        reading = source.read(host)
    except Exception as error:  # noqa: BLE001 # whatever happens inside one source stays there
        why = describe(error)
        return dict.fromkeys(source.sets, unknown(f"source {source.name} failed: {why}")), SourceHealth(error=why)
    answers = {name: _checked(reading, name) for name in source.sets}
    return answers, SourceHealth(faults=reading.faults)


def _checked(reading: Reading, name: str) -> Answer:
    """What the source says of one set, if it can be published."""
    answer = reading.sets.get(name)
    if answer is None:
        return unknown("its source did not answer for it")
    if isinstance(answer, FeatureSet):
        try:
            encode(answer)
        except EncodingError as error:
            return unknown(str(error))
    return answer
