"""Nodes of a real API server as NFD and others leave them, and what has become of them."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tests.kubernetes.api import MERGE, STRATEGIC, Api, Object

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster

PREFIX = "feature.node.kubernetes.io/"
NFD = "nfd.node.kubernetes.io/"
TAINT = {"key": f"{PREFIX}gpu", "value": "true", "effect": "NoSchedule"}
TAINT_NAME = f"{PREFIX}gpu:NoSchedule"


class NfdMaster:
    """Writes to Nodes as nfd-master does, with its name in managedFields."""

    def __init__(self, cluster: "Cluster") -> None:
        self._api = cluster.user("admin", user_agent="nfd-master/v0.18.3")

    def label(self, node: str, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> None:
        """Set labels and annotations, and track them."""
        annotations = dict(annotations or {})
        tracking = {f"{NFD}feature-labels": _join(labels), f"{NFD}feature-annotations": _join(annotations)}
        metadata = {"labels": dict(labels), "annotations": annotations | tracking}
        self._api.must("PATCH", f"/api/v1/nodes/{node}", {"metadata": metadata}, content=MERGE)

    def give_capacity(self, node: str, key: str, amount: str) -> None:
        status = {"status": {"capacity": {key: amount}}}
        self._api.must("PATCH", f"/api/v1/nodes/{node}/status", status, content=STRATEGIC)
        self._track(node, "extended-resources", key)

    def taint(self, node: str) -> None:
        spec = {"spec": {"taints": [TAINT]}}
        self._api.must("PATCH", f"/api/v1/nodes/{node}", spec, content=STRATEGIC)
        self._track(node, "taints", f"{TAINT['key']}={TAINT['value']}:{TAINT['effect']}")

    def _track(self, node: str, name: str, value: str) -> None:
        change = {"metadata": {"annotations": {NFD + name: value}}}
        self._api.must("PATCH", f"/api/v1/nodes/{node}", change, content=MERGE)


def _join(names: Mapping[str, str]) -> str:
    return ",".join(sorted(name.removeprefix(PREFIX) for name in names))


def read(cluster: "Cluster", node: str) -> Object:
    found: Object = cluster.admin.must("GET", f"/api/v1/nodes/{node}")
    return found


def owners(node: Object, *path: str) -> set[tuple[str, str]]:
    """Who owns a field of a Node: manager and operation."""
    found = set()
    for entry in node["metadata"]["managedFields"]:
        fields = entry["fieldsV1"]
        for name in path:
            fields = fields.get(f"f:{name}")
            if fields is None:
                break
        else:
            found.add((entry["manager"], entry["operation"]))
    return found


def label_changes(api: Api, node: str, since: str) -> list[Mapping[str, str]]:
    """The labels of a Node each time that they changed since a resourceVersion, as a watch tells."""
    query = f"watch=1&fieldSelector=metadata.name={node}&resourceVersion={since}&timeoutSeconds=1"
    answer = api.request("GET", f"/api/v1/nodes?{query}").body
    events = [answer] if isinstance(answer, dict) else [json.loads(line) for line in answer.splitlines()]
    return [event["object"]["metadata"]["labels"] for event in events if event["type"] == "MODIFIED"]
