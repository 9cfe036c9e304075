"""That what was taken over was NFD's, noted in bucket ``labels`` where a labeler finds it.

Without the note nobody would know who gave a key that no rule gives now, and it would be kept for ever.
"""

from collections.abc import Mapping

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import LabelsRecord, decode_labels, make_record, unpack_memory
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store, Stored
from nodeworthy.errors import BusConflictError, BusNobodyError
from nodeworthy.labels import LabelMemory, RejectedKind
from nodeworthy_cli.labels.selecting import TRIES
from nodeworthy_labeler.cluster.adopting import remember_adopted


async def note_former_giver(store: Store, node: str, uid: str, keys: Mapping[RejectedKind, Mapping[str, str]]) -> None:
    """Note that NFD gave these keys, with their values, to the Node of this name and uid, if that is not noted yet.

    Raises:
        PayloadError: the record of the Node cannot be read, or a newer program wrote it.
        BusNobodyError: no labeler has made the streams yet.
        BusConflictError: somebody else has written it in between again and again.
        BusError: not known whether it is noted.
    """
    for attempt in range(1, TRIES + 1):
        stored = await _read(store, node)
        before = decode_labels(stored.data) if stored is not None and not stored.is_removal else None
        known = unpack_memory(before.packed) if before is not None else None
        memory = remember_adopted(known, keys)
        if memory == known:
            return
        body = payloads.encode(_record(node, uid, before, memory))
        try:
            await store.put(
                Bucket.LABELS, labels_key(node), body, expected=stored.revision if stored is not None else 0
            )
        except BusConflictError:
            if attempt == TRIES:
                raise
        else:
            return


async def _read(store: Store, node: str) -> Stored | None:
    try:
        return await store.get(Bucket.LABELS, labels_key(node))
    except BusNobodyError as error:
        todo = "start a labeler, which makes them, or leave out --server: what no rule gives is then kept for ever"
        raise BusNobodyError("it cannot be noted what was NFD's", why="the bus has no streams", todo=todo) from error


def _record(node: str, uid: str, before: LabelsRecord | None, memory: LabelMemory) -> LabelsRecord:
    """The record with another memory; it tells the facts that the labels were made from, which are the same."""
    if before is None:
        return make_record(node, memory, node_uid=uid)
    return make_record(node, memory, node_uid=before.node_uid, rules_digest=before.rules_digest, facts=before.facts)
