"""Which facts count: those that belong to the Node object that there is now.

A Node that was removed and made again under its name may be another machine. A snapshot belongs to a Node if it names its
uid, or else if the bus stored it after the Node was made; others are held back, and so is what is said of nodes that do not
exist. A new Node's producers are asked to say everything again.
"""

from collections.abc import Callable
from typing import NamedTuple

from nodeworthy.bus.keys import KUBERNETES, Producer
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, PublishedSnapshot
from nodeworthy_labeler.cluster.mirror import MIRRORED


class NodeIdentity(NamedTuple):
    """What tells a Node from others of its name."""

    uid: str
    created: float
    """Unix time."""


class Said(NamedTuple):
    """What is known of a snapshot that counts."""

    uid: str
    time: float


class FactsGate:
    """Lets through what counts; ``identify`` gives the Node of a name, or ``None``.

    Before all Nodes were read it holds everything back: nothing is known of any Node then.
    """

    def __init__(self, identify: Callable[[str], NodeIdentity | None]) -> None:
        self._identify = identify
        self._counting: dict[str, dict[Producer, Said]] = {}
        self._held: dict[str, dict[Producer, PublishedSnapshot | NodeProblem]] = {}
        self._speakers: dict[str, set[Producer]] = {}
        """Who says something of a node on the bus, whether it counts or not."""

    @property
    def held(self) -> int:
        """Snapshots that do not count."""
        return sum(map(len, self._held.values()))

    def unknown_nodes(self) -> set[str]:
        """Names of which somebody speaks and that no Node has."""
        return {node for node in self._speakers if self._identify(node) is None}

    def is_spoken_of(self, node: str) -> bool:
        """Whether somebody speaks of a node on the bus, and not only labelers."""
        return any(producer.kind not in MIRRORED for producer in self._speakers.get(node, ()))

    def has_facts(self, node: str, producer: Producer) -> bool:
        """Whether something that a producer says of a node counts now."""
        return producer in self._counting.get(node, {})

    def take(self, change: NodeChange) -> list[NodeChange]:
        """What follows from a change on the bus."""
        if isinstance(change, PublishedSnapshot):
            self._speakers.setdefault(change.node, set()).add(change.producer)
            return self._put(change)
        if isinstance(change, NodeProblem):
            self._speakers.setdefault(change.node, set()).add(change.producer)
            if self._identify(change.node) is not None:
                return [change]
            self._held.setdefault(change.node, {}).setdefault(change.producer, change)
            return []
        if isinstance(change, NodeRemoved):
            return self._remove(change)
        return [change]

    def look_again(self, node: str) -> list[NodeChange]:
        """What follows from another Node, or none, under this name."""
        identity = self._identify(node)
        changes: list[NodeChange] = []
        for producer, said in tuple(self._counting.get(node, {}).items()):
            if identity is None or not _belongs(said, identity):
                self._stop(node, producer)
                changes.append(NodeRemoved(node, producer, is_lost=False))
        if identity is not None:
            for held in tuple(self._held.get(node, {}).values()):
                changes += self.take(held)
        return changes

    def _put(self, said: PublishedSnapshot) -> list[NodeChange]:
        if said.producer == KUBERNETES and said.message.is_node_gone:
            self._release(said.node, said.producer)
            return []  # which Nodes there are the cluster tells
        identity = self._identify(said.node)
        mark = Said(said.message.node_uid, said.time)
        if identity is not None and _belongs(mark, identity):
            self._release(said.node, said.producer)
            self._counting.setdefault(said.node, {})[said.producer] = mark
            return [said]
        self._held.setdefault(said.node, {})[said.producer] = said
        if self._stop(said.node, said.producer):
            return [NodeRemoved(said.node, said.producer, is_lost=False)]
        return []

    def _remove(self, removed: NodeRemoved) -> list[NodeChange]:
        speakers = self._speakers.get(removed.node, set())
        speakers.discard(removed.producer)
        if not speakers:
            self._speakers.pop(removed.node, None)
        if removed.is_lost:
            return [removed] if self.has_facts(removed.node, removed.producer) else []
        self._release(removed.node, removed.producer)
        return [removed] if self._stop(removed.node, removed.producer) else []

    def _stop(self, node: str, producer: Producer) -> bool:
        counting = self._counting.get(node, {})
        was_counting = counting.pop(producer, None) is not None
        if not counting:
            self._counting.pop(node, None)
        return was_counting

    def _release(self, node: str, producer: Producer) -> None:
        held = self._held.get(node, {})
        held.pop(producer, None)
        if not held:
            self._held.pop(node, None)


def _belongs(said: Said, identity: NodeIdentity) -> bool:
    return said.uid == identity.uid or said.time > identity.created
