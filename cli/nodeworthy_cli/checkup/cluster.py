"""Reading a cluster: its Nodes, and every object that says which images are started."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from nodeworthy.bus.keys import KUBERNETES
from nodeworthy.diagnosis.selecting import NodeView
from nodeworthy.errors import NodeworthyError
from nodeworthy.fleet import Fleet
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.metadata import read_identity
from nodeworthy.kubernetes.refusals import KubernetesContentError
from nodeworthy.kubernetes.resources import NODES, Resource
from nodeworthy_cli.checkup import objects
from nodeworthy_cli.checkup.uses import Uses
from nodeworthy_cli.labels.cluster_inputs import read_node_features
from nodeworthy_cli.labels.facts_reading import Facts
from nodeworthy_labeler.cluster.node_info import NodeInfo, make_node_facts
from nodeworthy_labeler.cluster.node_objects import NodeObject, read_node
from nodeworthy_labeler.facts import fleet_producer

_Object = TypeVar("_Object")


@dataclass
class Cluster:
    """What was read of a cluster."""

    namespace: str = ""
    """Whose workloads are meant; empty: all."""
    views: dict[str, NodeView] = field(default_factory=dict)
    """Node to how the scheduler sees it."""
    infos: dict[str, NodeInfo] = field(default_factory=dict)
    """What the kubelet says of its machine."""
    nodes: dict[str, NodeObject] = field(default_factory=dict)
    uses: Uses = field(default_factory=Uses)
    notices: list[str] = field(default_factory=list)
    """What could not be read, and why."""


async def read_cluster(client: Client, namespace: str = "") -> Cluster:
    """The Nodes, and the images of all pods and templates, or of those of one namespace.

    A kind of workloads that cannot be listed is told and harms only itself.

    Raises:
        KubernetesError: the Nodes or the pods cannot be listed.
    """
    cluster = Cluster(namespace)
    await _read_nodes(client, cluster)
    lists = await asyncio.gather(*(_read_workloads(client, kind, cluster) for kind in objects.WORKLOADS))
    for kind, workloads in zip(objects.WORKLOADS, lists, strict=True):
        for workload in workloads:
            cluster.uses.add_workload(kind, workload)
    async for pod in _decoded(client, objects.PODS, objects.Pod, cluster):
        cluster.uses.add_pod(pod)
    return cluster


async def read_fleet(client: Client, cluster: Cluster) -> Fleet:
    """The facts that the cluster itself has of its Nodes: what kubelets say, and NodeFeature objects."""
    facts = Facts(cluster.nodes, client.access.namespace)
    for name, info in cluster.infos.items():
        facts.table.fleet.update(name, fleet_producer(KUBERNETES), make_node_facts(info))
    try:
        cluster.notices += await read_node_features(client, facts, cluster.nodes, labels=True)
    except NodeworthyError as error:
        cluster.notices.append(f"NodeFeature objects are not used: {error}")
    return facts.table.fleet


async def _read_nodes(client: Client, cluster: Cluster) -> None:
    listing = requests.list_all(NODES)
    async for page in client.pages(listing):
        for item in page.items or ():
            try:
                node, known = decode(item, objects.Node, listing.what), read_node(bytes(item))
            except (KubernetesContentError, msgspec.DecodeError, ValueError) as error:
                cluster.notices.append(f"a Node is left out: {error}")
                continue
            cluster.views[known.name] = node.view()
            cluster.infos[known.name] = node.status.node_info
            cluster.nodes[known.name] = known


async def _read_workloads(client: Client, kind: Resource, cluster: Cluster) -> list[objects.Workload]:
    try:
        return [workload async for workload in _decoded(client, kind, objects.Workload, cluster)]
    except NodeworthyError as error:
        cluster.notices.append(str(error))
        return []


async def _decoded(client: Client, kind: Resource, shape: type[_Object], cluster: Cluster) -> AsyncIterator[_Object]:
    """Every object of a kind; one that has another shape is told and left out."""
    listing = requests.list_all(kind, namespace=cluster.namespace)
    async for page in client.pages(listing):
        for item in page.items or ():
            try:
                yield decode(item, shape, listing.what)
            except KubernetesContentError as error:
                cluster.notices.append(f"{_name(kind, item)} is left out: {error.why}")


def _name(kind: Resource, item: msgspec.Raw) -> str:
    try:
        found = read_identity(item)
    except msgspec.DecodeError:
        return f"a {kind.kind} without a name"
    return kind.describe(found.name, found.namespace)
