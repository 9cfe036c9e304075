"""Bucket ``labels``: what every node is labelled, why, and why not; where there is no cluster, it is the target itself.

A record is the labeler's memory of one node (:class:`nodeworthy.labels.LabelMemory`), written with its origins in a table:
most labels of a node come from a few sets and rules. 242 labels take 6 kB instead of 37. No detector loads this module,
since it loads what rules are made of.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.records import Message
from nodeworthy.bus.streams import MAX_LABELS_BYTES
from nodeworthy.errors import PayloadError
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState
from nodeworthy.labels.memory import UnresolvedNote
from nodeworthy.rules import Outcome

_Row = TypeVar("_Row")


class _GiverRow(msgspec.Struct, frozen=True, array_like=True):
    kind: GiverKind
    name: str
    part: str


_GivenRow: TypeAlias = tuple[int, str | None]
"""The giver's place in the table, and its value; ``None``: the label's own."""


class _Origin(msgspec.Struct, frozen=True, array_like=True):
    """All of a label but its key and value, which many labels have in common."""

    state: LabelState
    given: tuple[_GivenRow, ...]
    sets: tuple[str, ...]
    reason: str
    live: str
    owners: tuple[str, ...]


class _Group(msgspec.Struct, frozen=True, array_like=True):
    """Labels of one origin whose keys begin alike."""

    origin: int
    prefix: str
    """Up to and with the slash; empty where a key has none."""
    values: Mapping[str, str]
    """The rest of the key to the value."""


class _NoteRow(msgspec.Struct, frozen=True, array_like=True):
    giver: int
    outcome: Outcome
    reason: str


class PackedMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """A :class:`LabelMemory` as it travels; equal memories have equal bytes."""

    givers: tuple[_GiverRow, ...] = ()
    origins: tuple[_Origin, ...] = ()
    groups: tuple[_Group, ...] = ()
    inputs: Mapping[str, str] = {}
    notes: tuple[_NoteRow, ...] = ()
    left_out: int = 0


class LabelsRecord(Message, frozen=True, kw_only=True):
    """Bucket ``labels``: what one node is labelled, by which rules, from which facts."""

    node: str
    memory: msgspec.Raw
    """A :class:`PackedMemory`; what many nodes have in common is compared and kept without being decoded."""
    node_uid: str = ""
    """Of the Node object that the facts belong to, where it is known."""
    rules_digest: str = ""
    """Of the rules and label settings that were in force when this was written; only a change of labels writes it anew."""


def make_record(node: str, memory: LabelMemory, *, node_uid: str = "", rules_digest: str = "") -> LabelsRecord:
    """The record of a memory."""
    return LabelsRecord(
        node=node, memory=msgspec.Raw(pack_memory(memory)), node_uid=node_uid, rules_digest=rules_digest
    )


def pack_memory(memory: LabelMemory) -> bytes:
    """The memory as a record holds it."""
    return msgspec.msgpack.encode(_Packing().pack(memory), order="deterministic")


def unpack_memory(data: bytes | memoryview) -> LabelMemory:
    """The memory that a record holds; the inverse of :func:`pack_memory`.

    Raises:
        PayloadError: it is no memory.
    """
    try:
        return _unpack(msgspec.msgpack.decode(data, type=PackedMemory))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PayloadError("a record of labels holds no memory", why=str(error)) from error
    except IndexError as error:
        raise PayloadError("a record of labels holds no memory", why="it names a row that its tables lack") from error


def decode_labels(data: bytes) -> LabelsRecord:
    """The record of a body; its memory is not looked into.

    Raises:
        PayloadVersionError: a newer program wrote it.
        PayloadError: it is too large, or no record.
    """
    if payloads.format_of(data) is payloads.Format.JSON:
        raise PayloadError("a record of labels was not read", why="it is JSON, which nobody of ours writes")
    return payloads.decode(data, LabelsRecord, limit=MAX_LABELS_BYTES)


def read_memory(data: bytes) -> LabelMemory:
    """What a body of bucket ``labels`` remembers; raises what :func:`decode_labels` and :func:`unpack_memory` raise."""
    return unpack_memory(memoryview(decode_labels(data).memory))


def read_live_labels(data: bytes) -> dict[str, str]:
    """The labels that a node has, by what its body in bucket ``labels`` says; those that are only wanted are not among them.

    Raises what :func:`read_memory` raises.
    """
    return {key: live for key, entry in read_memory(data).labels.items() if (live := _live(entry)) is not None}


def _live(entry: LabelEntry) -> str | None:
    if entry.state is LabelState.CONFLICT:
        return entry.live
    return None if entry.state in (LabelState.REJECTED, LabelState.UNKNOWN) else entry.value


class _Packing:
    """Puts equal origins and givers into tables."""

    def __init__(self) -> None:
        self._givers: dict[Giver, int] = {}
        self._origins: dict[_Origin, int] = {}
        self._groups: dict[tuple[int, str], dict[str, str]] = {}

    def pack(self, memory: LabelMemory) -> PackedMemory:
        for key in sorted(memory.labels):
            self._add(key, memory.labels[key])
        notes = tuple(_NoteRow(self._giver(note.giver), note.outcome, note.reason) for note in memory.unresolved)
        return PackedMemory(
            givers=tuple(_GiverRow(giver.kind, giver.name, giver.part) for giver in self._givers),
            origins=tuple(self._origins),
            groups=tuple(_Group(origin, prefix, values) for (origin, prefix), values in self._groups.items()),
            inputs=memory.inputs,
            notes=notes,
            left_out=memory.left_out,
        )

    def _add(self, key: str, entry: LabelEntry) -> None:
        given = tuple((self._giver(one.giver), None if one.value == entry.value else one.value) for one in entry.given)
        origin = _Origin(entry.state, given, entry.sets, entry.reason, entry.live, entry.owners)
        number = self._origins.setdefault(origin, len(self._origins))
        cut = key.rfind("/") + 1
        self._groups.setdefault((number, key[:cut]), {})[key[cut:]] = entry.value

    def _giver(self, giver: Giver) -> int:
        return self._givers.setdefault(giver, len(self._givers))


def _unpack(packed: PackedMemory) -> LabelMemory:
    givers = [Giver(row.kind, row.name, row.part) for row in packed.givers]
    labels = {
        group.prefix + name: _entry(_row(packed.origins, group.origin), value, givers)
        for group in packed.groups
        for name, value in group.values.items()
    }
    return LabelMemory(
        labels=dict(sorted(labels.items())),
        inputs=packed.inputs,
        unresolved=tuple(_notes(packed.notes, givers)),
        left_out=packed.left_out,
    )


def _entry(origin: _Origin, value: str, givers: list[Giver]) -> LabelEntry:
    given = tuple(Given(_row(givers, place), value if said is None else said) for place, said in origin.given)
    return LabelEntry(origin.state, value, given, origin.sets, origin.reason, origin.live, origin.owners)


def _notes(rows: Iterable[_NoteRow], givers: list[Giver]) -> Iterable[UnresolvedNote]:
    return (UnresolvedNote(_row(givers, row.giver), row.outcome, row.reason) for row in rows)


def _row(table: Sequence[_Row], place: int) -> _Row:
    if place < 0:  # which Python would count from the end
        raise IndexError(place)
    return table[place]
