"""Where labels end up: a bucket where there is no cluster, else Kubernetes Nodes."""

from typing import Protocol

import msgspec

from nodeworthy.labels.memory import LabelMemory, NodeLabels, Plan


class TargetState(msgspec.Struct, frozen=True):
    """What a target knows of one node at one time."""

    labels: NodeLabels
    memory: LabelMemory | None
    """What was remembered; ``None``: nothing, or it was lost."""
    token: str = ""
    """The target's own: which state of the node this is (a bucket's revision, a Node's uid and resourceVersion)."""


class LabelTarget(Protocol):
    """Reads the labels of nodes and carries out plans."""

    async def read(self, node: str) -> TargetState:
        """The labels on a node, whose they are, and what is remembered of them."""

    async def carry_out(self, node: str, state: TargetState, plan: Plan) -> bool:
        """Carry out a plan that was made for ``state``; first the labels, then the memory.

        The answer is ``False`` where the node is no longer in this state: nothing was written, read it and plan again.
        A plan that is not needed and has no new memory costs no request.
        """
