"""How each feature set travels: once for all nodes that share its content, inside each node's snapshot, or seldom."""

from collections.abc import Mapping
from enum import Enum


class Placement(Enum):
    """How one set travels."""

    SHARED = "shared"
    """Many nodes have the same content: in bucket ``sets`` under its digest, unless it is small."""
    INLINE = "inline"
    """Each node has its own: inside the snapshot, unless it is large."""
    VOLATILE = "volatile"
    """As inline; it changes often, so it goes out at most once a minute and makes events only for who asks."""


PLACEMENTS: Mapping[str, Placement] = {
    "kernellog.event": Placement.INLINE,
    "local.feature": Placement.INLINE,
    "local.label": Placement.INLINE,
    "memory.hugepages": Placement.INLINE,
    "memory.swap": Placement.INLINE,
    "network.device": Placement.VOLATILE,
    "network.rdma": Placement.INLINE,
    "network.virtual": Placement.VOLATILE,
    "programs.label": Placement.INLINE,
    "system.dmiid": Placement.INLINE,
    "system.name": Placement.INLINE,
    "usb.device": Placement.INLINE,
}
"""Sets that are not simply shared. Every pod makes a veth device, so interfaces change as often as pods start; adapters for
RDMA do not. USB devices have serial numbers."""

SMALL_BYTES = 1024
"""A shared set below this is inline all the same: a reference costs 80 bytes, a request and a message of its own."""

LARGE_BYTES = 16 * 1024
"""An inline set above this goes to bucket ``sets``: every renewal of a snapshot sends its inline sets again."""

MAX_INLINE_BYTES = 128 * 1024
"""Of all inline sets together; half of what a snapshot may have. The largest go to bucket ``sets`` first."""


def placement_of(name: str) -> Placement:
    """How a set travels; one that the table does not list is shared."""
    return PLACEMENTS.get(name, Placement.SHARED)


def choose_inline(sizes: Mapping[str, int]) -> frozenset[str]:
    """The sets that travel inside the snapshot, by their names and the bytes of their contents."""
    wanted = [
        (size, name)
        for name, size in sizes.items()
        if size < (SMALL_BYTES if placement_of(name) is Placement.SHARED else LARGE_BYTES)
    ]
    chosen, total = set(), 0
    for size, name in sorted(wanted):
        total += size
        if total > MAX_INLINE_BYTES:
            break
        chosen.add(name)
    return frozenset(chosen)
