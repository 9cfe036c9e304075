"""A Pod object, as far as it tells why a container fails: its status, and what its spec gives to containers.

The fields are those of Kubernetes' core/v1 Pod; what is of no use here is not read.
"""

from collections.abc import Iterator, Mapping

import msgspec

HUGE_PAGES = "hugepages-"
_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage", HUGE_PAGES)


class _Struct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of an object; unknown fields are passed over, null counts as absent."""


class Terminated(_Struct, frozen=True):
    """``ContainerStateTerminated``."""

    exit_code: int = 0
    signal: int | None = None
    reason: str | None = None
    message: str | None = None


class Waiting(_Struct, frozen=True):
    """``ContainerStateWaiting``."""

    reason: str | None = None
    message: str | None = None


class ContainerState(_Struct, frozen=True):
    """``ContainerState``: one of the fields is there."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Struct, frozen=True):
    """``ContainerStatus``."""

    name: str = ""
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    restart_count: int = 0
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    @property
    def ended(self) -> Terminated | None:
        """How it ended last."""
        return self.state.terminated or self.last_state.terminated

    @property
    def is_failing(self) -> bool:
        """Whether it ended with an error, or cannot be started."""
        if self.ready:
            return False
        waiting = self.state.waiting
        if waiting is not None and (waiting.reason or "") not in {"", "ContainerCreating", "PodInitializing"}:
            return True
        return self.ended is not None and self.ended.exit_code != 0


class SecurityContext(_Struct, frozen=True):
    """``SecurityContext`` of a container."""

    privileged: bool | None = None


class Resources(_Struct, frozen=True):
    """``ResourceRequirements``; amounts as written."""

    limits: Mapping[str, str | int | float] | None = None
    requests: Mapping[str, str | int | float] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The resources that are asked for."""
        return frozenset(self.limits or {}) | frozenset(self.requests or {})


class Container(_Struct, frozen=True):
    """``Container``."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    security_context: SecurityContext | None = None
    resources: Resources = Resources()
    volume_mounts: tuple[Mapping[str, object], ...] | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """The extended resources that it asks for: what device plugins offer, as ``nvidia.com/gpu``."""
        return tuple(sorted(name for name in self.resources.names if not name.startswith(_PLAIN_RESOURCES)))


class HostPath(_Struct, frozen=True):
    """``HostPathVolumeSource``."""

    path: str = ""


class Volume(_Struct, frozen=True):
    """``Volume``, if it is a folder or device of the host."""

    name: str = ""
    host_path: HostPath | None = None


class Expression(_Struct, frozen=True):
    """``NodeSelectorRequirement``."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class SelectorTerm(_Struct, frozen=True):
    """``NodeSelectorTerm``: all expressions must hold."""

    match_expressions: tuple[Expression, ...] | None = None
    match_fields: tuple[Expression, ...] | None = None


class NodeSelector(_Struct, frozen=True):
    """``NodeSelector``: one of the terms must hold."""

    node_selector_terms: tuple[SelectorTerm, ...] | None = None


class NodeAffinity(_Struct, frozen=True):
    """``NodeAffinity``; what is only preferred keeps no pod from a node."""

    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class Affinity(_Struct, frozen=True):
    """``Affinity``."""

    node_affinity: NodeAffinity | None = None


class Toleration(_Struct, frozen=True):
    """``Toleration``."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class PodSpec(_Struct, frozen=True):
    """``PodSpec``."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    node_name: str | None = None
    node_selector: Mapping[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    runtime_class_name: str | None = None


class Condition(_Struct, frozen=True):
    """``PodCondition``."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class PodStatus(_Struct, frozen=True):
    """``PodStatus``."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class Metadata(_Struct, frozen=True):
    """``ObjectMeta``."""

    name: str = ""
    namespace: str = ""
    uid: str = ""


class Pod(_Struct, frozen=True):
    """``Pod``."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def statuses(self) -> tuple[ContainerStatus, ...]:
        """Those of all containers, in the order in which they start."""
        return (*(self.status.init_container_statuses or ()), *(self.status.container_statuses or ()))

    @property
    def is_pending(self) -> bool:
        """Whether no node was chosen for it yet."""
        return not self.spec.node_name and self.status.phase in {"", "Pending"}

    def failing(self) -> ContainerStatus | None:
        """The first container that fails."""
        return next((status for status in self.statuses if status.is_failing), None)

    def container(self, name: str) -> Container | None:
        """The container of a name in the spec."""
        every = (*(self.spec.init_containers or ()), *self.spec.containers)
        return next((one for one in every if one.name == name), None)


class PodReport(msgspec.Struct, frozen=True):
    """A pod with what the cluster says of it."""

    pod: Pod
    events: tuple[str, ...] = ()
    """``REASON: message``, the oldest first."""

    def texts(self) -> Iterator[str]:
        """Everything that was said of the pod in words."""
        status = self.pod.status
        yield from self.events
        yield from filter(None, (status.reason, status.message))
        for condition in status.conditions or ():
            yield from filter(None, (condition.reason, condition.message))
        for container in self.pod.statuses:
            for state in (container.last_state, container.state):
                if state.terminated is not None:
                    yield ": ".join(filter(None, (state.terminated.reason, state.terminated.message)))
                if state.waiting is not None:
                    yield ": ".join(filter(None, (state.waiting.reason, state.waiting.message)))

    def devices_of(self, container: str) -> tuple[str, ...]:
        """What of the node's devices a container was given, and how."""
        found = self.pod.container(container)
        if found is None:
            return ()
        given = list(found.devices)
        if found.security_context is not None and found.security_context.privileged:
            given.append("privileged")
        mounted = {str(mount.get("name", "")) for mount in found.volume_mounts or ()}
        paths = {
            volume.name: volume.host_path.path for volume in self.pod.spec.volumes or () if volume.host_path is not None
        }
        given.extend(f"hostPath {path}" for name, path in paths.items() if name in mounted and path.startswith("/dev"))
        return tuple(given)
