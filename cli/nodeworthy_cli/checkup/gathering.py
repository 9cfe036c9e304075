"""Putting a checkup together: the images, the nodes, who judges and who looks, then the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nodeworthy import platforms
from nodeworthy.diagnosis.selecting import NodeView
from nodeworthy.errors import UsageError
from nodeworthy.features import Snapshot
from nodeworthy.fleet import DETECTOR, Fleet, node_facts
from nodeworthy.images import ImageKnowledge
from nodeworthy.platforms import Platform
from nodeworthy.verdicts import NodeFacts
from nodeworthy_cli.checkup.assessing import Subject, assess, assess_unread, order
from nodeworthy_cli.checkup.cluster import Cluster, read_cluster, read_fleet
from nodeworthy_cli.checkup.judging import BusJudge, Judge, Known, LocalJudge
from nodeworthy_cli.checkup.looking import BusLook, LocalLook, Look, in_registries_only, look_at_all
from nodeworthy_cli.checkup.pools import Placing
from nodeworthy_cli.checkup.records import Checkup
from nodeworthy_cli.checkup.surveying import survey
from nodeworthy_cli.inspect.progress import progress_bar
from nodeworthy_cli.labels.reaching import Reach
from nodeworthy_resolver.oci import RegistryAccess

_MAX_PLATFORMS = 100
"""What one request to the resolver may name."""


class Wish(NamedTuple):
    """What the command line asks for."""

    images: Sequence[str]
    """Of a list; none: those of the cluster."""
    nodes: Sequence[str]
    """By name; none: all."""
    files: Sequence[NodeFacts]
    """Nodes whose facts lie in files."""
    inspect: bool | None
    seconds: float
    """For one image."""
    access: RegistryAccess
    namespace: str = ""
    """Of the cluster's workloads; empty: all."""


@dataclass
class _Nodes:
    """The nodes of a checkup."""

    views: dict[str, NodeView] = field(default_factory=dict)
    platforms: dict[str, Platform | None] = field(default_factory=dict)

    def only(self, names: Sequence[str]) -> "_Nodes":
        """Those of these names, or all.

        Raises:
            UsageError: there is no such node.
        """
        strange = next((name for name in names if name not in self.views), None)
        if strange is not None:
            raise UsageError(f"there is no node {strange}", todo="see the nodes: nodeworthy nodes, kubectl get nodes")
        kept = names or self.views
        return _Nodes({name: self.views[name] for name in kept}, {name: self.platforms[name] for name in kept})


async def gather(reach: Reach, wish: Wish) -> Checkup:
    """The checkup of a cluster's images, or of those of a list.

    Raises:
        UsageError: a node is named that is not there.
        BusError: the bus is asked and does not answer.
        KubernetesError: the cluster's Nodes or pods cannot be listed.
    """
    cluster = await read_cluster(reach.client, wish.namespace) if reach.client is not None else Cluster()
    for image in wish.images:
        cluster.uses.add_image(image)
    incomplete = bool(cluster.notices)
    if reach.store is not None:
        judge = BusJudge(reach.store, seconds=wish.seconds)
        nodes = await _ask_nodes(judge, cluster, wish, is_cluster=reach.client is not None)
        wanted = _wanted_platforms(nodes.platforms)
        look: Look = BusLook(reach.store, wanted, seconds=wish.seconds, inspect=bool(wish.inspect))
        return await _report(cluster, nodes, judge, look, incomplete=incomplete)
    fleet = await read_fleet(reach.client, cluster) if reach.client is not None else Fleet()
    every = _add_files(fleet, cluster, wish.files)
    facts = {name: node_facts(fleet, int(row)) for name, row in zip(every, fleet.rows(every), strict=True)}
    nodes = _Nodes(dict(cluster.views), {name: one.platform for name, one in facts.items()}).only(wish.nodes)
    look = LocalLook([facts[name] for name in nodes.views], wish.access, inspect=wish.inspect)
    if reach.client is not None:
        look = in_registries_only(look)
    return await _report(cluster, nodes, LocalJudge(fleet), look, incomplete=incomplete)


async def _report(cluster: Cluster, nodes: _Nodes, judge: Judge, look: Look, *, incomplete: bool) -> Checkup:
    placing = Placing(list(nodes.views.values()))
    subjects = {image: Subject(image, uses, placing.pools(uses)) for image, uses in cluster.uses.images.items()}
    with progress_bar(f"looking {len(subjects):,} images up") as tell:
        found = await look_at_all(list(subjects), look, tell)
    known = {image: Known(image, one) for image, one in found.items() if isinstance(one, ImageKnowledge)}
    pools = {image: subject.pools for image, subject in subjects.items()}
    fares = await survey(list(known.values()), pools, list(nodes.views), judge)
    reports = [
        assess_unread(subject, answer, len(nodes.views))
        if not isinstance(answer := found[image], ImageKnowledge)
        else assess(subject, known[image], fares[image], nodes.platforms)
        for image, subject in subjects.items()
    ]
    return Checkup(order(reports), len(nodes.views), tuple(cluster.notices), incomplete)


async def _ask_nodes(judge: BusJudge, cluster: Cluster, wish: Wish, *, is_cluster: bool) -> _Nodes:
    """The nodes of the cluster, else of the bus; what the bus knows of their platforms counts."""
    summaries = await judge.list_nodes(() if is_cluster else wish.nodes)
    told = {one.node: platforms.parse(one.platform) for one in summaries if one.platform}
    if not is_cluster:
        views = {one.node: NodeView(one.node, one.labels) for one in summaries}
        return _Nodes(views, {name: told.get(name) for name in views}).only(wish.nodes)
    said = {
        name: platforms.normalize(info.operating_system, info.architecture) if info.architecture else None
        for name, info in cluster.infos.items()
    }
    return _Nodes(dict(cluster.views), {name: told.get(name) or said[name] for name in cluster.views}).only(wish.nodes)


def _add_files(fleet: Fleet, cluster: Cluster, files: Sequence[NodeFacts]) -> list[str]:
    """Put the nodes of files beside those of the cluster, or their facts in place of what it knows of them; all names."""
    named: set[str] = set()
    for node in files:
        if node.name in named:
            raise UsageError(f"two files are of node {node.name}", todo="leave one of them out")
        named.add(node.name)
        assert isinstance(node.facts, Snapshot)
        fleet.update(node.name, DETECTOR, node.facts)
        if node.name not in cluster.views:
            cluster.views[node.name] = _imagine(node)
    return list(cluster.views)


def _imagine(node: NodeFacts) -> NodeView:
    """A node as it would join a cluster: with the labels that every kubelet gives, and no taint."""
    labels = {"kubernetes.io/hostname": node.name}
    if node.platform is not None:
        labels |= {"kubernetes.io/os": node.platform.os, "kubernetes.io/arch": node.platform.architecture}
    return NodeView(node.name, labels)


def _wanted_platforms(nodes: Mapping[str, Platform | None]) -> tuple[Platform, ...]:
    """What the resolver reads of an index: all that nodes of these platforms may take; none: everything."""
    if not nodes or None in nodes.values():
        return ()
    distinct = dict.fromkeys(one for one in nodes.values() if one is not None)
    facts = Snapshot({})
    wanted = [
        platform
        for one in distinct
        for platform in NodeFacts("", facts, one, variant_known=bool(one.variant)).platforms
    ]
    return tuple(dict.fromkeys(wanted)) if len(wanted) <= _MAX_PLATFORMS else ()
