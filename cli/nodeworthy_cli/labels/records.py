"""What the labelers remember of nodes, read from bucket ``labels``."""

from collections.abc import Iterable

import msgspec

from nodeworthy.bus.keys import labels_key, parse_labels_key
from nodeworthy.bus.labels import read_memory
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import PayloadError, UsageError
from nodeworthy.labels import LabelMemory
from nodeworthy_cli.node_summaries import read_keys


class NodeLabels(msgspec.Struct, frozen=True, omit_defaults=True):
    """The labels of one node; ``problem`` where what is stored cannot be read."""

    node: str
    memory: LabelMemory | None = None
    problem: str = ""


async def read_labels(store: Store, names: Iterable[str]) -> list[NodeLabels]:
    """What bucket ``labels`` says of every node by name, or of some.

    Raises:
        UsageError: a name is none.
        BusError: the bus could not be read.
    """
    found = []
    for pattern in [labels_key(name) for name in names] or [">"]:
        async for key, stored in read_keys(store, Bucket.LABELS, pattern):
            try:
                node = parse_labels_key(key)
            except UsageError:  # nobody of ours writes such a key
                continue
            try:
                found.append(NodeLabels(node, read_memory(stored.data)))
            except PayloadError as error:
                found.append(NodeLabels(node, problem=str(error)))
    return sorted(found, key=lambda one: one.node)
