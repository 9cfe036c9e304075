"""Bucket ``labels``: what every node is labelled, why, and why not; where there is no cluster, it is the target itself.

A record is the labeler's memory of one node (:class:`nodeworthy.labels.LabelMemory`), written with its origins in a table:
most labels of a node come from a few sets and rules. 242 labels take 6 kB instead of 37. No detector loads this module,
since it loads what rules are made of.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from nodeworthy.bus import payloads
from nodeworthy.bus.records import Message
from nodeworthy.bus.streams import MAX_LABELS_BYTES
from nodeworthy.errors import PayloadError
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState, RejectedKind
from nodeworthy.labels.memory import UnresolvedNote
from nodeworthy.labels.targets import NO_FACTS, FactsMark
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


class _Tables(msgspec.Struct, frozen=True, omit_defaults=True):
    """A :class:`LabelMemory` without its inputs, as it travels."""

    givers: tuple[_GiverRow, ...] = ()
    origins: tuple[_Origin, ...] = ()
    groups: tuple[_Group, ...] = ()
    notes: tuple[_NoteRow, ...] = ()
    left_out: int = 0
    others: Mapping[RejectedKind, tuple[_Group, ...]] = {}
    """The groups of annotations, extended resources and taints."""


class PackedMemory(NamedTuple):
    """A :class:`LabelMemory` as it travels, in two parts; equal memories have equal bytes."""

    tables: bytes
    """Everything but the inputs: the same for all nodes that are labelled alike."""
    inputs: bytes
    """Set to digest: they differ between nodes also where the labels do not."""


class LabelsRecord(Message, frozen=True, kw_only=True):
    """Bucket ``labels``: what one node is labelled, by which rules, from which facts."""

    node: str
    tables: msgspec.Raw
    """As in :class:`PackedMemory`; what many nodes have in common is compared and kept without being decoded."""
    inputs: msgspec.Raw
    """As in :class:`PackedMemory`."""
    node_uid: str = ""
    """Of the Node object that the facts belong to, where it is known."""
    rules_digest: str = ""
    """Of the rules and label settings that were in force when this was written; only a change of labels writes it anew."""
    facts_revision: int = 0
    facts_time: float = 0.0
    """From which facts the labels were made, as in :class:`FactsMark`."""

    @property
    def packed(self) -> PackedMemory:
        """The memory."""
        return PackedMemory(bytes(self.tables), bytes(self.inputs))

    @property
    def facts(self) -> FactsMark:
        """How far the node's facts had been read when this was written."""
        return FactsMark(self.facts_revision, self.facts_time)


def make_record(
    node: str,
    memory: LabelMemory | PackedMemory,
    *,
    node_uid: str = "",
    rules_digest: str = "",
    facts: FactsMark = NO_FACTS,
) -> LabelsRecord:
    """The record of a memory."""
    packed = memory if isinstance(memory, PackedMemory) else pack_memory(memory)
    tables, inputs = msgspec.Raw(packed.tables), msgspec.Raw(packed.inputs)
    return LabelsRecord(
        node=node,
        tables=tables,
        inputs=inputs,
        node_uid=node_uid,
        rules_digest=rules_digest,
        facts_revision=facts.revision,
        facts_time=facts.time,
    )


def pack_memory(memory: LabelMemory) -> PackedMemory:
    """The memory as a record holds it."""
    tables = msgspec.msgpack.encode(_Packing().pack(memory), order="deterministic")
    return PackedMemory(tables, pack_inputs(memory.inputs))


def pack_inputs(inputs: Mapping[str, str]) -> bytes:
    """One of the two parts of :func:`pack_memory`, which is all that differs between many nodes."""
    return msgspec.msgpack.encode(inputs, order="deterministic")


def unpack_memory(packed: PackedMemory) -> LabelMemory:
    """The memory that a record holds; the inverse of :func:`pack_memory`.

    Raises:
        PayloadError: it is no memory.
    """
    inputs = unpack_inputs(packed.inputs)
    try:
        return _unpack(msgspec.msgpack.decode(packed.tables, type=_Tables), inputs)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PayloadError(_NO_MEMORY, why=str(error)) from error
    except IndexError as error:
        raise PayloadError(_NO_MEMORY, why="it names a row that its tables lack") from error


def unpack_inputs(data: bytes) -> Mapping[str, str]:
    """The inverse of :func:`pack_inputs`.

    Raises:
        PayloadError: they are no inputs.
    """
    try:
        return msgspec.msgpack.decode(data, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PayloadError(_NO_MEMORY, why=str(error)) from error


_NO_MEMORY = "a record of labels holds no memory"


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
    return unpack_memory(decode_labels(data).packed)


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

    def pack(self, memory: LabelMemory) -> _Tables:
        groups = self._group(memory.labels)
        others = {kind: self._group(memory.others[kind]) for kind in sorted(memory.others)}
        notes = tuple(_NoteRow(self._giver(note.giver), note.outcome, note.reason) for note in memory.unresolved)
        return _Tables(
            givers=tuple(_GiverRow(giver.kind, giver.name, giver.part) for giver in self._givers),
            origins=tuple(self._origins),
            groups=groups,
            notes=notes,
            left_out=memory.left_out,
            others=others,
        )

    def _group(self, entries: Mapping[str, LabelEntry]) -> tuple[_Group, ...]:
        groups: dict[tuple[int, str], dict[str, str]] = {}
        for key in sorted(entries):
            cut = key.rfind("/") + 1
            groups.setdefault((self._origin(entries[key]), key[:cut]), {})[key[cut:]] = entries[key].value
        return tuple(_Group(origin, prefix, values) for (origin, prefix), values in groups.items())

    def _origin(self, entry: LabelEntry) -> int:
        given = tuple((self._giver(one.giver), None if one.value == entry.value else one.value) for one in entry.given)
        origin = _Origin(entry.state, given, entry.sets, entry.reason, entry.live, entry.owners)
        return self._origins.setdefault(origin, len(self._origins))

    def _giver(self, giver: Giver) -> int:
        return self._givers.setdefault(giver, len(self._givers))


def _unpack(packed: _Tables, inputs: Mapping[str, str]) -> LabelMemory:
    givers = [Giver(row.kind, row.name, row.part) for row in packed.givers]
    return LabelMemory(
        labels=_entries(packed, packed.groups, givers),
        inputs=inputs,
        unresolved=tuple(_notes(packed.notes, givers)),
        left_out=packed.left_out,
        others={kind: _entries(packed, groups, givers) for kind, groups in packed.others.items()},
    )


def _entries(packed: _Tables, groups: Iterable[_Group], givers: list[Giver]) -> Mapping[str, LabelEntry]:
    entries = {
        group.prefix + name: _entry(_row(packed.origins, group.origin), value, givers)
        for group in groups
        for name, value in group.values.items()
    }
    return dict(sorted(entries.items()))


def _entry(origin: _Origin, value: str, givers: list[Giver]) -> LabelEntry:
    given = tuple(Given(_row(givers, place), value if said is None else said) for place, said in origin.given)
    return LabelEntry(origin.state, value, given, origin.sets, origin.reason, origin.live, origin.owners)


def _notes(rows: Iterable[_NoteRow], givers: list[Giver]) -> Iterable[UnresolvedNote]:
    return (UnresolvedNote(_row(givers, row.giver), row.outcome, row.reason) for row in rows)


def _row(table: Sequence[_Row], place: int) -> _Row:
    if place < 0:  # which Python would count from the end
        raise IndexError(place)
    return table[place]
