"""Bucket ``labels`` as the place where labels end up: the target where there is no cluster.

Every write names the revision that it replaces. So of two labelers that serve one node at a time one is refused, reads what
the other wrote and plans again.
"""

from collections.abc import Callable
from typing import NamedTuple

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import PackedMemory, make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusConflictError, PayloadVersionError
from nodeworthy.labels import FactsMark, Plan, TargetState, WantedLabels, labels_of_memory
from nodeworthy_labeler.memories import Packed
from nodeworthy_labeler.records import Records

_NO_LABELS = labels_of_memory(None)


class Stamp(NamedTuple):
    """What a record tells beside its memory."""

    node_uid: str = ""
    rules_digest: str = ""


class BucketTarget:
    """A ``nodeworthy.labels.LabelTarget``: reads from what the watch has told, and asks the bus only to write."""

    def __init__(self, store: Store, records: Records, stamp: Callable[[str], Stamp]) -> None:
        self._store = store
        self._records = records
        self._stamp = stamp
        self.written = 0
        """Records that were written."""
        self.refused = 0
        """Writes that somebody else was before."""

    async def read(self, node: str, wanted: WantedLabels) -> TargetState:  # noqa: ARG002 # nobody else labels here
        """The labels of a node, and what is remembered of them.

        Raises:
            PayloadVersionError: a newer program wrote the record; it is not to be touched.
        """
        record = self._records.get(node)
        if record.newer:
            raise PayloadVersionError(f"the labels of node {node} are kept by a newer labeler", why=record.newer)
        token = str(record.revision)
        if record.packed is None:
            return TargetState(_NO_LABELS, None, token, record.facts)
        known = self._records.memories.unpack(record.packed)
        return TargetState(known.labels, known.memory, token, record.facts)

    async def carry_out(self, node: str, state: TargetState, plan: Plan, facts: FactsMark) -> bool:
        """Write the memory, which is the labels too, if it is new or the bucket lost it.

        Raises:
            BusError: not known whether it was written.
        """
        record = self._records.get(node)
        if record.is_stored and not plan.is_memory_new:
            return True
        return await self._write(node, self._records.memories.pack(plan.memory), int(state.token), facts)

    async def restore(self, node: str) -> bool:
        """Put a lost record of a node of which nobody speaks as it was; raises what :meth:`carry_out` raises."""
        record = self._records.get(node)
        if record.is_stored or record.packed is None:
            return True
        return await self._write(node, record.packed, record.revision, record.facts)

    async def forget(self, node: str) -> bool:
        """Remove the record of a node that is gone; raises what :meth:`carry_out` raises."""
        record = self._records.get(node)
        if record.newer:
            return True
        if record.is_stored:
            try:
                await self._store.remove(Bucket.LABELS, labels_key(node), expected=record.revision)
            except BusConflictError:
                await self._look_again(node)
                return False
            self.written += 1
        self._records.forget(node)
        return True

    async def _write(self, node: str, packed: Packed, expected: int, facts: FactsMark) -> bool:
        memory = PackedMemory(packed.tables.data, packed.inputs.data)
        record = make_record(node, memory, **self._stamp(node)._asdict(), facts=facts)
        try:
            revision = await self._store.put(
                Bucket.LABELS, labels_key(node), payloads.encode(record), expected=expected
            )
        except BusConflictError:
            await self._look_again(node)
            return False
        self.written += 1
        self._records.note_written(node, packed, revision, facts)
        return True

    async def _look_again(self, node: str) -> None:
        self.refused += 1
        stored = await self._store.get(Bucket.LABELS, labels_key(node))
        if stored is None or stored.is_removal:
            self._records.note_missing(node, stored.revision if stored else 0)
        else:
            self._records.learn(node, stored.data, stored.revision)
