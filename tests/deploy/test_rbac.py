"""What the service accounts of the manifests may do, asked of the API server and tried with their own tokens."""

from collections.abc import Callable
from http import HTTPStatus

import pytest
from tests.deploy.conftest import NAMESPACE, Applier
from tests.kubernetes.api import APPLY, JSON_PATCH, MERGE, Api, Object
from tests.kubernetes.cluster import Cluster

NFD = "nfd.k8s-sigs.io"
READ = ("get", "list", "watch")
MAY: dict[tuple[str, str], set[str]] = {
    ("", "nodes"): {*READ, "patch"},
    ("", "nodes/status"): {"patch"},
    **{(NFD, f"nodefeature{rest}"): {*READ} for rest in ("s", "rules", "groups")},
    **{(NFD, f"nodefeature{rest}/status"): {"patch", "update"} for rest in ("rules", "groups")},
}
"""In every namespace, group and resource to verbs."""
IN_OWN_NAMESPACE = {("coordination.k8s.io", "leases"): {"list", "create", "patch", "delete"}}
IN_DEFAULT = {("events.k8s.io", "events"): {"create", "patch"}}

TokenOf = Callable[[str], Api]


@pytest.fixture
def token_of(cluster: Cluster, installed: Applier) -> TokenOf:  # noqa: ARG001 # the accounts are there
    """The API server as a pod with this service account sees it."""

    def ask(name: str) -> Api:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        token = cluster.admin.must("POST", path, request)["status"]["token"]
        return Api(cluster.api_server.port, cluster.ca_file, token)

    return ask


def list_rights(api: Api, namespace: str) -> dict[tuple[str, str], set[str]]:
    """What the API server says that the asker may do in a namespace, but what everybody may."""
    rights: dict[tuple[str, str], set[str]] = {}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    found = api.must("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)["status"]
    assert not found["incomplete"]
    for rule in found["resourceRules"]:
        assert not rule.get("resourceNames")
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                rights.setdefault((group, resource), set()).update(rule["verbs"])
    return {
        what: verbs
        for what, verbs in rights.items()
        if not what[1].startswith("selfsubject") and what[0] != "authentication.k8s.io"
    }


def test_the_labeler_has_the_rights_that_are_written_down_and_no_others(token_of: TokenOf) -> None:
    labeler = token_of("nodeworthy-labeler")
    assert list_rights(labeler, NAMESPACE) == MAY | IN_OWN_NAMESPACE
    assert list_rights(labeler, "default") == MAY | IN_DEFAULT
    assert list_rights(labeler, "kube-system") == MAY


@pytest.mark.parametrize("part", ["detector", "resolver", "validator"])
def test_the_other_parts_have_no_rights_at_all(part: str, token_of: TokenOf) -> None:
    account = token_of(f"nodeworthy-{part}")
    assert list_rights(account, NAMESPACE) == {}
    assert list_rights(account, "default") == {}
    assert account.request("GET", "/api/v1/nodes").status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize(
    ("verb", "resource", "group", "namespace"),
    [
        ("create", "nodes", "", ""),
        ("delete", "nodes", "", ""),
        ("update", "nodes", "", ""),
        ("get", "secrets", "", NAMESPACE),
        ("list", "secrets", "", ""),
        ("list", "pods", "", ""),
        ("create", "pods", "", NAMESPACE),
        ("list", "leases", "coordination.k8s.io", "kube-system"),
        ("patch", "leases", "coordination.k8s.io", "kube-node-lease"),
        ("create", "events", "events.k8s.io", "kube-system"),
        ("patch", "nodefeaturerules", NFD, ""),
        ("create", "nodefeatures", NFD, NAMESPACE),
        ("get", "nodes/proxy", "", ""),
        ("impersonate", "users", "", ""),
    ],
)
def test_the_labeler_may_not(
    verb: str, resource: str, group: str, namespace: str, cluster: Cluster, token_of: TokenOf
) -> None:
    token_of("nodeworthy-labeler")
    assert not may(cluster, verb, resource, group, namespace)
    assert may(cluster, "patch", "nodes", "", "")  # the question is asked rightly


def may(cluster: Cluster, verb: str, resource: str, group: str, namespace: str) -> bool:
    what, _, sub = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": what, "subresource": sub, "namespace": namespace}
    user = f"system:serviceaccount:{NAMESPACE}:nodeworthy-labeler"
    review: Object = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    review |= {"spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked}}
    found = cluster.admin.must("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(found["status"]["allowed"])


def test_what_the_labeler_writes_to_a_node_works_with_its_own_token(cluster: Cluster, token_of: TokenOf) -> None:
    labeler = token_of("nodeworthy-labeler")
    node = cluster.create_node("rbac-1")
    path = "/api/v1/nodes/rbac-1"
    meta = {"name": "rbac-1", "uid": node["metadata"]["uid"], "labels": {"example.com/a": "b"}}
    applied: Object = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
    assert labeler.must("PATCH", f"{path}?fieldManager=nodeworthy", applied, content=APPLY)
    taints = [{"op": "add", "path": "/spec/taints", "value": [{"key": "example.com/t", "effect": "NoSchedule"}]}]
    assert labeler.must("PATCH", path, taints, content=JSON_PATCH)
    capacity: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "rbac-1"}}
    capacity["status"] = {"capacity": {"example.com/device": "2"}}
    assert labeler.must("PATCH", f"{path}/status?fieldManager=nodeworthy-capacity", capacity, content=APPLY)
    found = labeler.must("GET", path)
    assert found["metadata"]["labels"]["example.com/a"] == "b"
    assert found["spec"]["taints"][0]["key"] == "example.com/t"
    assert found["status"]["capacity"]["example.com/device"] == "2"


def test_a_node_that_is_gone_is_not_made_again_by_what_is_applied_to_it(token_of: TokenOf) -> None:
    applied = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "rbac-gone", "labels": {"example.com/a": "b"}}}
    answer = token_of("nodeworthy-labeler").request(
        "PATCH", "/api/v1/nodes/rbac-gone?fieldManager=nodeworthy", applied, content=APPLY
    )
    assert answer.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
    assert token_of("nodeworthy-labeler").request("GET", "/api/v1/nodes/rbac-gone").status == HTTPStatus.NOT_FOUND


def test_leases_and_events_of_the_labeler_work_with_its_own_token(cluster: Cluster, token_of: TokenOf) -> None:
    labeler = token_of("nodeworthy-labeler")
    node = cluster.create_node("rbac-2")
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    lease: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "rbac-member"}}
    labeler.must("POST", leases, lease)
    labeler.must("PATCH", f"{leases}/rbac-member", {"spec": {"holderIdentity": "a"}}, content=MERGE)
    assert [one["metadata"]["name"] for one in labeler.must("GET", leases)["items"]] == ["rbac-member"]
    labeler.must("DELETE", f"{leases}/rbac-member")
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"generateName": "rbac-"}, "note": "why"}
    event |= {"eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "nodeworthy.io/labeler"}
    event |= {"reportingInstance": "one", "action": "Label", "reason": "Conflict", "type": "Warning"}
    event["regarding"] = {"apiVersion": "v1", "kind": "Node", "name": "rbac-2", "uid": node["metadata"]["uid"]}
    made = labeler.must("POST", events, event)
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}
    labeler.must("PATCH", f"{events}/{made['metadata']['name']}", series, content=MERGE)
    cluster.admin.must("DELETE", f"{events}/{made['metadata']['name']}")


def test_the_status_of_rules_is_written_with_its_own_token_and_rules_are_not(
    token_of: TokenOf, installed: Applier
) -> None:
    rule = {"apiVersion": f"{NFD}/v1alpha1", "kind": "NodeFeatureRule", "metadata": {"name": "rbac"}}
    installed.must(rule | {"spec": {"rules": []}})
    labeler, path = token_of("nodeworthy-labeler"), installed.path(rule)
    try:
        labeler.must("PATCH", f"{path}/status", {"status": {"nodesMatched": 1}}, content=MERGE)
        refused = labeler.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
        assert refused.status == HTTPStatus.FORBIDDEN
    finally:
        installed.delete(rule)
