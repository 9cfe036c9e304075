"""Node objects as the place where labels end up; what is remembered of them is in bucket ``labels``.

Every write carries the state of the Node that it was made from, so of two labelers that serve one node at a time one is
refused, reads what the other wrote and plans again. The Node is written first, the memory after it.
"""

from collections.abc import Callable

import msgspec

from nodeworthy.kubernetes.reflector import Gone, Put
from nodeworthy.kubernetes.refusals import KubernetesConflictError
from nodeworthy.labels import FactsMark, LabelMemory, NodeLabels, Plan, TargetState, WantedLabels
from nodeworthy.labels.origins import RejectedKind
from nodeworthy.processes import EventLog
from nodeworthy_labeler.bucket_target import BucketTarget
from nodeworthy_labeler.cluster.adopting import lost_keys
from nodeworthy_labeler.cluster.applications import METADATA, STATUS, changes_of, make_application
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.cluster.nodes import ClusterNodes, NodeEvent
from nodeworthy_labeler.cluster.refusals import Refusals
from nodeworthy_labeler.cluster.startup_taints import StartupTaints
from nodeworthy_labeler.cluster.writing import NodeWriter

_LOG = EventLog("labeler")

_ABSENT = NodeLabels({})

OnNode = Callable[[NodeEvent], None]
"""Told what an answer has shown of a Node before the watch does."""

OnRemembered = Callable[[NodeObject, LabelMemory | None, LabelMemory], None]
"""Told what was remembered of a Node before, and what is from now on."""


class KubernetesTarget:
    """A ``nodeworthy.labels.LabelTarget``: reads from what the watches have told, and asks the API server only to write."""

    def __init__(
        self,
        nodes: ClusterNodes,
        writer: NodeWriter,
        refusals: Refusals,
        bucket: BucketTarget,
        *,
        on_node: OnNode,
        on_remembered: OnRemembered,
        startup_taints: StartupTaints | None = None,
    ) -> None:
        self._nodes = nodes
        self._writer = writer
        self._refusals = refusals
        self._bucket = bucket
        self._on_node = on_node
        self._on_remembered = on_remembered
        self._startup_taints = startup_taints
        self.conflicts = 0
        """Writes that somebody else was before."""
        self._writing: dict[str, str] = {}
        """Nodes in work, with their uids."""
        self._held: dict[str, Put] = {}
        """Of these, what the watch has told last."""

    @property
    def written(self) -> int:
        """Records that were written."""
        return self._bucket.written

    @property
    def refused(self) -> int:
        """Writes of Nodes and records that somebody else was before."""
        return self.conflicts + self._bucket.refused

    def holds(self, change: Put | Gone) -> bool:
        """Whether what the watch tells of a Node may be our own doing: it is read when our request is answered."""
        if isinstance(change, Gone):
            self._held.pop(change.key, None)
            return False
        if self._writing.get(change.key) != change.uid:
            return False
        self._held[change.key] = change
        return True

    async def read(self, node: str, wanted: WantedLabels) -> TargetState:
        """What a Node has of ours and of what is wanted, whose it is, and what is remembered of it.

        Raises:
            PayloadVersionError: a newer program wrote the record; the Node is not to be touched.
        """
        remembered = await self._bucket.read(node, wanted)
        found = self._nodes.get(node)
        if found is None:
            return msgspec.structs.replace(remembered, labels=_ABSENT, token=_join("", remembered.token))
        labels = self._refusals.mark(found.uid, self._nodes.look(node, wanted))
        return msgspec.structs.replace(remembered, labels=labels, token=_join(found.token, remembered.token))

    async def carry_out(self, node: str, state: TargetState, plan: Plan, facts: FactsMark) -> bool:
        """Write the Node if the plan needs it, then the memory.

        A Node that is not there is never made, and nothing is remembered of it.

        Raises:
            KubernetesError: not known whether the Node was written.
            BusError: not known whether the memory was written.
        """
        found = self._nodes.get(node)
        if found is None:
            return True
        token, _, record_token = state.token.rpartition(" ")
        if found.token != token:
            return False
        self._writing[node] = found.uid
        try:
            is_as_planned = await self._write(found, state, plan)
        except KubernetesConflictError as error:
            _LOG.debug("labeler.node_changed", about=node, node=node, error=str(error))
            self.conflicts += 1
            await self._look_again(node)
            return False
        finally:
            self._finish(node)
        if not is_as_planned:
            return False
        remembered = msgspec.structs.replace(state, token=record_token)
        is_done = await self._bucket.carry_out(node, remembered, plan, facts)
        if is_done and plan.is_memory_new:
            self._on_remembered(found, state.memory, plan.memory)
        return is_done and await self._settle_startup_taint(node)

    async def _settle_startup_taint(self, name: str) -> bool:
        """Last of all, since pods come as soon as it is gone; ``False``: the Node changed meanwhile."""
        node = self._nodes.get(name)
        if node is None or self._startup_taints is None:
            return True
        try:
            await self._startup_taints.settle(node)
        except KubernetesConflictError as error:
            _LOG.debug("labeler.node_changed", about=name, node=name, error=str(error))
            self.conflicts += 1
            await self._look_again(name)
            return False
        return True

    async def restore(self, node: str) -> bool:
        """Put a lost record of a node of which nobody speaks as it was; raises what :meth:`carry_out` raises."""
        return await self._bucket.restore(node)

    async def forget(self, node: str) -> bool:
        """Remove the record of a node that is gone; raises what :meth:`carry_out` raises.

        The labels of a Node that is there go by a plan only: whoever spoke of it may be about to speak again.
        """
        return node in self._nodes or await self._bucket.forget(node)

    async def _write(self, node: NodeObject, state: TargetState, plan: Plan) -> bool:
        """Send what is needed; whether it was done as planned, so that the memory of it may be written."""
        whole = self._nodes.get_whole(node.name) if node.has_lost_owners else None
        lost = lost_keys(whole, state.memory) if whole is not None else {}
        if lost:
            self._note(await self._writer.adopt(node, lost))
            return False
        is_as_planned = True
        for kinds in (METADATA, STATUS):
            application = make_application(node, plan, kinds)
            if application is not None:
                written = await self._writer.apply(application)
                is_as_planned = is_as_planned and written.is_as_planned
                node = self._note(written.node)
        taints = await self._writer.settle_taints(node, changes_of(plan, RejectedKind.TAINT))
        if taints.node is not node:
            self._note(taints.node)
        return is_as_planned and taints.is_as_planned

    def _note(self, node: NodeObject) -> NodeObject:
        """Learn from an answer; what it changes is our own doing, and no reason to look at the Node again."""
        self._nodes.learn(node)
        return self._nodes.get(node.name) or node

    def _finish(self, name: str) -> None:
        """Our requests for a Node are answered; if the watch has told more than them, somebody else has changed it."""
        del self._writing[name]
        held = self._held.pop(name, None)
        if held is not None:
            self._on_node(self._nodes.take(held))

    async def _look_again(self, name: str) -> None:
        latest = await self._writer.read(name)
        self._on_node(self._nodes.drop(name) if latest is None else self._nodes.learn(latest))


def _join(node: str, record: str) -> str:
    return f"{node} {record}"
