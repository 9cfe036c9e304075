"""The parts of a labeler that has a cluster, put together, and what they do when the cluster changes."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nodeworthy.bus.keys import DETECTOR, KUBERNETES
from nodeworthy.bus.nodes import NodeChange, NodeProblem, NodeRemoved, ask_resync
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError
from nodeworthy.features import Snapshot
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.events import Recorder
from nodeworthy.kubernetes.reflector import Change, Complete, Gone, Put, Reflector
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.processes import EventLog
from nodeworthy_labeler.bucket_target import BucketTarget
from nodeworthy_labeler.cluster.announcing import Announcer
from nodeworthy_labeler.cluster.departures import Departures
from nodeworthy_labeler.cluster.detector_reports import DetectorReports
from nodeworthy_labeler.cluster.groups import GROUPS, Groups
from nodeworthy_labeler.cluster.health_conditions import HealthConditions
from nodeworthy_labeler.cluster.identity import FactsGate, NodeIdentity
from nodeworthy_labeler.cluster.infos import Infos
from nodeworthy_labeler.cluster.membership import LeaseMembers
from nodeworthy_labeler.cluster.mirror import Key, Mirror
from nodeworthy_labeler.cluster.node_features import NODE_FEATURES, NodeFeatures, Rights, fetch_node_feature
from nodeworthy_labeler.cluster.node_info import fetch_node_info
from nodeworthy_labeler.cluster.nodes import ClusterNodes, Fate, NodeEvent
from nodeworthy_labeler.cluster.ownership import MANAGER
from nodeworthy_labeler.cluster.refusals import EVERYWHERE, Refusals
from nodeworthy_labeler.cluster.rule_objects import RULES, RuleObjects
from nodeworthy_labeler.cluster.startup_taints import StartupTaints
from nodeworthy_labeler.cluster.statuses import Statuses, Work
from nodeworthy_labeler.cluster.target import KubernetesTarget
from nodeworthy_labeler.cluster.withdrawals import Withdrawals
from nodeworthy_labeler.cluster.writing import NodeWriter
from nodeworthy_labeler.inputs import BUS_INPUTS, Input, Inputs
from nodeworthy_labeler.metrics import Numbers
from nodeworthy_labeler.settings import ClusterSettings

_LOG = EventLog("labeler")

CLUSTER_INPUTS = (*BUS_INPUTS, Input.NODES, Input.NODE_FEATURES)
"""What is read before anything is written."""

REFUSAL_LOOK_SECONDS = 1.0
"""Between two looks whether something that was refused may be tried again; the shortest refusal counts ten of these."""

_WAITING_FOR_MIRROR = "what the object says is not on the bus yet"


@dataclass(frozen=True)
class Hooks:
    """What the rest of the labeler is told."""

    inputs: Inputs
    on_facts: Callable[[NodeChange], None]
    """What counts of the facts."""
    mark: Callable[[Iterable[str]], None]
    """Nodes that may need other labels."""
    is_marked: Callable[[str], bool]
    """Whether a node is marked so."""
    on_owners: Callable[[tuple[str, ...]], None]
    """Nodes have other owners; those before."""
    look: Callable[[], Work]
    """What statuses are made of."""
    is_reading: Callable[[], bool]
    """Whether the bus can be read now."""


class ClusterParts:
    """Everything of a labeler that speaks to the API server; :meth:`attach` comes before everything else.

    Args:
        settings: The cluster.
        client: Speaks to its API server.
        store: The bus.
        me: This labeler's own name, made anew at each start.
        write_seconds: How long one write to the bus may take.
    """

    def __init__(
        self, settings: ClusterSettings, client: Client, store: Store, me: str, *, write_seconds: float
    ) -> None:
        self._client = client
        self._store = store
        self._hooks: Hooks | None = None
        self.nodes = ClusterNodes()
        self.gate = FactsGate(self._identify)
        self.rules = RuleObjects()
        self.members = LeaseMembers(
            me,
            client,
            settings.access.namespace,
            settings.lease,
            on_change=self._share_anew,
            on_joined=lambda: self.hooks.inputs.note(Input.OTHERS),
        )
        self._refusals = Refusals(time.monotonic)
        self._writer = NodeWriter(client, self._refusals, self.members.has_lease, self.nodes.read)
        instance = settings.instance or self.members.me
        recorder = Recorder(client, "nodeworthy.io/labeler", instance, manager=MANAGER, clock=time.monotonic)
        self._announcer = Announcer(recorder)
        self._target: KubernetesTarget | None = None
        self._mirror = Mirror(store, self.members, self._fetch, write_seconds=write_seconds)
        self._withdrawals = Withdrawals(self._mirror, self.nodes, self.gate)
        self._rights = Rights(settings.node_feature_namespaces, settings.node_feature_labels, settings.access.namespace)
        self._node_features = NodeFeatures(self._mirror, self.nodes, self._rights)
        self._infos = Infos(
            self._mirror,
            self.nodes,
            self.members,
            self.gate.has_facts,
            partial(fetch_node_info, client),
            seconds=settings.info_seconds,
            clock=time.monotonic,
        )
        self._departures = Departures(
            store,
            self.members,
            self.gate.unknown_nodes,
            seconds=settings.gone_seconds,
            write_seconds=write_seconds,
            clock=time.monotonic,
        )
        self._follow_nodes = Reflector(client, requests.list_all(NODES, is_metadata=True))
        self._follow_node_features = Reflector(client, requests.list_all(NODE_FEATURES))
        self._follow_rules = Reflector(client, requests.list_all(RULES))
        self._groups = Groups()
        self._follow_groups = Reflector(client, requests.list_all(GROUPS))
        self._statuses = Statuses(
            client,
            self.members,
            self.rules,
            self._groups,
            self._look,
            seconds=settings.status_seconds,
        )
        self._reports = DetectorReports()
        self._startup_taints = self._make_startup_taints(settings)
        self._conditions = self._make_conditions(settings)
        self._has_nodes = asyncio.Event()
        self._resyncs: asyncio.Queue[str] = asyncio.Queue()

    def _make_startup_taints(self, settings: ClusterSettings) -> StartupTaints | None:
        if settings.startup_taint is None:
            return None
        return StartupTaints(self._client, settings.startup_taint, self._is_complete, self.members.has_lease)

    def _make_conditions(self, settings: ClusterSettings) -> HealthConditions | None:
        if not settings.has_health_condition:
            return None
        return HealthConditions(
            self._client,
            self.nodes,
            self.members,
            self._reports,
            lambda: not self.hooks.inputs.missing and self.hooks.is_reading(),
            settings,
            time.time,
        )

    @property
    def hooks(self) -> Hooks:
        """What was attached."""
        assert self._hooks is not None
        return self._hooks

    @property
    def problem(self) -> str:
        """Why the cluster cannot be followed or written now; empty when it can."""
        return self._follow_nodes.problem or self.members.problem

    def attach(self, hooks: Hooks) -> None:
        """Say who is told."""
        self._hooks = hooks

    def make_target(self, bucket: BucketTarget) -> KubernetesTarget:
        """The target that writes to the Nodes, and to the bucket what is remembered."""
        self._target = KubernetesTarget(
            self.nodes,
            self._writer,
            self._refusals,
            bucket,
            on_node=self._take_event,
            on_remembered=self._announcer.note,
            startup_taints=self._startup_taints,
        )
        return self._target

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What runs as long as the labeler does."""
        return {
            "lease": self.members.run(),
            "nodes": _follow(self._follow_nodes, self._take_node),
            "node features": self._follow_features(),
            "rule objects": _follow(self._follow_rules, self.rules.take),
            "groups": _follow(self._follow_groups, self._groups.take),
            "statuses": self._statuses.run(),
            "mirror": self._mirror.run(),
            "infos": self._infos.run(),
            "departures": self._departures.run(),
            "events": self._announcer.run(),
            "resyncs": self._ask_resyncs(),
            "refusals": self._try_refused(),
            **({"conditions": self._conditions.run()} if self._conditions else {}),
        }

    async def _try_refused(self) -> None:
        """Look again at Nodes for which the API server may have changed its mind; nobody else tells of that."""
        while True:
            await asyncio.sleep(REFUSAL_LOOK_SECONDS)
            lapsed = self._refusals.lapse()
            if lapsed:
                nodes = [node for node in map(self.nodes.get, self.nodes) if node is not None]
                self.hooks.mark(node.name for node in nodes if EVERYWHERE in lapsed or node.uid in lapsed)

    def take_facts(self, change: NodeChange) -> None:
        """Something was said of a node on the bus."""
        self._mirror.note(change)
        counted = self.gate.take(change)
        self._withdrawals.take(change)
        self._tell(counted)

    def withdraw_gone(self, names: Iterable[str]) -> None:
        """Let go of nodes that went while nobody looked; of these names, those that no Node has."""
        for name in [name for name in names if name not in self.nodes]:
            self._withdrawals.note_gone(name)
            self._withdraw(name)

    def count(self) -> Numbers:
        """What is counted, for metrics."""
        return {
            "cluster_nodes": ("Nodes of the cluster", len(self.nodes)),
            "node_writes": ("Requests of this labeler that changed a Node", self._writer.written),
            "api_requests": ("Requests of this labeler to the API server", self._client.sent),
            "api_refusals": ("Labels and other outputs that the API server has refused", len(self._refusals)),
            "facts_held": ("Snapshots that belong to no Node that there is", self.gate.held),
            "node_features_unused": ("NodeFeature objects that are not used", self._node_features.unused),
            "statuses_written": ("Statuses of rules and groups that this labeler wrote", self._statuses.written),
            "mirrored": ("Snapshots of objects that this labeler put on the bus or removed", self._mirror.written),
            "departed_keys": ("Keys of nodes that are gone, removed by this labeler", self._departures.removed),
            "startup_taints_removed": (
                "Nodes that this labeler took the startup taint from",
                self._startup_taints.removed if self._startup_taints else 0,
            ),
            "conditions_written": (
                "Conditions of Nodes that this labeler wrote",
                self._conditions.written if self._conditions else 0,
            ),
            "events_dropped": ("Events that were not written, since too many waited", self._announcer.dropped),
        }

    def _look(self) -> Work:
        return self.hooks.look()

    def _tell(self, counted: Iterable[NodeChange]) -> None:
        for change in counted:
            node = self._reports.take(change)
            self.hooks.on_facts(change)
            if node is not None and self._startup_taints is not None:
                self.hooks.mark([node])

    def _is_complete(self, node: str) -> bool:
        """Whether the labels of a node that were just written are all that its detector gives cause for."""
        rules = self._look().rules
        if rules is None or self.hooks.is_marked(node):
            return False
        return self._reports.is_complete(node, [maker.set_name for maker in rules.policy.defaults.makers])

    def _identify(self, name: str) -> NodeIdentity | None:
        node = self.nodes.get(name)
        return None if node is None else NodeIdentity(node.uid, node.created)

    def _take_node(self, change: Change) -> None:
        if isinstance(change, Put | Gone):
            if self._target is None or not self._target.holds(change):
                self._take_event(self.nodes.take(change))
        elif isinstance(change, Complete):
            self._has_nodes.set()
            self.hooks.inputs.note(Input.NODES)

    def _take_event(self, event: NodeEvent) -> None:
        """Something became of a Node, by the watch or by an answer to a request of ours."""
        if event.fate is Fate.SAME:
            return
        if event.former:
            self._refusals.forget(event.former)
            self._writer.forget(event.former)
            if self._startup_taints is not None:
                self._startup_taints.forget(event.former)
        if event.fate in (Fate.NEW, Fate.GONE):
            self._tell(self.gate.look_again(event.name))
            self._node_features.look_again(event.name)
        if event.fate is Fate.GONE:
            self._infos.give_up(event.name)
            self._withdrawals.note_gone(event.name, event.former)
            self._withdraw(event.name)
        elif event.fate is Fate.NEW:
            self._withdrawals.note_new(event.name)
            if self._has_nodes.is_set():
                self._resyncs.put_nowait(event.name)
        self.hooks.mark([event.name])

    def _withdraw(self, name: str) -> None:
        """Nobody speaks of a node any more that is gone, so that its record goes too."""
        self.hooks.on_facts(NodeRemoved(name, DETECTOR, is_lost=False))

    async def _follow_features(self) -> None:
        # Which objects speak of Nodes that there are is known only when these were read.
        await self._has_nodes.wait()
        await _follow(self._follow_node_features, self._take_node_feature)

    def _take_node_feature(self, change: Change) -> None:
        if isinstance(change, Put | Gone):
            key = self._node_features.take(change)
            if key is not None and self.hooks.inputs.missing:
                self._doubt(key)
            return
        self._mirror.open()
        self.hooks.inputs.note(Input.NODE_FEATURES)

    def _doubt(self, key: Key) -> None:
        """At the start: what an object says may have given labels, and is not on the bus if the bus was lost."""
        if key.node in self.nodes and not self.gate.has_facts(*key):
            self.hooks.on_facts(NodeProblem(*key, 0, _WAITING_FOR_MIRROR))

    def _share_anew(self, before: tuple[str, ...]) -> None:
        self.hooks.on_owners(before)
        self._mirror.look_again()

    async def _fetch(self, key: Key) -> Snapshot | None:
        if key.producer == KUBERNETES:
            return await fetch_node_info(self._client, key.node)
        return await fetch_node_feature(self._client, key, self._rights)

    async def _ask_resyncs(self) -> None:
        """Ask the detector of each new Node to say everything again: what it said before may be of another machine."""
        while True:
            name = await self._resyncs.get()
            if not self.members.is_mine(name):
                continue
            try:
                await ask_resync(self._store, name, "there is a new Node of this name")
            except BusError as error:
                _LOG.warning("labeler.resync_not_asked", about=name, node=name, error=str(error))


async def _follow(reflector: Reflector, take: Callable[[Change], None]) -> None:
    async with contextlib.aclosing(reflector.changes()) as changes:
        async for change in changes:
            take(change)
