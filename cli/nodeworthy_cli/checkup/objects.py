"""Objects of a cluster, as far as they say which images are started and where; everything else of them is passed over.

The fields are those of Kubernetes' core/v1, apps/v1 and batch/v1.
"""

from collections.abc import Iterator, Mapping

import msgspec

from nodeworthy.diagnosis.pods import Affinity, Toleration
from nodeworthy.diagnosis.selecting import NodeView, Taint
from nodeworthy.kubernetes.resources import Resource
from nodeworthy_cli.checkup.placement import Placement, make_placement
from nodeworthy_labeler.cluster.node_info import NodeInfo

PODS = Resource("", "v1", "pods", "Pod", is_namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", is_namespaced=True)
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet", is_namespaced=True)
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet", is_namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet", is_namespaced=True)
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob", is_namespaced=True)
JOBS = Resource("batch", "v1", "jobs", "Job", is_namespaced=True)

WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, CRON_JOBS, JOBS, REPLICA_SETS)
"""The kinds whose templates are read, owners before what they own."""


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """A part of an object."""


class Owner(_Struct, frozen=True):
    """``OwnerReference``."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Annotations(_Struct, frozen=True):
    """The one annotation that is read."""

    revision: str = msgspec.field(name="deployment.kubernetes.io/revision", default="")
    """The deployment controller's number of a template, on the Deployment and on its ReplicaSets."""


class Metadata(_Struct, frozen=True):
    """``ObjectMeta``."""

    name: str
    namespace: str = ""
    owner_references: tuple[Owner, ...] | None = None
    annotations: Annotations | None = None

    @property
    def controller(self) -> Owner | None:
        """The object that makes and keeps this one."""
        return next((one for one in self.owner_references or () if one.controller), None)

    @property
    def revision(self) -> str:
        """Empty where none is said."""
        return self.annotations.revision if self.annotations else ""


class Container(_Struct, frozen=True):
    """``Container`` or ``EphemeralContainer``."""

    name: str = ""
    image: str | None = None
    """A template may leave it to somebody who writes it later."""


class PodSpec(_Struct, frozen=True):
    """``PodSpec``."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    ephemeral_containers: tuple[Container, ...] | None = None
    node_name: str | None = None
    node_selector: Mapping[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def named(self) -> Iterator[tuple[str, str]]:
        """Container and image, of all three kinds."""
        for one in (*(self.containers or ()), *(self.init_containers or ()), *(self.ephemeral_containers or ())):
            if one.image:
                yield one.name, one.image

    def placement(self, *, is_template: bool = True, is_everywhere: bool = False) -> Placement:
        """Where pods of it may be placed; of a pod that is placed ``nodeName`` is the outcome and no wish."""
        node = (self.node_name or "") if is_template else ""
        return make_placement(
            self.node_selector, self.affinity, self.tolerations, node=node, is_everywhere=is_everywhere
        )


class Template(_Struct, frozen=True):
    """``PodTemplateSpec``."""

    spec: PodSpec = PodSpec()


class _ContainerStatus(_Struct, frozen=True):
    name: str = ""
    image_id: str = msgspec.field(name="imageID", default="")


class _PodStatus(_Struct, frozen=True):
    phase: str = ""
    container_statuses: tuple[_ContainerStatus, ...] | None = None
    init_container_statuses: tuple[_ContainerStatus, ...] | None = None
    ephemeral_container_statuses: tuple[_ContainerStatus, ...] | None = None


class Pod(_Struct, frozen=True):
    """``Pod``."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def is_over(self) -> bool:
        """Whether it starts nothing any more."""
        return self.status.phase in {"Succeeded", "Failed"}

    def digests(self) -> dict[str, str]:
        """Container to the digest that its runtime pulled, where ``imageID`` tells one of the registry."""
        said = self.status
        every = (
            *(said.container_statuses or ()),
            *(said.init_container_statuses or ()),
            *(said.ephemeral_container_statuses or ()),
        )
        return {one.name: one.image_id.rpartition("@")[2] for one in every if "@sha256:" in one.image_id}


class _Condition(_Struct, frozen=True):
    type: str = ""
    status: str = ""


class _WorkloadStatus(_Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _JobTemplate(_Struct, frozen=True):
    class Spec(msgspec.Struct, frozen=True):
        """``JobSpec``."""

        template: Template = Template()

    spec: Spec = Spec()


class _WorkloadSpec(_Struct, frozen=True):
    replicas: int | None = None
    template: Template = Template()
    job_template: _JobTemplate = _JobTemplate()


class Workload(_Struct, frozen=True):
    """Any of :data:`WORKLOADS`."""

    metadata: Metadata
    spec: _WorkloadSpec = _WorkloadSpec()
    status: _WorkloadStatus = _WorkloadStatus()

    def pod_spec(self, kind: Resource) -> PodSpec:
        """What it starts."""
        return self.spec.job_template.spec.template.spec if kind is CRON_JOBS else self.spec.template.spec

    @property
    def is_scaled_down(self) -> bool:
        """Whether it keeps no pod; without a number it is one (apps/v1 ReplicaSetSpec)."""
        return self.spec.replicas == 0

    @property
    def is_over(self) -> bool:
        """Whether a Job has ended, so that it starts nothing any more."""
        ended = {"Complete", "Failed"}
        return any(one.type in ended and one.status == "True" for one in self.status.conditions or ())


class _Taint(_Struct, frozen=True):
    key: str = ""
    effect: str = ""
    value: str = ""


class _NodeMetadata(_Struct, frozen=True):
    name: str
    labels: Mapping[str, str] | None = None


class _NodeSpec(_Struct, frozen=True):
    taints: tuple[_Taint, ...] | None = None


class _NodeStatus(_Struct, frozen=True):
    node_info: NodeInfo = NodeInfo()


class Node(_Struct, frozen=True):
    """``Node``."""

    metadata: _NodeMetadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    def view(self) -> NodeView:
        """As the scheduler sees it."""
        taints = tuple(Taint(one.key, one.value, one.effect) for one in self.spec.taints or ())
        return NodeView(self.metadata.name, self.metadata.labels or {}, taints)
