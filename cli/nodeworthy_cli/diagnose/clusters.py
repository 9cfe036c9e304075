"""What a cluster says of a failing pod: the pod, its events, its node's facts, and for a pending one nodes and rules."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from nodeworthy.diagnosis.pods import Pod, PodReport
from nodeworthy.diagnosis.records import Cause
from nodeworthy.diagnosis.scheduling import Offer, explain_pending
from nodeworthy.diagnosis.selecting import NodeView, Taint
from nodeworthy.errors import NodeworthyError, UsageError
from nodeworthy.fleet import Fleet
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.refusals import KubernetesNotFoundError
from nodeworthy.kubernetes.resources import NODES, Resource
from nodeworthy.labels import Giver, GiverKind
from nodeworthy.rules import Facts
from nodeworthy_cli.labels.inputs import Known, reading_inputs
from nodeworthy_cli.labels.reaching import Reach
from nodeworthy_labeler.wanting import want

PODS = Resource("", "v1", "pods", "Pod", is_namespaced=True)
_EVENTS = Resource("", "v1", "events", "Event", is_namespaced=True)
_WORKLOADS = (
    Resource("apps", "v1", "deployments", "Deployment", is_namespaced=True),
    Resource("apps", "v1", "daemonsets", "DaemonSet", is_namespaced=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", is_namespaced=True),
    Resource("batch", "v1", "jobs", "Job", is_namespaced=True),
)

_MAX_EVENTS = 50
"""The newest ones of a pod; a crash loop repeats one."""


class PodFindings(NamedTuple):
    """What a cluster says of one pod."""

    report: PodReport
    node: str = ""
    facts: Facts | None = None
    causes: tuple[Cause, ...] = ()
    """Of a pod that no node takes."""
    architectures: str = ""
    """Of the cluster's nodes, in words."""
    notices: tuple[str, ...] = ()


class WorkloadFindings(NamedTuple):
    """Where the pods of a workload run and where they fail."""

    what: str
    """As ``Deployment shop/cart``."""
    runs: tuple[str, ...]
    fails: tuple[str, ...]
    both: tuple[str, ...]
    """Nodes where some run and some fail: the node does not decide there."""
    facts: Mapping[str, Facts]
    sets: tuple[str, ...]
    failing: PodReport | None = None
    notices: tuple[str, ...] = ()


class _Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str
    value: str = ""


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: tuple[_Taint, ...] | None = None
    unschedulable: bool = False


class _NodeStatus(msgspec.Struct, frozen=True):
    allocatable: dict[str, str] | None = None


class _NodeMetadata(msgspec.Struct, frozen=True):
    name: str
    labels: dict[str, str] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _NodeMetadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    reason: str | None = None
    message: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class _Requirement(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[_Requirement, ...] | None = None


class _WorkloadSpec(msgspec.Struct, frozen=True):
    selector: _Selector = _Selector()


class _Workload(msgspec.Struct, frozen=True):
    spec: _WorkloadSpec = _WorkloadSpec()


def split_name(given: str, option: str) -> tuple[str, str]:
    """The namespace and name of ``NAMESPACE/NAME``; without a namespace it is ``default``.

    Raises:
        UsageError: it is neither.
    """
    namespace, slash, name = given.rpartition("/")
    if not name or "/" in namespace or (slash and not namespace):
        raise UsageError(f"{option} {given!r} names nothing", why="it is NAMESPACE/NAME")
    return namespace or "default", name


async def read_pod(reach: Reach, namespace: str, name: str) -> PodFindings:
    """The pod and all that the cluster and the bus say of it.

    Raises:
        KubernetesError: the pod cannot be read.
    """
    client = _client(reach)
    request = requests.read(PODS, name, namespace=namespace)
    pod = decode((await client.request(request)).body, Pod, request.what)
    notices: list[str] = []
    report = PodReport(pod, await _read_events(client, pod, notices))
    nodes = await _read_nodes(client, notices)
    causes: tuple[Cause, ...] = ()
    facts: Facts | None = None
    node = pod.spec.node_name or ""
    try:
        async with reading_inputs(reach, None, (node,) if node else ()) as known:
            facts = _facts(known.fleet, node)
            if pod.is_pending:
                causes = explain_pending(pod, nodes, _offers(known, [one.name for one in nodes]))
    except NodeworthyError as error:
        notices.append(f"the facts and rules of the cluster were not read: {error}")
        causes = explain_pending(pod, nodes, ()) if pod.is_pending else ()
    if node and facts is None:
        notices.append(f"nobody has published facts of node {node}")
    return PodFindings(report, node, facts, causes, _architectures(nodes), tuple(notices))


async def read_workload(reach: Reach, namespace: str, name: str) -> WorkloadFindings:
    """Where the pods of a workload run and fail, with the facts of those nodes.

    Raises:
        UsageError: there is no workload of the name, or more than one kind has it.
        KubernetesError: it cannot be read.
    """
    client = _client(reach)
    kind, workload = await _find_workload(client, namespace, name)
    selector = _write_selector(workload.spec.selector)
    listing = requests.list_all(PODS, namespace=namespace, label_selector=selector)
    pods = [decode(item, Pod, listing.what) async for page in client.pages(listing) for item in page.items or ()]
    placed = [pod for pod in pods if pod.spec.node_name]
    failing = [pod for pod in placed if pod.failing() is not None]
    bad = {pod.spec.node_name or "" for pod in failing}
    good = {pod.spec.node_name or "" for pod in placed if pod.failing() is None and pod.status.phase != "Pending"}
    nodes = sorted(good ^ bad)
    notices: list[str] = []
    facts: dict[str, Facts] = {}
    sets: set[str] = set()
    async with reading_inputs(reach, None, nodes) as known:
        for node in nodes:
            found = _facts(known.fleet, node)
            if found is None:
                notices.append(f"nobody has published facts of node {node}")
                continue
            facts[node] = found
            sets |= {name for report in known.fleet.reports(node).values() for name in report.names}
    report = PodReport(failing[0], await _read_events(client, failing[0], notices)) if failing else None
    what = kind.describe(name, namespace)
    split = (tuple(sorted(good - bad)), tuple(sorted(bad - good)), tuple(sorted(good & bad)))
    return WorkloadFindings(what, *split, facts, tuple(sorted(sets)), report, tuple(notices))


def _client(reach: Reach) -> Client:
    assert reach.client is not None  # the verb asks for a cluster
    return reach.client


def _facts(fleet: Fleet, node: str) -> Facts | None:
    return fleet.facts(node) if node and node in fleet else None


async def _read_events(client: Client, pod: Pod, notices: list[str]) -> tuple[str, ...]:
    """Reasons and messages of a pod's events, the oldest first; they are kept for an hour (kube-apiserver, event-ttl)."""
    selector = f"involvedObject.uid={pod.metadata.uid}"
    listing = requests.list_all(_EVENTS, namespace=pod.metadata.namespace, field_selector=selector)
    try:
        pages = [page async for page in client.pages(listing)]
        events = [decode(item, _Event, listing.what) for page in pages for item in page.items or ()]
    except NodeworthyError as error:
        notices.append(f"the pod's events were not read: {error}")
        return ()
    events.sort(key=lambda one: one.last_timestamp or one.event_time or "")
    return tuple(f"{one.reason}: {one.message}" for one in events[-_MAX_EVENTS:])


async def _read_nodes(client: Client, notices: list[str]) -> list[NodeView]:
    listing = requests.list_all(NODES)
    try:
        found = [decode(item, _Node, listing.what) async for page in client.pages(listing) for item in page.items or ()]
    except NodeworthyError as error:
        notices.append(f"the cluster's nodes were not read: {error}")
        return []
    return [
        NodeView(
            one.metadata.name,
            one.metadata.labels or {},
            tuple(Taint(taint.key, taint.value, taint.effect) for taint in one.spec.taints or ()),
            one.status.allocatable or {},
        )
        for one in found
    ]


def _offers(known: Known, nodes: Iterable[str]) -> list[Offer]:
    """The labels that the cluster's rules give its nodes, or would, with the names under which they reach them."""
    names = [name for name in nodes if name in known.fleet]
    wanted = want(known.fleet, known.rules, names)
    given = [
        Offer(key, label.value, node, _describe(label.given[-1].giver))
        for node in names
        for key, label in wanted[node].labels.items()
        if label.given
    ]
    claimed = [
        Offer(key, value, "", f"rule {link.giver.name}")
        for link in known.rules.chain.rules
        for key, value in link.claims.values.items()
        if value is not None
    ]
    return given + claimed


def _describe(giver: Giver) -> str:
    return f"rule {giver.name}" if giver.kind is GiverKind.RULE else str(giver)


def _architectures(nodes: Sequence[NodeView]) -> str:
    names = sorted({node.labels.get("kubernetes.io/arch", "unknown") for node in nodes})
    by_name = {name: [n.name for n in nodes if n.labels.get("kubernetes.io/arch", "unknown") == name] for name in names}
    return ", ".join(f"{name}: {len(found)} (as {found[0]})" for name, found in by_name.items())


async def _find_workload(client: Client, namespace: str, name: str) -> tuple[Resource, _Workload]:
    found = []
    for kind in _WORKLOADS:
        request = requests.read(kind, name, namespace=namespace)
        try:
            found.append((kind, decode((await client.request(request)).body, _Workload, request.what)))
        except KubernetesNotFoundError:
            continue
    kinds = ", ".join(kind.kind for kind, _ in found)
    if len(found) != 1:
        raise UsageError(
            f"--workload {namespace}/{name} is not one workload",
            why=f"it is each of: {kinds}"
            if found
            else "there is no Deployment, DaemonSet, StatefulSet or Job of the name",
            todo=f"see them: kubectl get deployments,daemonsets,statefulsets,jobs -n {namespace}",
        )
    return found[0]


def _write_selector(selector: _Selector) -> str:
    """A label selector as the API takes it in a query."""
    parts = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    for one in selector.match_expressions or ():
        values = f"({','.join(one.values or ())})"
        written = {
            "In": f"{one.key} in {values}",
            "NotIn": f"{one.key} notin {values}",
            "Exists": one.key,
            "DoesNotExist": f"!{one.key}",
        }
        parts.append(written.get(one.operator, one.key))
    return ",".join(parts)
