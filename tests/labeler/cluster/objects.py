"""Custom objects of the cluster that tests write, by the CRDs that we ship."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.kubernetes.api import JSON_PATCH, MERGE, Api, Object

CRDS = Path(__file__).parents[3] / "deploy" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/nfd.k8s-sigs.io/v1alpha1"
RULES = f"{GROUP}/nodefeaturerules"
GROUPS = GROUP + "/namespaces/{}/nodefeaturegroups"
FEATURES = GROUP + "/namespaces/{}/nodefeatures"
NODE_LABEL = "nfd.node.kubernetes.io/node-name"


def is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


class Objects:
    """Rules and facts as objects; each is gone after the test."""

    def __init__(self, admin: Api) -> None:
        self.admin = admin
        self._made: list[str] = []

    def install(self) -> None:
        """Our CRDs, if they are not there."""
        for path in sorted(CRDS.glob("node*.yaml")):
            definition = yaml.safe_load(path.read_text())
            if self.admin.request("POST", DEFINITIONS, definition).status == 201:
                self.admin.wait_for(DEFINITIONS, definition["metadata"]["name"], is_established)
                # Established is said a moment before the kind is served.
                while self.admin.request("GET", f"{GROUP}/{definition['spec']['names']['plural']}").status == 404:
                    time.sleep(0.05)

    def clear(self) -> None:
        for path in self._made:
            self.admin.request("DELETE", path)

    def rule(
        self,
        name: str,
        labels: Mapping[str, str],
        *,
        key: str = "x",
        annotations: Mapping[str, str] | None = None,
        resources: Mapping[str, str] | None = None,
    ) -> str:
        """A rule that gives these where attribute ``key`` of set ``lab.a`` is there; the path of its object."""
        term = {"feature": "lab.a", "matchExpressions": {key: {"op": "Exists"}}}
        rule: dict[str, Any] = {"name": name, "labels": dict(labels), "matchFeatures": [term]}
        rule |= {"annotations": dict(annotations)} if annotations else {}
        rule |= {"extendedResources": dict(resources)} if resources else {}
        return self._create(RULES, "NodeFeatureRule", {"name": name}, {"rules": [rule]})

    def change_rule(self, path: str, labels: Mapping[str, str]) -> None:
        change = [{"op": "replace", "path": "/spec/rules/0/labels", "value": dict(labels)}]
        self.admin.must("PATCH", path, change, content=JSON_PATCH)

    def feature(
        self,
        namespace: str,
        name: str,
        node: str,
        *,
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, Mapping[str, str]] | None = None,
    ) -> str:
        """A NodeFeature of a node; the path of the object."""
        sets = {set_name: {"elements": dict(values)} for set_name, values in (attributes or {}).items()}
        spec = {"features": {"flags": {}, "attributes": sets, "instances": {}}, "labels": dict(labels or {})}
        metadata = {"name": name, "namespace": namespace, "labels": {NODE_LABEL: node} if node else {}}
        return self._create(FEATURES.format(namespace), "NodeFeature", metadata, spec)

    def group(self, namespace: str, name: str, *, key: str) -> str:
        """A group of the nodes that have attribute ``key`` of set ``lab.a``."""
        term = {"feature": "lab.a", "matchExpressions": {key: {"op": "Exists"}}}
        spec = {"featureGroupRules": [{"name": name, "matchFeatures": [term]}]}
        metadata = {"name": name, "namespace": namespace}
        return self._create(GROUPS.format(namespace), "NodeFeatureGroup", metadata, spec)

    def change_feature(self, path: str, labels: Mapping[str, str]) -> None:
        self.admin.must("PATCH", path, {"spec": {"labels": dict(labels)}}, content=MERGE)

    @contextlib.contextmanager
    def without_status(self, plural: str, path: str) -> Iterator[None]:
        """Take the status from a kind for a while, as NFD's definition of rules has none; ``path`` is of one object."""
        definition = f"{DEFINITIONS}/{plural}.nfd.k8s-sigs.io"
        where = "/spec/versions/0/subresources"
        self.admin.must("PATCH", definition, [{"op": "remove", "path": where}], content=JSON_PATCH)
        self._wait_for_status(path, 404)
        yield
        change = [{"op": "add", "path": where, "value": {"status": {}}}]
        self.admin.must("PATCH", definition, change, content=JSON_PATCH)
        self._wait_for_status(path, 200)

    def _wait_for_status(self, path: str, answer: int) -> None:
        deadline = time.monotonic() + 20
        while not self._answers(f"{path}/status", answer):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _answers(self, path: str, status: int) -> bool:
        # While the server sets a changed definition up anew, it drops requests that are under way.
        with contextlib.suppress(ConnectionError):
            return self.admin.request("GET", path).status == status
        return False

    def delete(self, path: str) -> None:
        self.admin.must("DELETE", path)

    def _create(self, collection: str, kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
        body = {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
        self.admin.must("POST", collection, body)
        path = f"{collection}/{metadata['name']}"
        self._made.append(path)
        return path
