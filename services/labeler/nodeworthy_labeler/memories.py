"""What is remembered of nodes, kept small: packed, and once for all nodes of which the same is remembered."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

from nodeworthy.bus.labels import pack_memory, unpack_memory
from nodeworthy.labels import LabelMemory, LabelState, NodeLabels, labels_of_memory

_UNPACKED = 256
"""Memories that are kept unpacked, 100 kB each: a fleet has some sixty kinds of nodes."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Packed:
    """The bytes of one memory."""

    __slots__ = ("__weakref__", "counts", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.counts: Mapping[LabelState, int] = {}
        """How many of its labels are in each state."""


class Unpacked(NamedTuple):
    """One memory, and the labels that a node has by it where there is no cluster."""

    memory: LabelMemory
    labels: NodeLabels


class Memories:
    """Packs and unpacks; equal memories are one object as long as somebody holds it."""

    def __init__(self) -> None:
        self._packed: WeakValueDictionary[bytes, Packed] = WeakValueDictionary()
        self._unpacked: OrderedDict[Packed, Unpacked] = OrderedDict()
        self._by_memory: OrderedDict[int, tuple[LabelMemory, Packed]] = OrderedDict()
        """By ``id`` of a memory, which is held so that the number means nothing else."""

    def intern(self, data: bytes) -> Packed:
        """The object of these bytes.

        Raises:
            PayloadError: they are no memory.
        """
        packed = self._packed.get(data)
        if packed is None:
            packed = Packed(data)
            packed.counts = Counter(entry.state for entry in self.unpack(packed).memory.labels.values())
            self._packed[data] = packed
        return packed

    def pack(self, memory: LabelMemory) -> Packed:
        """The object of this memory."""
        known = self._by_memory.get(id(memory))
        if known is None:
            known = (memory, self.intern(pack_memory(memory)))
            _keep(self._by_memory, id(memory), known)
        return known[1]

    def unpack(self, packed: Packed) -> Unpacked:
        """The memory of an object."""
        found = self._unpacked.get(packed)
        if found is None:
            memory = unpack_memory(packed.data)
            found = Unpacked(memory, labels_of_memory(memory))
            _keep(self._unpacked, packed, found)
        self._unpacked.move_to_end(packed)
        return found


def _keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    while len(kept) > _UNPACKED:
        kept.popitem(last=False)
