"""Which workloads use which images, and where they run or could be placed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nodeworthy.errors import InvalidReferenceError
from nodeworthy.kubernetes.resources import Resource
from nodeworthy_cli.checkup import objects
from nodeworthy_cli.checkup.objects import Pod, Workload
from nodeworthy_cli.checkup.placement import Placement
from nodeworthy_cli.checkup.records import Standing
from nodeworthy_resolver import oci

_POD = "Pod"
_NODE = "Node"


class WorkloadName(NamedTuple):
    """What a person calls a workload by."""

    namespace: str
    kind: str
    name: str


@dataclass
class Use:
    """One workload's use of one image."""

    standing: Standing
    nodes: set[str] = field(default_factory=set)
    """Where it runs."""
    placements: set[Placement] = field(default_factory=set)
    digests: set[str] = field(default_factory=set)
    """What the runtimes of these nodes pulled."""
    revisions: set[str] = field(default_factory=set)
    """The Deployment's, which a rollback would start."""


_ORDER = tuple(Standing)


class Uses:
    """Image to workload to use. Images are held by their full names, so that ``nginx`` and its long form are one."""

    def __init__(self) -> None:
        self.images: dict[str, dict[WorkloadName, Use]] = {}
        self._tops: dict[WorkloadName, WorkloadName] = {}
        """Of what another object keeps: the workload at the top."""
        self._revisions: dict[WorkloadName, str] = {}
        self._templates: set[WorkloadName] = set()

    def add_image(self, image: str) -> None:
        """Add an image of which no workload is known."""
        self.images.setdefault(_full_name(image), {})

    def add_workload(self, kind: Resource, workload: Workload) -> None:
        """Add what a template starts; owners come before what they own."""
        own = WorkloadName(workload.metadata.namespace, kind.kind, workload.metadata.name)
        owner = workload.metadata.controller
        top = WorkloadName(own.namespace, owner.kind, owner.name) if owner else own
        self._tops[own] = top
        if workload.is_over:
            return
        spec = workload.pod_spec(kind)
        placement = spec.placement(is_everywhere=kind is objects.DAEMON_SETS)
        images = [image for _, image in spec.named()]
        if owner is None:
            self._templates.add(own)
            self._revisions[own] = workload.metadata.revision
            for image in images:
                self._note(image, own, Standing.TEMPLATE).placements.add(placement)
        elif kind is objects.REPLICA_SETS and top in self._templates and self._is_older(top, workload, images):
            for image in images:
                use = self._note(image, top, Standing.ROLLBACK)
                use.placements.add(placement)
                use.revisions.add(workload.metadata.revision or own.name)

    def add_pod(self, pod: Pod) -> None:
        """Add what a pod runs, and where; one that is over starts nothing."""
        if pod.is_over:
            return
        name = self._top_of(pod)
        node, digests = pod.spec.node_name or "", pod.digests()
        is_kept = pod.metadata.controller is not None and name.kind != _POD
        for container, image in pod.spec.named():
            use = self._note(image, name, Standing.RUNNING if node else Standing.TEMPLATE)
            if node:
                use.nodes.add(node)
            if container in digests:
                use.digests.add(digests[container])
            # A pod that nobody keeps is not placed a second time; a DaemonSet's is bound to its node.
            if (is_kept and name.kind != objects.DAEMON_SETS.kind) or not node:
                use.placements.add(pod.spec.placement(is_template=False))

    def _top_of(self, pod: Pod) -> WorkloadName:
        owner = pod.metadata.controller
        if owner is None or owner.kind == _NODE:  # a static pod is kept by its kubelet, on this node alone
            return WorkloadName(pod.metadata.namespace, _POD, pod.metadata.name)
        own = WorkloadName(pod.metadata.namespace, owner.kind, owner.name)
        return self._tops.get(own, own)

    def _is_older(self, deployment: WorkloadName, replica_set: Workload, images: Sequence[str]) -> bool:
        """Whether a ReplicaSet is kept for a rollback alone, and not just scaled down with its Deployment."""
        if not replica_set.is_scaled_down:
            return False
        revision = self._revisions[deployment]
        if revision and replica_set.metadata.revision:
            return revision != replica_set.metadata.revision
        used = {image for image, by_name in self.images.items() if deployment in by_name}
        return not {_full_name(image) for image in images} <= used

    def _note(self, image: str, name: WorkloadName, standing: Standing) -> Use:
        use = self.images.setdefault(_full_name(image), {}).setdefault(name, Use(standing))
        use.standing = min(use.standing, standing, key=_ORDER.index)
        return use


def _full_name(image: str) -> str:
    """The image's full name; what is none stays as it is written, and is told later."""
    try:
        return str(oci.parse_reference(image))
    except InvalidReferenceError:
        return image
