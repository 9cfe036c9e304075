"""From what a producer found out to what it says on the bus; pure, so that it can be looked at without one."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.bus.keys import Producer
from nodeworthy.bus.placement import choose_inline
from nodeworthy.bus.records import EventMessage, Session, SetEntry, SnapshotMessage
from nodeworthy.features import (
    FeatureSet,
    Lookup,
    SetState,
    Snapshot,
    SourceHealth,
    clean_text,
    diff_sets,
    digest,
    encode,
)

MAX_REASON = 500
"""Letters of one reason; an error text of the kernel has 100."""

MAX_FAULTS = 20
"""Faults of one source that travel; the rest are counted. The node's log has all."""


class Identity(NamedTuple):
    """Who publishes."""

    node: str
    producer: Producer
    session: Session
    node_uid: str = ""


class Composed(NamedTuple):
    """A snapshot message, and what must be in bucket ``sets`` before it is sent."""

    message: SnapshotMessage
    shared: Mapping[str, bytes]
    """Digest to canonical bytes."""


def compose(
    snapshot: Snapshot,
    identity: Identity,
    *,
    sequence: int,
    before: SnapshotMessage | None = None,
    expires: int | None = None,
    rescans: tuple[str, ...] = (),
) -> Composed:
    """The message of a snapshot.

    Args:
        snapshot: what was found out.
        identity: by whom.
        sequence: the message's number in its session.
        before: the message before it, for the digests of sets that are not present now.
        expires: when the producer itself says that this no longer holds.
        rescans: requests that this answers.

    Raises:
        EncodingError: a set is too large; the detector makes such a set unknown before it comes here.
    """
    old = before.sets if before else {}
    encoded = {name: encode(content) for name, content in snapshot.contents.items()}
    inline = choose_inline({name: len(data) for name, data in encoded.items()})
    entries = {
        name: _entry(snapshot.lookup(name), encoded.get(name), name in inline, last_digest(old.get(name)))
        for name in snapshot.names()
    }
    message = SnapshotMessage(
        node=identity.node,
        producer=str(identity.producer),
        session=identity.session,
        sequence=sequence,
        sets=entries,
        catalogue=None if snapshot.catalogue is None else tuple(sorted(snapshot.catalogue)),
        node_uid=identity.node_uid,
        sources={name: _clip_health(health) for name, health in sorted(snapshot.sources.items())},
        expires=expires,
        rescans=rescans,
    )
    return Composed(message, {digest(data): data for name, data in encoded.items() if name not in inline})


def _entry(found: Lookup, data: bytes | None, is_inline: bool, last: str) -> SetEntry:
    if data is not None:
        return SetEntry(found.state, content=data) if is_inline else SetEntry(found.state, digest=digest(data))
    return SetEntry(found.state, reason=_clip(found.reason), last_digest=last)


def hold(new: Snapshot, old: Snapshot, names: Collection[str]) -> Snapshot:
    """The new snapshot, in which some sets are as the old one has them."""
    contents = {name: content for name, content in new.contents.items() if name not in names}
    statuses = {name: status for name, status in new.statuses.items() if name not in names}
    return msgspec.structs.replace(
        new,
        contents=contents | {name: old.contents[name] for name in names if name in old.contents},
        statuses=statuses | {name: old.statuses[name] for name in names if name in old.statuses},
    )


def entry_digest(entry: SetEntry | None) -> str:
    """The digest of what a set holds; empty where it holds nothing."""
    if entry is None or entry.content is None:
        return entry.digest if entry else ""
    return digest(entry.content)


def last_digest(entry: SetEntry | None) -> str:
    """The digest of what a set holds or, where it is not present now, held last."""
    return entry_digest(entry) or (entry.last_digest if entry else "")


def is_same(one: SnapshotMessage, other: SnapshotMessage) -> bool:
    """Whether two messages say the same; session, sequence and answered requests are no facts."""
    return _facts(one) == _facts(other)


def _facts(message: SnapshotMessage) -> tuple[object, ...]:
    return (dict(message.sets), message.catalogue, message.node_uid, dict(message.sources), message.expires)


def list_events(
    before: SnapshotMessage,
    after: SnapshotMessage,
    contents: Mapping[str, tuple[FeatureSet | None, FeatureSet | None]] | None,
) -> list[EventMessage]:
    """The events that lead from one snapshot to the next, by set name.

    Args:
        before: the older message.
        after: the newer message.
        contents: the old and new content of each set; ``None``: not known, and the events carry digests only.
    """
    names = sorted({*before.sets, *after.sets})
    return [
        _event(name, before.sets.get(name), after, contents.get(name) if contents is not None else None)
        for name in names
        if _key(before.sets.get(name)) != _key(after.sets.get(name))
    ]


def _key(entry: SetEntry | None) -> tuple[SetState | None, str]:
    return (entry.state if entry else None, entry_digest(entry))


def _event(
    name: str,
    old: SetEntry | None,
    after: SnapshotMessage,
    contents: tuple[FeatureSet | None, FeatureSet | None] | None,
) -> EventMessage:
    new = after.sets.get(name)
    return EventMessage(
        node=after.node,
        producer=after.producer,
        set=name,
        session=after.session,
        sequence=after.sequence,
        old_state=old.state if old else None,
        new_state=new.state if new else None,
        old_digest=entry_digest(old),
        new_digest=entry_digest(new),
        change=diff_sets(*contents) if contents is not None else None,
        reason=new.reason if new else "",
    )


def _clip(text: str) -> str:
    text = clean_text(text)
    return text if len(text) <= MAX_REASON else text[: MAX_REASON - 1] + "…"


def _clip_health(health: SourceHealth) -> SourceHealth:
    more = len(health.faults) - MAX_FAULTS
    faults = tuple(map(_clip, health.faults[:MAX_FAULTS]))
    return SourceHealth(
        error=_clip(health.error),
        faults=(*faults, f"and {more} more") if more > 0 else faults,
        disabled=health.disabled,
        polled=_clip(health.polled),
    )
