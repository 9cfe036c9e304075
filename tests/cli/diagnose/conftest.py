"""Pods of a real API server, with a status as a kubelet writes it."""

import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from tests.kubernetes.api import STRATEGIC
from tests.labeler.cluster.objects import FEATURES, NODE_LABEL, RULES, Objects

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster


class Shop:
    """A namespace with pods, and facts and rules of its nodes."""

    def __init__(self, cluster: "Cluster", objects: Objects, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.objects = objects

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the verb that reach the cluster."""
        return ("--kubeconfig", str(self.cluster.kubeconfig))

    def facts(self, node: str, **features: Mapping[str, Any]) -> None:
        """A NodeFeature of a node; ``flags``, ``attributes`` and ``instances`` by set, as NFD writes them."""
        spec = {"features": {"flags": {}, "attributes": {}, "instances": {}, **features}}
        metadata = {"name": node, "namespace": self.namespace, "labels": {NODE_LABEL: node}}
        self.objects._create(FEATURES.format(self.namespace), "NodeFeature", metadata, spec)

    def gpu_rule(self) -> None:
        """The rule of the documents: a label without a prefix for nodes with a card of NVIDIA."""
        term = {"feature": "pci.device", "matchExpressions": {"vendor": {"op": "In", "value": ["10de"]}}}
        rule = {"name": "nvidia-gpu-present", "matchFeatures": [term], "labels": {"accelerator": "nvidia"}}
        self.objects._create(RULES, "NodeFeatureRule", {"name": "gpu-rule"}, {"rules": [rule]})

    def pod(
        self,
        name: str,
        *,
        status: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """A pod of one container ``main``, with what a kubelet says of it."""
        container = {"name": "main", "image": "registry.invalid/shop/app:1", **spec.pop("container", {})}
        made = {"metadata": {"name": name, "labels": dict(labels or {})}, "spec": {"containers": [container], **spec}}
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        self.cluster.admin.must("POST", path, made)
        if status is not None:
            self.cluster.admin.must("PATCH", f"{path}/{name}/status", {"status": status}, content=STRATEGIC)

    def event(self, pod: str, reason: str, message: str) -> None:
        """An event of a pod."""
        path = f"/api/v1/namespaces/{self.namespace}"
        uid = self.cluster.admin.must("GET", f"{path}/pods/{pod}")["metadata"]["uid"]
        about = {"kind": "Pod", "namespace": self.namespace, "name": pod, "uid": uid}
        event = {"metadata": {"name": f"{pod}.1"}, "involvedObject": about, "reason": reason, "message": message}
        self.cluster.admin.must("POST", f"{path}/events", event | {"type": "Warning"})


def crashed(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    """The status of a pod whose container ends again and again."""
    ended = {"exitCode": code, "reason": reason, "message": message, "containerID": "containerd://1"}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
    container = {
        "name": "main",
        "image": "registry.invalid/shop/app:1",
        "imageID": "",
        "ready": False,
        "restartCount": 7,
        "state": {"waiting": waiting},
        "lastState": {"terminated": ended},
    }
    return {"phase": "Running", "containerStatuses": [container]}


RUNNING = {
    "phase": "Running",
    "containerStatuses": [
        {
            "name": "main",
            "image": "registry.invalid/shop/app:1",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
    ],
}


@pytest.fixture
def shop(cluster: "Cluster") -> Iterator[Shop]:
    objects = Objects(cluster.admin)
    objects.install()
    # A namespace stays in removal without a controller manager: each test has its own.
    namespace = f"shop-{secrets.token_hex(4)}"
    cluster.create_namespace(namespace)
    # A controller manager, once a test has started it, makes it too.
    cluster.admin.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    yield Shop(cluster, objects, namespace)
    objects.clear()
