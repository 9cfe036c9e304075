"""Tells on the bus which nodes are gone, so that what it still holds of them is no answer any more.

Facts of a Node that was deleted stay for an hour (:mod:`nodeworthy_labeler.cluster.departures`), since a machine that is set
up anew keeps its name. Meanwhile whoever follows the facts must not answer with them, and cannot see the cluster. Only what
a labeler has seen go is told: facts without a Node may be of a machine that never was in the cluster.
"""

from nodeworthy.bus.keys import KUBERNETES
from nodeworthy.bus.nodes import NodeChange, NodeRemoved
from nodeworthy.bus.watching import Complete
from nodeworthy_labeler.cluster.identity import FactsGate
from nodeworthy_labeler.cluster.mirror import Key, Mirror
from nodeworthy_labeler.cluster.nodes import ClusterNodes


class Withdrawals:
    """Which Nodes went while somebody spoke of them on the bus; the mirror says so as ``kubernetes``."""

    def __init__(self, mirror: Mirror, nodes: ClusterNodes, gate: FactsGate) -> None:
        self._mirror = mirror
        self._nodes = nodes
        self._gate = gate

    def note_gone(self, node: str, uid: str = "") -> None:
        """The Node of this name is gone, which had this uid where it is known."""
        key = Key(node, KUBERNETES)
        if self._gate.is_spoken_of(node):
            self._mirror.withdraw(key, uid or self._mirror.gone_uid(key) or "")

    def note_new(self, node: str) -> None:
        """There is a Node of this name."""
        key = Key(node, KUBERNETES)
        if self._mirror.gone_uid(key) is not None:
            self._mirror.unwant(key)

    def take(self, change: NodeChange) -> None:
        """Learn from the bus, after mirror and gate have."""
        if isinstance(change, Complete):
            return
        gone = self._mirror.gone_uid(Key(change.node, KUBERNETES))
        if gone is None:
            return
        node = self._nodes.get(change.node)
        if node is None:
            is_over = isinstance(change, NodeRemoved) and not self._gate.is_spoken_of(change.node)
        else:
            is_over = node.uid != gone  # if it is that one, another labeler knew sooner, and the API server will tell
        if is_over:
            self._mirror.unwant(Key(change.node, KUBERNETES))
