"""The nodes that matter to an image: where it runs, where it is meant to be, and where it might end up."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nodeworthy.diagnosis.selecting import NodeView
from nodeworthy_cli.checkup.placement import Placement
from nodeworthy_cli.checkup.uses import Use, WorkloadName


class Pools(NamedTuple):
    """Nodes by what brings an image there; a node may be in several."""

    running: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()
    """That a workload selects, or a DaemonSet goes to."""
    free: frozenset[str] = frozenset()
    """Where workloads could be placed that select none."""

    @property
    def every(self) -> frozenset[str]:
        """All of them."""
        return self.running | self.chosen | self.free


class Placing:
    """Says which nodes each placement takes; equal placements are asked once."""

    def __init__(self, nodes: Sequence[NodeView]) -> None:
        self._nodes = nodes
        self._names = frozenset(node.name for node in nodes)
        self._known: dict[Placement, frozenset[str]] = {}

    def pools(self, uses: Mapping[WorkloadName, Use]) -> Pools:
        """The nodes of an image with these uses; without any it could be started wherever there is a node."""
        if not uses:
            return Pools(free=self._names)
        placements = {placement for use in uses.values() for placement in use.placements}
        running = frozenset(node for use in uses.values() for node in use.nodes)
        return Pools(
            running & self._names,
            self._union({one for one in placements if one.is_chosen}),
            self._union({one for one in placements if not one.is_chosen}),
        )

    def _union(self, placements: set[Placement]) -> frozenset[str]:
        return frozenset().union(*map(self._admitted, placements))

    def _admitted(self, placement: Placement) -> frozenset[str]:
        if placement not in self._known:
            self._known[placement] = frozenset(node.name for node in self._nodes if placement.admits(node))
        return self._known[placement]
