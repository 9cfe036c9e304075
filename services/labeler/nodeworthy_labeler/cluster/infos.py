"""Sees to it that nodes without a detector have the facts that their kubelets tell."""

import asyncio
from collections.abc import Awaitable, Callable

from nodeworthy.bus.keys import DETECTOR, KUBERNETES, Producer
from nodeworthy.features import Snapshot
from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.mirror import Key, Mirror
from nodeworthy_labeler.cluster.nodes import ClusterNodes
from nodeworthy_labeler.members import Sharing

_LOG = EventLog("labeler")

_LOOKS = 60.0
"""Looks between two reads of one Node: a new one is read after a sixtieth, in which its detector may have come."""


class Infos:
    """Reads Nodes that have no detector; :meth:`run` does the work.

    Args:
        mirror: Brings what is read to the bus.
        nodes: All Nodes.
        members: Who reads which.
        has_facts: Whether facts of a producer count for a node.
        fetch: Reads one Node; ``None``: it is gone.
        seconds: Between two reads of one Node.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        mirror: Mirror,
        nodes: ClusterNodes,
        members: Sharing,
        has_facts: Callable[[str, Producer], bool],
        fetch: Callable[[str], Awaitable[Snapshot | None]],
        *,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._mirror = mirror
        self._nodes = nodes
        self._members = members
        self._has_facts = has_facts
        self._fetch = fetch
        self._seconds = seconds
        self._clock = clock
        self._read: dict[str, tuple[str, float]] = {}
        """Node to the uid that was read, and when."""

    def give_up(self, node: str) -> None:
        """The Node is gone, or has a detector."""
        self._read.pop(node, None)
        key = Key(node, KUBERNETES)
        if self._mirror.has(key):
            self._mirror.unwant(key)

    async def run(self) -> None:
        """Look at all Nodes now and then, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds / _LOOKS)
            for node in list(self._nodes):
                if not self._members.is_mine(node):
                    continue
                if self._has_facts(node, DETECTOR):
                    self.give_up(node)
                else:
                    await self._look_at(node)

    async def _look_at(self, name: str) -> None:
        node = self._nodes.get(name)
        uid, time = self._read.get(name, ("", 0.0))
        if node is None or (node.uid == uid and self._clock() < time + self._seconds):
            return
        try:
            snapshot = await self._fetch(name)
        except KubernetesError as error:
            _LOG.warning("labeler.node_not_read", about=name, node=name, error=str(error))
            return
        if snapshot is not None:
            self._read[name] = (node.uid, self._clock())
            self._mirror.want(Key(name, KUBERNETES), snapshot, node.uid)
