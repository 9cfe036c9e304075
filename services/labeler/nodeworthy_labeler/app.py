"""The labeler's wiring: readers, rules, members, work and upkeep, in one task group."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from nodeworthy.bus.connecting import connected, wait_for_end
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Bucket, Names
from nodeworthy.bus.nodes import NodeChange, NodeReader
from nodeworthy.bus.store import Store
from nodeworthy.bus.sweeping import Sweeper
from nodeworthy.bus.watching import Watch
from nodeworthy.errors import UsageError, first_error
from nodeworthy.fleet import Fleet
from nodeworthy.kubernetes.client import Client
from nodeworthy.labels import compile_policy
from nodeworthy.processes import EventLog
from nodeworthy.web import Counted, serve_probes
from nodeworthy_labeler.beats import Beats
from nodeworthy_labeler.bucket_target import BucketTarget, Stamp
from nodeworthy_labeler.cluster.parts import CLUSTER_INPUTS, ClusterParts, Hooks
from nodeworthy_labeler.cluster.statuses import Work
from nodeworthy_labeler.cluster.target import KubernetesTarget
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.handlers import handle_facts, handle_members, handle_record, handle_rules
from nodeworthy_labeler.inputs import BUS_INPUTS, Input, Inputs
from nodeworthy_labeler.labelling import Labelling
from nodeworthy_labeler.members import Members, Sharing
from nodeworthy_labeler.memories import Memories
from nodeworthy_labeler.metrics import CONTENT_TYPE, Metrics, Numbers
from nodeworthy_labeler.records import Records
from nodeworthy_labeler.repairs import Repairs
from nodeworthy_labeler.rule_fates import RuleFates
from nodeworthy_labeler.rule_files import list_files
from nodeworthy_labeler.rule_reports import RuleReports
from nodeworthy_labeler.rule_watch import RuleWatch
from nodeworthy_labeler.settings import Settings
from nodeworthy_labeler.upkeep import Streams, sweep_when_due

_LOG = EventLog("labeler")

GATHER_SECONDS = 0.2
"""How late a record may be read: most are this labeler's own, or of another that serves the node."""
LAPSE_SECONDS = 1.0
"""How late it may be noticed that the time of facts is over; producers state it in seconds."""


async def run(settings: Settings, stop: asyncio.Event, ready: asyncio.Event) -> None:
    """Run the labeler until ``stop``; ``ready`` is set when it has read its inputs and takes nodes.

    Raises:
        UsageError: the folder of rules, the HTTP port or a setting cannot be used.
        BusDeniedError: the bus refused the user, or what a labeler must do.
        BusSetupError: a stream is there and is not as it must be.
        BusUnreachableError: the connection was closed for good.
    """
    _check(settings)
    _LOG.info("labeler.starting", cluster=settings.cluster, rules=settings.rules)
    metrics = Metrics()
    labelers: list[Labeler] = []

    def why_not_ready() -> str:
        return labelers[0].why_not_ready() if labelers else "there is no connection to the bus"

    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(
            serve_probes(
                settings.http_host,
                settings.http_port,
                service="labeler",
                counted=Counted(metrics.expose, CONTENT_TYPE),
                why_not_ready=why_not_ready,
            )
        )
        connection = await stack.enter_async_context(connected(settings.bus, stop, "labeler"))
        if connection is None:
            return
        cluster = settings.kubernetes
        client = await stack.enter_async_context(Client(cluster.access, cluster.limits)) if cluster else None
        labelers.append(Labeler(settings, connection, client, metrics, ready))
        await labelers[0].run(stop)


class Labeler:
    """All parts of one labeler, put together."""

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        client: Client | None,
        metrics: Metrics,
        ready: asyncio.Event,
    ) -> None:
        """``client`` speaks to the API server, where there is a cluster."""
        names = Names(settings.cluster)
        store = Store(connection, names)
        self.connection = connection
        self.ready = ready
        self.table = NodeTable(Fleet(own_namespace=_own_namespace(settings)), time.time)
        self.records = Records(Memories())
        self.nodes = NodeReader(store, watch_settings=settings.watch)
        bucket = BucketTarget(store, self.records, self._stamp)
        self.target: BucketTarget | KubernetesTarget
        self.members: Sharing
        self.beats: Beats | None = None
        self.cluster: ClusterParts | None = None
        me = secrets.token_hex(8)
        if client is not None and settings.kubernetes is not None:
            write_seconds = settings.bus.request_seconds
            self.cluster = ClusterParts(settings.kubernetes, client, store, me, write_seconds=write_seconds)
            self.members, self.target = self.cluster.members, self.cluster.make_target(bucket)
        else:
            by_beats = Members(me, asyncio.get_running_loop().time, settings.membership)
            self.members, self.target = by_beats, bucket
            self.beats = Beats(connection, names, by_beats, settings.membership, self._share_anew)
        self.labelling = Labelling(
            self.table, self.target, self.members, metrics, settings, has_read=self.nodes.has_told
        )
        self.inputs = Inputs(self._open, CLUSTER_INPUTS if self.cluster else BUS_INPUTS)
        self.watch = Watch(store, Bucket.LABELS, settings=replace(settings.watch, gather=GATHER_SECONDS))
        self.repairs = Repairs(store, self.nodes.sets)
        self.streams = Streams(store, settings, lambda: self.nodes.problem or self.watch.problem)
        self.sweeper = Sweeper(store, time.time, settings=settings.sweep)
        self.fates = RuleFates(settings.pace.batch)
        self.reports = RuleReports(
            store,
            self.members,
            self._look,
            self._generations,
            seconds=settings.pace.report,
            write_seconds=settings.bus.request_seconds,
        )
        self.rules = RuleWatch(
            settings.rules,
            compile_policy(settings.labels),
            settings.pace.poll,
            partial(handle_rules, labelling=self.labelling, inputs=self.inputs),
            self.cluster.rules if self.cluster else None,
        )
        if self.cluster is not None:
            mark = partial(self.labelling.mark, is_urgent=True)
            hooks = Hooks(
                self.inputs,
                self._take_facts,
                mark,
                self.labelling.is_marked,
                self._share_anew,
                self._look,
                is_reading=lambda: self.connection.is_connected and not self.nodes.problem,
            )
            self.cluster.attach(hooks)
        metrics.watch(self._count)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop``, or until a part of it fails; raises what :func:`run` raises."""
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(self._work(), name="work")
                await wait_for_end(self.connection, stop, "labeler")
                working.cancel()
        except BaseExceptionGroup as errors:
            error = first_error(errors)
            raise error from error.__cause__

    async def _work(self) -> None:
        await self.streams.make()
        parts = {
            "facts": self.nodes.run(self.cluster.take_facts if self.cluster else self._take_facts),
            "records": self._follow_records(),
            "rules": self.rules.run(),
            "labelling": self.labelling.run(),
            "lapses": self._lapse(),
            "repairs": self.repairs.run(),
            "streams": self.streams.run(),
            "sweep": sweep_when_due(self.sweeper, self.members),
            "rule reports": self.reports.run(),
        }
        if self.beats is not None:
            parts |= {"beats": self.beats.run(), "others": self._join(self.beats)}
        if self.cluster is not None:
            parts |= self.cluster.tasks()
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(part, name=name)

    def _take_facts(self, change: NodeChange) -> None:
        handle_facts(
            change,
            table=self.table,
            labelling=self.labelling,
            inputs=self.inputs,
            members=self.members,
            repairs=self.repairs,
        )

    def _look(self) -> Work:
        return Work(self.table.fleet, self.labelling.rules, is_idle=not len(self.labelling), fates=self.fates)

    def _generations(self) -> Mapping[str, int]:
        states = self.cluster.rules.states if self.cluster else {}
        return {name: state.generation for name, state in states.items()}

    def _share_anew(self, before: tuple[str, ...]) -> None:
        handle_members(before, members=self.members, table=self.table, records=self.records, labelling=self.labelling)

    async def _join(self, beats: Beats) -> None:
        await beats.wait_for_others()
        self.inputs.note(Input.OTHERS)

    async def _follow_records(self) -> None:
        async with contextlib.aclosing(self.watch.changes()) as changes:
            async for change in changes:
                handle_record(change, records=self.records, labelling=self.labelling, inputs=self.inputs)

    async def _lapse(self) -> None:
        while True:
            await asyncio.sleep(LAPSE_SECONDS)
            self.labelling.mark(self.table.lapse(), is_urgent=True)

    def _open(self) -> None:
        """Everything was read: from now on nodes may belong to this labeler."""
        _LOG.info("labeler.ready", nodes=len(self.table.fleet), records=len(self.records))
        self.labelling.is_open = True
        self.members.is_ready = True
        if self.cluster is not None:
            self.cluster.withdraw_gone(self.records)
            self.cluster.members.announce()
        elif self.beats is not None:
            self.beats.announce()
        self.ready.set()

    def _stamp(self, node: str) -> Stamp:
        rules = self.labelling.rules
        return Stamp(self.table.uid(node), rules.digest if rules else "")

    def why_not_ready(self) -> str:
        """Why no node should be expected to be served by this labeler; empty if it is ready."""
        if not self.connection.is_connected:
            return "there is no connection to the bus"
        if self.inputs.missing:
            return f"not read yet: {', '.join(self.inputs.missing)}"
        of_cluster = self.cluster.problem if self.cluster else ""
        return self.nodes.problem or self.watch.problem or self.streams.problem or self.rules.problem or of_cluster

    def _count(self) -> Numbers:
        rules = self.labelling.rules
        return {
            "nodes": ("Nodes whose facts are known", len(self.table.fleet)),
            "members": ("Labelers that share the nodes", len(self.members.owners)),
            "nodes_waiting": ("Nodes that are to be looked at", len(self.labelling)),
            "labels": (
                "Labels of all nodes by state",
                {str(state): count for state, count in self.records.count_states().items()},
            ),
            "records_written": ("Records of labels that this labeler wrote since it started", self.target.written),
            "writes_refused": ("Writes that another labeler came before", self.target.refused),
            "facts_refused": ("Snapshots that could not be used, as a whole or in part", self.table.refused),
            "records_refused": ("Records of labels that could not be read", self.records.refused),
            "beats_refused": (
                "Signs of life of labelers that could not be read",
                self.beats.refused if self.beats else 0,
            ),
            "sets_purged": ("Bad sets that this labeler purged", self.repairs.purged),
            "rules": ("Rules in force", len(rules.chain.rules) if rules else 0),
            "rule_problems": ("Problems of rules and their files", len(rules.problems) if rules else 0),
            **(self.cluster.count() if self.cluster else {}),
        }


def _own_namespace(settings: Settings) -> str:
    return settings.kubernetes.access.namespace if settings.kubernetes else ""


def _check(settings: Settings) -> None:
    """Refuse what cannot work before anything is opened."""
    if settings.rules is not None:
        list_files(settings.rules)
    longest = settings.membership.lease - settings.membership.beat
    if settings.bus.request_seconds > longest:
        raise UsageError(
            f"a request to the bus may take {settings.bus.request_seconds:g} s, which is too long for a labeler",
            why=f"others take its nodes for their own {longest:g} s after its last sign of life",
        )
