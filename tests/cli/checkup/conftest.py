"""Features files of small nodes, images in folders and registries, and a namespace of a real cluster with workloads."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.labeler.cluster.objects import FEATURES, NODE_LABEL, Objects

if TYPE_CHECKING:
    from tests.conftest import Oras
    from tests.kubernetes.cluster import Cluster

INDEX = "application/vnd.oci.image.index.v1+json"
DIGEST = "sha256:" + "a" * 64

WriteNode = Callable[..., str]
PushImage = Callable[..., str]


@pytest.fixture
def write_node(tmp_path: Path) -> WriteNode:
    """Write the features file of a node in the folder that the program runs in; gives ``--on``'s value for it."""

    def write(name: str, architecture: str = "amd64", *levels: str) -> str:
        document = {
            "flags": {"cpu.cpuid": {"elements": {level: {} for level in levels or ("X86_64_V1",)}}},
            "attributes": {
                "system.architecture": {"elements": {"architecture": architecture}},
                "system.name": {"elements": {"nodename": name}},
            },
            "instances": {},
            "sets": {},
            "catalogue": ["cpu.cpuid", "system.architecture", "system.name"],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        return f"./{name}.json"

    return write


@pytest.fixture
def variant_layout(tmp_path: Path, builder: ModuleType) -> Callable[[str, str], str]:
    """Build ``oci:NAME``, an index that claims one amd64 image for a variant of it."""

    def build(name: str, variant: str) -> str:
        made = builder.Layout(tmp_path / name)
        platform = {"os": "linux", "architecture": "amd64", "variant": variant}
        child = {**made.add_image(name, "amd64"), "platform": platform}
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [child]}
        made.finish(made.add(INDEX, msgspec.json.encode(index)), "latest")
        return f"oci:{name}"

    return build


@pytest.fixture
def push(layout: Callable[..., str], referrers_registry: str, oras: "Oras") -> PushImage:
    """Push an image for some architectures; gives its name."""

    def put(name: str, *architectures: str, tag: str = "1") -> str:
        folder = f"{name}-{tag}"
        layout(folder, *architectures)
        image = f"{referrers_registry}/shop/{name}:{tag}"
        oras("cp", "--from-oci-layout", f"{folder}:latest", "--to-plain-http", image)
        return image

    return put


class Shop:
    """A namespace of a real cluster, as controllers and kubelets would leave it."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    @property
    def options(self) -> tuple[str, ...]:
        """The options that ask for the checkup of this namespace, with images of the test's registry."""
        cluster = ("--kubeconfig", str(self.cluster.kubeconfig), "--from-cluster", "--namespace", self.namespace)
        return (*cluster, "--plain-http")

    def node(self, name: str, architecture: str = "amd64", **more: Any) -> str:
        """A Node; gives its name, which no other test has."""
        unique = f"{name}-{self.namespace}"
        self.cluster.create_node(unique, node_info={"architecture": architecture}, **more)
        return unique

    def workload(self, kind: str, name: str, image: str, *, owner: str = "", revision: str = "", **more: Any) -> str:
        """A workload of one container; gives the uid. ``spec`` and ``pod`` add to its spec and to that of its pods."""
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [_container(image)], **more.get("pod", {})}}
        metadata: dict[str, Any] = {"name": name}
        if revision:
            metadata["annotations"] = {"deployment.kubernetes.io/revision": revision}
        if owner:
            owner_kind, owner_name, uid = owner.split("/")
            metadata["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": owner_kind, "name": owner_name, "uid": uid, "controller": True}
            ]
        spec = {"selector": {"matchLabels": labels}, "template": template, **more.get("spec", {})}
        return self._post(f"/apis/apps/v1/namespaces/{self.namespace}/{kind.lower()}s", metadata, spec)

    def pod(self, name: str, image: str, node: str, *, owner: str = "", digest: str = "") -> None:
        """A pod that a kubelet runs."""
        metadata: dict[str, Any] = {"name": name}
        if owner:
            kind, owner_name, uid = owner.split("/")
            metadata["ownerReferences"] = [
                {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": uid, "controller": True}
            ]
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        self._post(path, metadata, {"containers": [_container(image)], "nodeName": node})
        status = {"name": "main", "image": image, "imageID": f"{image.rpartition(':')[0]}@{digest or DIGEST}"}
        ready = {"ready": True, "restartCount": 0, "state": {"running": {}}}
        patch = {"status": {"phase": "Running", "containerStatuses": [status | ready]}}
        self.cluster.admin.must("PATCH", f"{path}/{name}/status", patch, content="application/merge-patch+json")

    def cron_job(self, name: str, image: str) -> None:
        """A CronJob."""
        pod = {"containers": [_container(image)], "restartPolicy": "Never"}
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
        self._post(f"/apis/batch/v1/namespaces/{self.namespace}/cronjobs", {"name": name}, spec)

    def flags(self, node: str, *flags: str) -> None:
        """A NodeFeature with flags of a node's processor, as NFD's worker writes it."""
        features: dict[str, Any] = {
            "flags": {"cpu.cpuid": {"elements": {flag: {} for flag in flags}}},
            "attributes": {},
            "instances": {},
        }
        metadata = {"name": node, "labels": {NODE_LABEL: node}}
        body = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature", "metadata": metadata}
        path = FEATURES.format(self.namespace)
        self.cluster.admin.must("POST", path, {**body, "spec": {"features": features}})

    def _post(self, path: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
        made = self.cluster.admin.must("POST", path, {"metadata": metadata, "spec": spec})
        uid: str = made["metadata"]["uid"]
        return uid


def _container(image: str) -> dict[str, str]:
    return {"name": "main", "image": image}


@pytest.fixture
def shop(cluster: "Cluster") -> Iterator[Shop]:
    # A namespace stays in removal without a controller manager: each test has its own.
    namespace = f"shop-{secrets.token_hex(4)}"
    cluster.create_namespace(namespace)
    # Pods need the account, which a controller manager makes too where it runs.
    cluster.admin.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    Objects(cluster.admin).install()
    yield Shop(cluster, namespace)
    cluster.admin.must("DELETE", FEATURES.format(namespace))
    for kind in ("deployments", "replicasets", "daemonsets", "statefulsets"):
        cluster.admin.must("DELETE", f"/apis/apps/v1/namespaces/{namespace}/{kind}")
    cluster.admin.must("DELETE", f"/apis/batch/v1/namespaces/{namespace}/cronjobs")


def report_of(printed: str, image: str) -> dict[str, Any]:
    """The report on one image of ``-o json``."""
    found: dict[str, Any] = next(one for one in json.loads(printed)["images"] if one["image"] == image)
    return found
