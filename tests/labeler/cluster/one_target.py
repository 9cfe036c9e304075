"""The target on a real API server and a real bus, one Node at a time."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import read_identity
from nodeworthy.kubernetes.reflector import Put
from nodeworthy.labels import (
    NO_FACTS,
    LabelMemory,
    LabelSettings,
    OutputSettings,
    Plan,
    RuleObject,
    TargetState,
    WantedLabels,
    compile_chain,
    compile_policy,
    reconcile,
    want_labels,
)
from nodeworthy.rules import Rule, Taint, Term
from nodeworthy_labeler.bucket_target import BucketTarget, Stamp
from nodeworthy_labeler.cluster.nodes import ClusterNodes, NodeEvent
from nodeworthy_labeler.cluster.refusals import Refusals
from nodeworthy_labeler.cluster.target import KubernetesTarget
from nodeworthy_labeler.cluster.writing import NodeWriter
from nodeworthy_labeler.memories import Memories
from nodeworthy_labeler.records import Records

if TYPE_CHECKING:
    from tests.kubernetes.api import Object
    from tests.kubernetes.cluster import Cluster
    from tests.labeler.conftest import Bus, MakeFacts

POLICY = compile_policy(LabelSettings(outputs=OutputSettings(taints=True)))


@dataclass
class Want:
    """What rules give a node whose set ``lab.a`` is there; ``unknown``: of which it is not known whether it is."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Taint] = ()
    unknown: bool = False

    def make(self, facts: "MakeFacts") -> WantedLabels:
        rule = Rule(
            "r",
            (Term("lab.a"),) if self.unknown else (),
            labels=self.labels,
            annotations=self.annotations,
            extended_resources=self.resources,
            taints=tuple(self.taints),
        )
        chain = compile_chain([RuleObject("o", (rule,))])
        return want_labels(facts({}, {}, *(["lab.a"] if self.unknown else [])), POLICY, chain)


class OneTarget:
    """A target with what it knows of Nodes; nothing watches, so :meth:`see` says when it learns."""

    def __init__(self, cluster: "Cluster", client: Client, bus: "Bus", facts: "MakeFacts") -> None:
        self.cluster = cluster
        self.nodes = ClusterNodes()
        self.refusals = Refusals(time.monotonic)
        self.writer = NodeWriter(client, self.refusals, lambda _seconds: True, self.nodes.read)
        self.records = Records(Memories())
        self.events: list[NodeEvent] = []
        self.remembered: list[tuple[LabelMemory | None, LabelMemory]] = []
        self.target = KubernetesTarget(
            self.nodes,
            self.writer,
            self.refusals,
            BucketTarget(bus.store, self.records, lambda _node: Stamp()),
            on_node=self.events.append,
            on_remembered=lambda _node, before, after: self.remembered.append((before, after)),
        )
        self._facts = facts

    async def see(self, name: str) -> None:
        """Learn what the Node is now."""
        latest = await self.writer.read(name)
        assert latest is not None
        self.nodes.learn(latest)

    def tell(self, name: str) -> Put:
        """What the watch would tell of the Node now."""
        data = msgspec.json.encode(self.object(name))
        identity = read_identity(data)
        return Put(name, data, identity.uid, identity.resource_version)

    async def read(self, name: str, want: Want) -> TargetState:
        return await self.target.read(name, want.make(self._facts))

    async def plan(self, name: str, want: Want, max_labels: int = 500) -> Plan:
        wanted = want.make(self._facts)
        state = await self.target.read(name, wanted)
        return reconcile(wanted, state.labels, state.memory, max_labels=max_labels)

    async def settle(self, name: str, want: Want, *, tries: int = 5, max_labels: int = 500) -> LabelMemory:
        """Bring the Node to what is wanted, as often as the target asks for another plan; what is then remembered."""
        for _ in range(tries):
            wanted = want.make(self._facts)
            state = await self.target.read(name, wanted)
            plan = reconcile(wanted, state.labels, state.memory, max_labels=max_labels)
            if await self.target.carry_out(name, state, plan, NO_FACTS):
                return plan.memory
        raise AssertionError(f"{name} was not settled in {tries} tries")

    def object(self, name: str) -> "Object":
        found: Object = self.cluster.admin.must("GET", f"/api/v1/nodes/{name}")
        return found

    def labels(self, name: str) -> dict[str, str]:
        """The labels below x.org."""
        labels = self.object(name)["metadata"]["labels"]
        return {key: value for key, value in labels.items() if key.startswith("x.org/")}
