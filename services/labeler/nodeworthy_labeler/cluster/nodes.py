"""The Nodes of the cluster as they are, by what the watch tells and by what the labeler's own requests were answered."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy.kubernetes.metadata import is_older
from nodeworthy.kubernetes.reflector import Gone, Put
from nodeworthy.labels import NodeLabels, WantedLabels
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.cluster.sharing import Foreign, SharedLabels, Split, join_all

_LOG = EventLog("labeler")


class Fate(StrEnum):
    """What became of a Node."""

    SAME = "same"
    """Nothing that could change what is to be done."""
    CHANGED = "changed"
    """What it has that is ours or that we want, or who owns it."""
    NEW = "new"
    """It is there now, or another object under its name."""
    GONE = "gone"


class NodeEvent(NamedTuple):
    """One Node, and what became of it."""

    name: str
    fate: Fate
    former: str = ""
    """The uid of the object that is gone, or that another one has replaced."""


class _Known(NamedTuple):
    """One Node."""

    node: NodeObject
    """Of its labels those that are ours."""
    foreign: Foreign
    named: frozenset[str] | None
    """The keys that the last plan looked for; ``None``: there was no plan yet."""


class ClusterNodes:
    """All Nodes; the newest that is known of each."""

    def __init__(self) -> None:
        self.refused = 0
        """Objects that could not be read."""
        self._known: dict[str, _Known] = {}
        self._shared = SharedLabels()

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str) -> NodeObject | None:
        """The Node of this name; of its labels those that are ours."""
        known = self._known.get(name)
        return None if known is None else known.node

    def get_whole(self, name: str) -> NodeObject | None:
        """The Node of this name with everybody's labels."""
        known = self._known.get(name)
        if known is None:
            return None
        return msgspec.structs.replace(known.node, labels=join_all(Split(known.node.labels, known.foreign)))

    def read(self, data: bytes) -> NodeObject:
        """A Node of its JSON; raises what :func:`nodeworthy_labeler.cluster.node_objects.read_node` raises."""
        return self._shared.read(data)

    def look(self, name: str, wanted: WantedLabels) -> NodeLabels:
        """What a Node has of ours and of what it should have; from now on a change of it is a change of the Node.

        Where that is the same, it is the same object. A name that is not there is a ``KeyError``.
        """
        known = self._known[name]
        look = self._shared.look(Split(known.node.labels, known.foreign), wanted)
        self._known[name] = known._replace(named=look.names)
        return look.labels

    def take(self, change: Put | Gone) -> NodeEvent:
        """Learn from the watch."""
        known = self.get(change.key)
        if isinstance(change, Gone):
            if known is None or known.uid != change.uid:
                return NodeEvent(change.key, Fate.SAME)
            return self.drop(change.key)
        if known is not None and (known.uid, known.resource_version) == (change.uid, change.resource_version):
            return NodeEvent(change.key, Fate.SAME)  # an answer to a request of ours was here before the watch
        if known is not None and known.uid == change.uid and is_older(change.resource_version, known.resource_version):
            return NodeEvent(change.key, Fate.SAME)
        try:
            return self.learn(self.read(change.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            self.refused += 1
            _LOG.warning("labeler.bad_node", about=change.key, node=change.key, error=str(error))
            return NodeEvent(change.key, Fate.SAME)

    def learn(self, node: NodeObject) -> NodeEvent:
        """Note what a Node is; something older than what is known is passed over."""
        known = self._known.get(node.name)
        is_same = known is not None and known.node.uid == node.uid
        if known is not None and is_same and is_older(node.resource_version, known.node.resource_version):
            return NodeEvent(node.name, Fate.SAME)
        ours, foreign = self._shared.split(node.labels)
        now = _Known(msgspec.structs.replace(node, labels=ours), foreign, known.named if known and is_same else None)
        self._known[node.name] = now
        if known is None or not is_same:
            return NodeEvent(node.name, Fate.NEW, known.node.uid if known is not None else "")
        return NodeEvent(node.name, Fate.CHANGED if _is_other(known, now) else Fate.SAME)

    def drop(self, name: str) -> NodeEvent:
        """Note that there is no such Node."""
        known = self._known.pop(name, None)
        return NodeEvent(name, Fate.SAME) if known is None else NodeEvent(name, Fate.GONE, known.node.uid)


def _is_other(before: _Known, now: _Known) -> bool:
    """Whether a plan could be another one now."""
    if not before.node.is_like(now.node):
        return True
    if before.foreign == now.foreign:
        return False
    return before.named is None or not before.named.isdisjoint(before.foreign.differing(now.foreign))
