"""The Nodes of the cluster as they are, by what the watch tells and by what the labeler's own requests were answered."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy.kubernetes.metadata import is_older
from nodeworthy.kubernetes.reflector import Gone, Put
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.node_objects import NodeObject, read_node
from nodeworthy_labeler.cluster.sharing import SharedLabels

_LOG = EventLog("labeler")


class Fate(StrEnum):
    """What became of a Node."""

    SAME = "same"
    """Nothing that could change what is to be done."""
    CHANGED = "changed"
    """Its labels, or who owns them."""
    NEW = "new"
    """It is there now, or another object under its name."""
    GONE = "gone"


class NodeEvent(NamedTuple):
    """One Node, and what became of it."""

    name: str
    fate: Fate
    former: str = ""
    """The uid of the object that is gone, or that another one has replaced."""


class ClusterNodes:
    """All Nodes; the newest that is known of each."""

    def __init__(self) -> None:
        self.refused = 0
        """Objects that could not be read."""
        self._nodes: dict[str, NodeObject] = {}
        self._shared = SharedLabels()

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def get(self, name: str) -> NodeObject | None:
        """The Node of this name."""
        return self._nodes.get(name)

    def take(self, change: Put | Gone) -> NodeEvent:
        """Learn from the watch."""
        if isinstance(change, Gone):
            known = self._nodes.get(change.key)
            if known is None or known.uid != change.uid:
                return NodeEvent(change.key, Fate.SAME)
            return self.drop(change.key)
        known = self._nodes.get(change.key)
        if known is not None and (known.uid, known.resource_version) == (change.uid, change.resource_version):
            return NodeEvent(change.key, Fate.SAME)  # an answer to a request of ours was here before the watch
        try:
            return self.learn(read_node(change.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            self.refused += 1
            _LOG.warning("labeler.bad_node", about=change.key, node=change.key, error=str(error))
            return NodeEvent(change.key, Fate.SAME)

    def learn(self, node: NodeObject) -> NodeEvent:
        """Note what a Node is; something older than what is known is passed over."""
        known = self._nodes.get(node.name)
        is_same = known is not None and known.uid == node.uid
        if known is not None and is_same and is_older(node.resource_version, known.resource_version):
            return NodeEvent(node.name, Fate.SAME)
        shared = msgspec.structs.replace(node, labels=self._shared.share(node.labels))
        self._nodes[node.name] = shared
        if known is None or not is_same:
            return NodeEvent(node.name, Fate.NEW, known.uid if known is not None else "")
        return NodeEvent(node.name, Fate.SAME if known.is_like(shared) else Fate.CHANGED)

    def drop(self, name: str) -> NodeEvent:
        """Note that there is no such Node."""
        known = self._nodes.pop(name, None)
        return NodeEvent(name, Fate.SAME) if known is None else NodeEvent(name, Fate.GONE, known.uid)
