"""Where labels end up: a bucket where there is no cluster, else Kubernetes Nodes."""

from typing import NamedTuple, Protocol

import msgspec

from nodeworthy.labels.memory import LabelMemory, NodeLabels, Plan
from nodeworthy.labels.wanted import WantedLabels


class FactsMark(NamedTuple):
    """How far the facts of one node had been read: the newest snapshot of any of its producers.

    Revisions order the snapshots of a store, and times tell a store from one that was lost before it.
    """

    revision: int = 0
    """On the bus; 0: none was read."""
    time: float = 0.0
    """Unix time when the bus stored it."""

    def is_behind(self, other: "FactsMark") -> bool:
        """Whether the other has, or may have, seen facts that this one has not."""
        return other.revision > self.revision or other.time > self.time


NO_FACTS = FactsMark()


class TargetState(msgspec.Struct, frozen=True):
    """What a target knows of one node at one time."""

    labels: NodeLabels
    memory: LabelMemory | None
    """What was remembered; ``None``: nothing, or it was lost."""
    token: str = ""
    """The target's own: which state of the node this is (a bucket's revision, a Node's uid and resourceVersion)."""
    facts: FactsMark = NO_FACTS
    """From which facts the memory was made: nobody writes over it who has not read them."""


class LabelTarget(Protocol):
    """Reads the labels of nodes and carries out plans."""

    async def read(self, node: str, wanted: WantedLabels) -> TargetState:
        """The labels on a node, whose they are, and what is remembered of them.

        Of labels that are not ours a plan needs those that are wanted, and there need not be others.
        """

    async def carry_out(self, node: str, state: TargetState, plan: Plan, facts: FactsMark) -> bool:
        """Carry out a plan that was made for ``state`` and from these facts; first the labels, then the memory.

        The answer is ``False`` where the node is no longer in this state: nothing was written, read it and plan again.
        A plan that is not needed and has no new memory costs no request.
        """
