"""What is remembered of nodes, kept small: packed, and once for all nodes of which the same is remembered."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec

from nodeworthy.bus.labels import PackedMemory, pack_inputs, pack_memory, unpack_inputs, unpack_memory
from nodeworthy.labels import LabelMemory, LabelState, NodeLabels, labels_of_memory

_UNPACKED = 256
"""Memories that are kept unpacked, 100 kB each, as long as a node has them: a fleet has some sixty kinds of nodes."""

_PACKED = 64
"""Memories whose bytes are known without packing them; only the nodes in work have new ones."""

_NO_INPUTS = pack_inputs({})


class Shared:
    """Bytes that stand once for all that hold them: equal ones are one object, so that it is compared as such."""

    __slots__ = ("__weakref__", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data


class Packed(NamedTuple):
    """One memory: its tables, which many nodes have in common, and its inputs, which they do not."""

    tables: Shared
    inputs: Shared


class Unpacked(NamedTuple):
    """One memory, and the labels that a node has by it where there is no cluster."""

    memory: LabelMemory
    labels: NodeLabels


class Memories:
    """Packs and unpacks; memories with the same tables share what these hold, also unpacked."""

    def __init__(self) -> None:
        self._shared: WeakValueDictionary[bytes, Shared] = WeakValueDictionary()
        self._unpacked: WeakKeyDictionary[Shared, Unpacked] = WeakKeyDictionary()
        """Without inputs; the oldest comes first."""
        self._tables: OrderedDict[int, tuple[LabelMemory, Shared]] = OrderedDict()
        """By ``id`` of the labels of a memory, which is held so that the number means nothing else."""

    def intern(self, packed: PackedMemory) -> Packed:
        """The object of these bytes.

        Raises:
            PayloadError: they are no memory.
        """
        found = Packed(self._share(packed.tables), self._share(packed.inputs))
        self.unpack(found)
        return found

    def pack(self, memory: LabelMemory) -> Packed:
        """The object of this memory. Memories with one and the same object of labels differ in nothing but inputs."""
        known = self._tables.get(id(memory.labels))
        if known is None:
            known = (memory, self._share(pack_memory(memory).tables))
            self._tables[id(memory.labels)] = known
            if len(self._tables) > _PACKED:
                self._tables.popitem(last=False)
        return Packed(known[1], self._share(pack_inputs(memory.inputs)))

    def unpack(self, packed: Packed) -> Unpacked:
        """The memory of an object."""
        found = self._unpack_tables(packed.tables)
        memory = msgspec.structs.replace(found.memory, inputs=unpack_inputs(packed.inputs.data))
        return Unpacked(memory, found.labels)

    def count_states(self, tables: Shared) -> Mapping[LabelState, int]:
        """How many labels are in each state."""
        return Counter(entry.state for entry in self._unpack_tables(tables).memory.labels.values())

    def _unpack_tables(self, tables: Shared) -> Unpacked:
        found = self._unpacked.get(tables)
        if found is None:
            memory = unpack_memory(PackedMemory(tables.data, _NO_INPUTS))
            found = Unpacked(memory, labels_of_memory(memory))
            if len(self._unpacked) >= _UNPACKED:
                del self._unpacked[next(self._unpacked.keys())]
            self._unpacked[tables] = found
        return found

    def _share(self, data: bytes) -> Shared:
        found = self._shared.get(data)
        if found is None:
            found = self._shared[data] = Shared(data)
        return found
