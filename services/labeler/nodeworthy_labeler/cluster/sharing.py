"""Keeps once what many Nodes have in common, and in small what they do not.

Most Nodes of a cluster are labelled alike by us, and each has something that no other has: its host name, what drivers of
storage and networks note on it. So what is ours stands apart from the rest, of which a plan looks only at what we want too.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from nodeworthy.labels import NodeLabels, WantedLabels, wanted_of
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.node_objects import NodeObject, read_node
from nodeworthy_labeler.cluster.ownership import OwnedKeys, read_owned_keys

_KEPT = 512
"""Distinct objects of one kind that are remembered for sharing, 10 kB each; a cluster has some sixty kinds of nodes."""

_LOOKS = 64
"""Comparisons that are remembered; each holds what nodes of one kind should have, 100 kB."""

_MAX_FIELDS = 32 * 1024
"""Bytes of an entry of managedFields that is remembered; 500 labels of ours have that."""

_NOTHING = NodeLabels({})

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class ForeignKey(NamedTuple):
    """Something on a Node that is not ours."""

    kind: RejectedKind
    key: str
    owners: tuple[str, ...]


class Foreign(NamedTuple):
    """All that is on a Node and not ours; equal where nothing of it differs."""

    keys: tuple[ForeignKey, ...]
    """One object for all Nodes that have the same."""
    values: bytes
    """MessagePack of the value of each key, in their order."""

    def read(self) -> Iterator[tuple[ForeignKey, str]]:
        """Each with its value."""
        return zip(self.keys, msgspec.msgpack.decode(self.values, type=list[str]), strict=True)

    def differing(self, other: "Foreign") -> set[str]:
        """The keys of what is on one of two Nodes only, or with another value or owner."""
        return {one.key for one, _ in set(self.read()) ^ set(other.read())}


class Split(NamedTuple):
    """What a Node has, in two parts."""

    ours: NodeLabels
    """What is ours, also if others own it too; one object for all Nodes that have the same."""
    foreign: Foreign


class Look(NamedTuple):
    """What a plan needs of what a Node has."""

    labels: NodeLabels
    """One object for all Nodes that have the same of it."""
    names: frozenset[str]
    """The keys that were looked for, of whichever kind; one object for all Nodes that should have the same ones."""


class _Comparison(NamedTuple):
    """Which of others' keys are wanted."""

    wanted: WantedLabels
    keys: tuple[ForeignKey, ...]
    wanted_keys: frozenset[ForeignKey]
    names: frozenset[str]


class SharedLabels:
    """Gives one object for equal labels; then also what is computed from them is recognised as the same."""

    def __init__(self) -> None:
        self._labels: OrderedDict[bytes, NodeLabels] = OrderedDict()
        self._foreign_keys: OrderedDict[tuple[ForeignKey, ...], tuple[ForeignKey, ...]] = OrderedDict()
        self._looks: OrderedDict[tuple[int, int], _Comparison] = OrderedDict()
        """By ``id`` of the labels that are wanted and of the keys, which are held so that the numbers mean nothing else."""
        self._names: OrderedDict[frozenset[str], frozenset[str]] = OrderedDict()
        self._owned: OrderedDict[bytes, OwnedKeys] = OrderedDict()

    def read(self, data: bytes) -> NodeObject:
        """As :func:`read_node`; the entries of managedFields, which many Nodes have in common, are read once."""
        return read_node(data, self._read_owned_keys)

    def split(self, labels: NodeLabels) -> Split:
        """These labels in two parts, of which as much is shared as can be."""
        kinds = {RejectedKind.LABEL: labels, **labels.others}
        others = {kind: _ours(one) for kind, one in labels.others.items() if one.owned}
        ours = msgspec.structs.replace(_ours(labels), others=others)
        foreign = {
            ForeignKey(kind, key, one.owners.get(key, ())): value
            for kind, one in kinds.items()
            for key, value in one.live.items()
            if key not in one.owned
        }
        keys = tuple(foreign)
        values = msgspec.msgpack.encode([foreign[key] for key in keys])
        return Split(self._share_labels(ours), Foreign(share(self._foreign_keys, keys, keys), values))

    def look(self, split: Split, wanted: WantedLabels) -> Look:
        """What a Node has, as far as it is ours or has a key that is wanted: nothing else decides anything."""
        key = (id(wanted.labels), id(split.foreign.keys))
        found = share(self._looks, key, self._looks.get(key) or self._compare(split.foreign.keys, wanted), most=_LOOKS)
        if not found.wanted_keys:
            return Look(split.ours, found.names)
        foreign = [(one, value) for one, value in split.foreign.read() if one in found.wanted_keys]
        return Look(self._share_labels(_add(split.ours, foreign)), found.names)

    def _compare(self, keys: tuple[ForeignKey, ...], wanted: WantedLabels) -> _Comparison:
        by_kind = {kind: wanted_of(kind, wanted) for kind in RejectedKind}
        names = frozenset(key for found in by_kind.values() for key in found)
        wanted_keys = frozenset(one for one in keys if one.key in by_kind[one.kind])
        return _Comparison(wanted, keys, wanted_keys, share(self._names, names, names))

    def _read_owned_keys(self, data: bytes) -> OwnedKeys:
        found = self._owned.get(data)
        if found is None:
            found = read_owned_keys(data)
            if len(data) > _MAX_FIELDS:
                return found
        return share(self._owned, data, found)

    def _share_labels(self, labels: NodeLabels) -> NodeLabels:
        return share(self._labels, msgspec.msgpack.encode(labels, order="deterministic"), labels)


def join_all(split: Split) -> NodeLabels:
    """What a Node has, in one part again."""
    return _add(split.ours, split.foreign.read())


def _ours(labels: NodeLabels) -> NodeLabels:
    live = {key: value for key, value in labels.live.items() if key in labels.owned}
    owners = {key: found for key, found in labels.owners.items() if key in labels.owned}
    return NodeLabels(live, labels.owned, owners)


def _add(ours: NodeLabels, foreign: Iterable[tuple[ForeignKey, str]]) -> NodeLabels:
    by_kind: dict[RejectedKind, dict[ForeignKey, str]] = {}
    for one, value in foreign:
        by_kind.setdefault(one.kind, {})[one] = value
    others = {
        kind: _add_kind(ours.others.get(kind, _NOTHING), by_kind.get(kind, {}))
        for kind in {**ours.others, **by_kind}
        if kind is not RejectedKind.LABEL
    }
    labels = _add_kind(ours, by_kind.get(RejectedKind.LABEL, {}))
    return msgspec.structs.replace(labels, others=others)


def _add_kind(ours: NodeLabels, foreign: Mapping[ForeignKey, str]) -> NodeLabels:
    live = {**ours.live, **{one.key: value for one, value in foreign.items()}}
    owners = {**ours.owners, **{one.key: one.owners for one in foreign if one.owners}}
    return NodeLabels(live, ours.owned, owners)


def share(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value, *, most: int = _KEPT) -> _Value:
    """What is kept under a key, or else this value from now on; what was not asked for the longest goes first."""
    found = kept.setdefault(key, value)
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
    return found
