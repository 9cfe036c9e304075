"""What a labeler reads from a cluster: Nodes, rules, and what NodeFeature objects and kubelets say of Nodes."""

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.bus.keys import DETECTOR, KUBERNETES, Producer, node_feature
from nodeworthy.errors import NodeworthyError
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import Identity, read_identity
from nodeworthy.kubernetes.refusals import KubernetesContentError, KubernetesNotFoundError
from nodeworthy.kubernetes.resources import NODES, Resource
from nodeworthy_cli.labels.facts_reading import Facts
from nodeworthy_labeler.cluster.node_features import NODE_FEATURES, Rights, read_node_feature
from nodeworthy_labeler.cluster.node_info import fetch_node_info
from nodeworthy_labeler.cluster.node_objects import NodeObject, read_node
from nodeworthy_labeler.cluster.rule_objects import RULES, read_rule_object
from nodeworthy_labeler.facts import fleet_producer
from nodeworthy_labeler.rule_files import LoadedRules

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)

NAMESPACES_VARIABLE = "NODEWORTHY_NODE_FEATURE_NAMESPACES"
"""As of the labeler: whose NodeFeature objects are taken; unset: everybody's."""


class _Object(NamedTuple):
    identity: Identity
    data: bytes


async def read_nodes(client: Client) -> dict[str, NodeObject]:
    """All Nodes by name, from their metadata.

    Raises:
        KubernetesError: they cannot be read.
    """
    nodes = [_read_node(item) async for item in _objects(client, NODES, is_metadata=True)]
    return {node.name: node for node in nodes}


def _read_node(item: _Object) -> NodeObject:
    try:
        return read_node(item.data)
    except _UNREADABLE as error:
        raise KubernetesContentError(f"Node {item.identity.name} cannot be read", why=str(error)) from error


async def read_rule_objects(client: Client, replaced: Collection[str]) -> LoadedRules:
    """The rules of all NodeFeatureRule objects by name, but for those that others stand in for; none without the kind.

    Raises:
        KubernetesError: they cannot be read.
    """
    items = [item async for item in _objects(client, RULES) if item.identity.name not in replaced]
    loaded = [read_rule_object(item.data).loaded for item in sorted(items, key=lambda item: item.identity.name)]
    return LoadedRules(
        tuple(item for one in loaded for item in one.objects),
        tuple(problem for one in loaded for problem in one.problems),
        tuple(notice for one in loaded for notice in one.notices),
    )


async def read_node_features(
    client: Client, facts: Facts, nodes: Mapping[str, NodeObject], *, labels: bool
) -> list[str]:
    """Add what NodeFeature objects say of Nodes; what of it is not used, and why.

    ``labels``: whether all of them bring labels, or only the Nodes' own.

    Raises:
        KubernetesError: they cannot be read.
    """
    named = os.environ.get(NAMESPACES_VARIABLE, "").split(",")
    allowed = frozenset(name.strip() for name in named if name.strip())
    rights = Rights(allowed, labels, client.access.namespace)
    problems = []
    async for item in _objects(client, NODE_FEATURES):
        about = f"NodeFeature {item.identity.key}"
        if not rights.may_speak(item.identity.namespace):
            problems.append(f"{about}: its namespace is not allowed")
            continue
        try:
            found = read_node_feature(item.data, rights)
            if found.node not in nodes:
                problems.append(f"{about}: there is no Node {found.node}")
                continue
            producer = fleet_producer(node_feature(item.identity.namespace, item.identity.name))
            facts.table.fleet.update(found.node, producer, found.snapshot)
        except NodeworthyError as error:
            problems.append(f"{about}: {error}")
    return problems


async def read_infos(client: Client, facts: Facts, names: Iterable[str]) -> None:
    """Add what kubelets say of Nodes that no detector speaks of; raises what :func:`read_nodes` raises."""
    unseen = [name for name in names if not _has(facts, name, DETECTOR)]
    snapshots = await asyncio.gather(*(fetch_node_info(client, name) for name in unseen))
    for name, snapshot in zip(unseen, snapshots, strict=True):
        if snapshot is not None:
            facts.table.fleet.update(name, fleet_producer(KUBERNETES), snapshot)


def _has(facts: Facts, node: str, producer: Producer) -> bool:
    return fleet_producer(producer) in facts.table.fleet.reports(node)


async def _objects(client: Client, kind: Resource, *, is_metadata: bool = False) -> AsyncIterator[_Object]:
    """Every object of a kind; none where the cluster does not know the kind."""
    try:
        async for page in client.pages(requests.list_all(kind, is_metadata=is_metadata)):
            for item in page.items or ():
                yield _Object(read_identity(item), bytes(item))
    except KubernetesNotFoundError:
        return
    except msgspec.DecodeError as error:
        raise KubernetesContentError(f"the list of {kind.plural} cannot be read", why=str(error)) from error
