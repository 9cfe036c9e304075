"""What a node's detector and its readers say to each other: snapshots, events, heartbeats, requests to look again.

Every message is a :class:`Message`: a MessagePack map (or a JSON object) with a format ``version``. Fields that a reader
does not know are passed over, so a program may be newer than its readers as long as the version is the same; a version that
a reader does not know is an error (:mod:`nodeworthy.bus.payloads`). A name inside a body is for people: who may say what is
decided by the subject or key that a message came on. The messages of the other services stand in modules of their own, since
a detector must not load what they are made of.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from nodeworthy.features import SetChange, SetState, SourceHealth

VERSION = 1
"""The format that this program writes, and the newest that it reads."""

MAX_SETS = 1024
"""Sets of one snapshot; design: some forty. A NodeFeature object may bring more names of its own."""

MAX_RESCANS = 32
"""Requests that one snapshot may answer; more are answered by the next."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The root of everything that travels as one body."""

    # A default factory and not a default: the version is written even though defaults are left out.
    version: int = msgspec.field(default_factory=lambda: VERSION)


class Session(msgspec.Struct, frozen=True, gc=False):
    """One run of a producer's process: of two with one boot id, the later start is the newer."""

    boot_id: str
    """``/proc/sys/kernel/random/boot_id``; for producers that do not run on the node, an id of their own."""
    start: int
    """CLOCK_BOOTTIME when the process started, in nanoseconds."""

    def replaces(self, other: "Session") -> bool:
        """Whether this session is a later run on the same boot."""
        return self.boot_id == other.boot_id and self.start > other.start


class SetEntry(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a snapshot says of one set.

    A present set has either ``content`` (inline: the canonical bytes; their digest is computed) or ``digest`` (shared:
    the bytes are in bucket ``sets``). A set that is not present has neither; ``last_digest`` then names what it held last.
    """

    state: SetState
    digest: str = ""
    """``sha256:<hex>``"""
    content: bytes | None = None
    reason: str = ""
    last_digest: str = ""


class SnapshotMessage(Message, frozen=True, kw_only=True):
    """Bucket ``nodes``: everything that one producer says of one node."""

    node: str
    producer: str
    """As :class:`nodeworthy.bus.keys.Producer` writes it: ``detector``, ``kubernetes``, ``p.<name>``, ``x.<ns>.<name>``."""
    session: Session
    sequence: Annotated[int, msgspec.Meta(ge=0)]
    """Counts the snapshots of a session; it shows gaps and orders nothing (the bucket's revision does)."""
    sets: Annotated[Mapping[str, SetEntry], msgspec.Meta(max_length=MAX_SETS)]
    catalogue: tuple[str, ...] | None = None
    """Every set that the producer can deliver, sorted; ``None``: it does not say."""
    node_uid: str = ""
    """Of the Kubernetes Node object, where the producer's identity tells it."""
    sources: Mapping[str, SourceHealth] = {}
    expires: int | None = None
    """Unix time in seconds after which the producer itself says that this no longer holds; ``None``: never."""
    rescans: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_RESCANS)] = ()
    """Ids of the :class:`RescanRequest` that this snapshot answers."""
    is_node_gone: bool = False
    """The cluster had a Node of this name, with the uid in ``node_uid`` where it is known, and has none any more: nobody's
    facts of it count, until this is removed or somebody speaks of a Node with another uid. Only ``kubernetes`` can say so,
    and it says nothing else then."""


class EventMessage(Message, frozen=True, kw_only=True):
    """Stream ``events``: one set of one node changed."""

    node: str
    producer: str
    set: str
    session: Session
    sequence: int
    """Of the snapshot that brought the change."""
    old_state: SetState | None = None
    """``None``: the set was not in the snapshot before."""
    new_state: SetState | None = None
    old_digest: str = ""
    new_digest: str = ""
    change: SetChange | None = None
    """What was added, removed and changed; ``None`` where the old content is not known (the first after a restart)."""
    reason: str = ""
    """Why the set is not present now."""


class Heartbeat(Message, frozen=True, kw_only=True):
    """A hint that a detector lives; nothing is decided by it."""

    node: str
    session: Session
    sequence: int
    revision: int = 0
    """The bucket's revision of the detector's last acknowledged snapshot; 0: none yet."""


class ResyncRequest(Message, frozen=True, kw_only=True):
    """To a detector: publish every set, the snapshot and its catalogue again."""

    reason: str = ""
    """For the detector's log."""


class RescanRequest(Message, frozen=True, kw_only=True):
    """To a detector: look afresh now; the next snapshot carries ``id``."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    sources: tuple[str, ...] = ()
    """Which sources; none: all."""
