"""What an API server was asked: every request from its audit log, totals from its metrics."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
"""The verbs of the audit log that change something; a server-side apply is a ``patch``."""
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": ["system:apiserver"]},  # what the API server asks of itself
        # Each request is written once: a watch when it begins, any other when it is answered.
        {"level": "Metadata", "verbs": ["watch"], "omitStages": ["ResponseComplete"]},
        {"level": "Metadata", "omitStages": ["ResponseStarted"]},
    ],
}


@dataclass(frozen=True)
class AuditedRequest:
    """One request as the audit log tells it (https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/)."""

    user: str
    verb: str
    """``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``."""
    resource: str
    """``nodes``, ``nodes/status``, ``leases.coordination.k8s.io``; empty for paths that are no resource."""
    namespace: str
    name: str
    path: str
    status: int
    user_agent: str

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES and bool(self.resource)

    @property
    def is_of_kubernetes(self) -> bool:
        """Whether a part of Kubernetes itself asked; its controllers have service accounts of their own."""
        if self.user.startswith("system:serviceaccount:"):
            return self.user.startswith("system:serviceaccount:kube-system:")
        return self.user.startswith("system:")


class RequestKind(NamedTuple):
    """What the metric ``apiserver_request_total`` tells requests apart by; it does not know the user."""

    verb: str
    """As the metric has it: ``GET``, ``LIST``, ``WATCH``, ``POST``, ``PUT``, ``PATCH``, ``APPLY``, ``DELETE``."""
    resource: str
    """As in :class:`AuditedRequest`."""
    status: int


def parse_audit_log(lines: Iterable[str]) -> list[AuditedRequest]:
    """The requests of an audit log in JSON lines, written under AUDIT_POLICY."""
    return [read_entry(json.loads(line)) for line in lines]


def read_entry(entry: dict[str, Any]) -> AuditedRequest:
    """One line of the audit log."""
    target = entry.get("objectRef", {})
    return AuditedRequest(
        user=entry["user"].get("username", ""),
        verb=entry["verb"],
        resource=name_resource(target.get("resource", ""), target.get("apiGroup", ""), target.get("subresource", "")),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        path=entry["requestURI"],
        status=entry.get("responseStatus", {}).get("code", 0),
        user_agent=entry.get("userAgent", ""),
    )


def name_resource(resource: str, group: str, subresource: str) -> str:
    """A resource as kubectl writes it, ``leases.coordination.k8s.io``, with a subresource behind a slash."""
    return f"{resource}{'.' * bool(group)}{group}{'/' * bool(subresource)}{subresource}"


def parse_request_totals(text: str) -> Counter[RequestKind]:
    """The metric ``apiserver_request_total`` of the Prometheus text format::

    apiserver_request_total{code="200",dry_run="",group="",resource="nodes",subresource="",verb="LIST",...} 3
    """
    totals: Counter[RequestKind] = Counter()
    for line in re.findall(r"^apiserver_request_total\{.*$", text, re.MULTILINE):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        resource = name_resource(labels["resource"], labels["group"], labels["subresource"])
        totals[RequestKind(labels["verb"], resource, int(labels["code"]))] += int(float(line.rpartition(" ")[2]))
    return totals
