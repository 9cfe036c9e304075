"""``nodeworthy checkup --from-cluster`` against a real API server and a real registry."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.checkup.conftest import PushImage, Shop, WriteNode, report_of
from tests.kubernetes.api import MERGE, Api

from nodeworthy_cli import exits

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras
    from tests.kubernetes.cluster import Cluster

ARM_ONLY: dict[str, Any] = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}
AMD_ONLY: dict[str, Any] = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
                ]
            }
        }
    }
}


def checkup(nodeworthy: "Nodeworthy", shop: Shop, *more: str, code: int) -> str:
    return nodeworthy("checkup", *shop.options, "-o", "json", *more, code=code).stdout


def test_a_running_image_is_held_against_its_node_and_a_free_one_against_all(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage
) -> None:
    amd, arm = shop.node("amd"), shop.node("arm", "arm64")
    stuck, free = push("stuck", "amd64"), push("free", "amd64")
    shop.pod("stuck", stuck, arm)
    shop.workload("Deployment", "free", free)

    printed = checkup(nodeworthy, shop, code=exits.NO)

    there, loose = report_of(printed, stuck), report_of(printed, free)
    assert (there["rank"], there["risk"]) == (1, "cannot-run")
    assert there["reason"].startswith(f"cannot run on the only node where it runs ({arm})")
    assert there["workloads"][0] | {"namespace": ""} == {
        "namespace": "",
        "kind": "Pod",
        "name": "stuck",
        "standing": "running",
        "nodes": 1,
    }
    assert (loose["rank"], loose["risk"]) == (3, "platform-missing")
    assert loose["missing"] == ["linux/arm64"]
    assert loose["counts"] == {"incompatible": 1, "unknown": 1}
    assert amd not in json.dumps(loose["failing"])


def test_an_image_that_is_pinned_to_its_own_kind_of_nodes_is_no_risk_for_the_others(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage
) -> None:
    shop.node("amd")
    shop.node("arm", "arm64")
    by_selector, by_affinity, wrongly = push("one", "arm64"), push("two", "amd64"), push("three", "amd64")
    shop.workload("Deployment", "one", by_selector, pod=ARM_ONLY)
    shop.workload("StatefulSet", "two", by_affinity, pod=AMD_ONLY, spec={"serviceName": "two"})
    shop.workload("Deployment", "three", wrongly, pod=ARM_ONLY)

    printed = checkup(nodeworthy, shop, code=exits.NO)

    assert report_of(printed, by_selector)["risk"] == "undeclared"
    assert report_of(printed, by_affinity)["risk"] == "undeclared"
    assert report_of(printed, by_affinity)["workloads"][0]["selects"] == "kubernetes.io/arch=amd64"
    assert report_of(printed, wrongly)["risk"] == "cannot-run"
    assert "that its workloads select" in report_of(printed, wrongly)["reason"]


def test_a_daemon_set_goes_to_every_node_and_a_taint_keeps_what_does_not_tolerate_it(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage
) -> None:
    shop.node("amd")
    arm = shop.node("arm", "arm64")
    taint = {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}
    shop.cluster.admin.must("PATCH", f"/api/v1/nodes/{arm}", {"spec": {"taints": [taint]}}, content=MERGE)
    agent, free = push("agent", "amd64"), push("free", "amd64")
    shop.workload("DaemonSet", "agent", agent, pod={"tolerations": [{"operator": "Exists"}]})
    shop.workload("Deployment", "free", free)

    printed = checkup(nodeworthy, shop, code=exits.NO)

    assert report_of(printed, agent)["risk"] == "cannot-run"
    assert report_of(printed, free)["risk"] == "undeclared"


def test_an_older_replica_set_is_what_a_rollback_would_start(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage, controller_manager: "Cluster"
) -> None:
    shop.node("amd")
    shop.node("arm", "arm64")
    old, new = push("cart", "amd64", tag="1"), push("cart", "amd64", "arm64", tag="2")
    shop.workload("Deployment", "cart", old, spec={"replicas": 0})
    path = f"/apis/apps/v1/namespaces/{shop.namespace}/deployments"
    admin = controller_manager.admin
    admin.wait_for(path, "cart", lambda one: one.get("status", {}).get("observedGeneration") == 1)
    container = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": new}]}}}}
    admin.must("PATCH", f"{path}/cart", container, content=MERGE)
    key = "deployment.kubernetes.io/revision"
    admin.wait_for(path, "cart", lambda one: one["metadata"].get("annotations", {}).get(key) == "2")

    printed = checkup(nodeworthy, shop, code=exits.NO)

    told = report_of(printed, old)
    assert (told["risk"], told["workloads"][0]["standing"]) == ("platform-missing", "rollback")
    assert told["workloads"][0]["revisions"] == ["1"]
    assert told["reason"].endswith(f"; a rollback would start it: Deployment {shop.namespace}/cart")
    assert report_of(printed, new)["risk"] == "undeclared"
    assert report_of(printed, new)["workloads"][0]["standing"] == "template"


def test_a_tag_that_was_moved_since_it_was_pulled_is_noticed(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage
) -> None:
    image, nightly = push("cart", "amd64"), push("nightly", "amd64")
    shop.pod("cart", image, shop.node("amd"))
    shop.cron_job("nightly", nightly)

    printed = checkup(nodeworthy, shop, code=exits.UNKNOWN)

    assert "which the tag does not name any more" in report_of(printed, image)["notices"][0]
    assert "notices" not in report_of(printed, nightly)
    assert report_of(printed, nightly)["workloads"][0]["kind"] == "CronJob"


def test_a_pods_image_never_names_a_file_of_this_machine(
    nodeworthy: "Nodeworthy", shop: Shop, layout: Callable[..., str]
) -> None:
    image = layout("mine")
    shop.workload("Deployment", "spy", image)
    shop.node("amd")

    printed = checkup(nodeworthy, shop, code=exits.UNKNOWN)

    assert "a pod's image is in a registry" in report_of(printed, image)["reason"]


def test_what_nfd_found_of_nodes_counts(
    nodeworthy: "Nodeworthy",
    shop: Shop,
    variant_layout: Callable[[str, str], str],
    referrers_registry: str,
    oras: "Oras",
) -> None:
    old, new = shop.node("old"), shop.node("new")
    shop.flags(old, "X86_64_V1")
    shop.flags(new, "X86_64_V1", "X86_64_V2", "X86_64_V3")
    variant_layout("tuned", "v3")
    image = f"{referrers_registry}/shop/tuned:1"
    oras("cp", "--from-oci-layout", "tuned:latest", "--to-plain-http", image)
    shop.workload("Deployment", "tuned", image)

    found = report_of(checkup(nodeworthy, shop, code=exits.NO), image)

    assert (found["risk"], found["failing"][0]["nodes"]) == ("nodes-lack", [old])
    assert found["levels"] == ["linux/amd64/v3"]


def test_a_features_file_adds_a_node_that_is_not_there_yet(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage, write_node: WriteNode
) -> None:
    shop.node("amd")
    image = push("app", "amd64")
    shop.workload("Deployment", "app", image)

    before = checkup(nodeworthy, shop, code=exits.UNKNOWN)
    after = checkup(nodeworthy, shop, "--on", write_node("tomorrow", "arm64", "ARMv8.2"), code=exits.NO)

    assert report_of(before, image)["risk"] == "undeclared"
    assert report_of(after, image)["failing"][0]["nodes"] == ["tomorrow"]


def write_kubeconfig(folder: Path, server: str, **cluster: str) -> str:
    """A kubeconfig; ``token`` is the user's, the rest belongs to the cluster."""
    user = {"name": "u", "user": {"token": cluster.pop("token", "t")}}
    clusters = [{"name": "c", "cluster": {"server": server, **cluster}}]
    contexts = [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    config = {"apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": contexts, "users": [user]}
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config | {"current-context": "c"}))
    return str(path)


@pytest.fixture
def reader(shop: Shop, tmp_path: Path) -> Iterator[str]:
    """The kubeconfig of somebody who may list Nodes, pods and Deployments only."""
    admin, rbac, name = shop.cluster.admin, "/apis/rbac.authorization.k8s.io/v1", f"reader-{shop.namespace}"
    token = shop.cluster.create_service_account(shop.namespace, "reader")
    rule = {"apiGroups": ["", "apps"], "resources": ["nodes", "pods", "deployments"], "verbs": ["list"]}
    admin.must("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": shop.namespace}],
    }
    admin.must("POST", f"{rbac}/clusterrolebindings", binding)
    Api(shop.cluster.api_server.port, shop.cluster.ca_file, token).wait_until_allowed("list", "pods")
    authority = {"certificate-authority": str(shop.cluster.ca_file), "token": token}
    yield write_kubeconfig(tmp_path, shop.cluster.url, **authority)
    admin.must("DELETE", f"{rbac}/clusterrolebindings/{name}")
    admin.must("DELETE", f"{rbac}/clusterroles/{name}")


def test_what_may_not_be_listed_is_told_and_the_rest_is_answered(
    nodeworthy: "Nodeworthy", shop: Shop, push: PushImage, reader: str
) -> None:
    shop.node("amd")
    image = push("app", "amd64")
    shop.workload("Deployment", "app", image)

    options = ("--kubeconfig", reader, "--from-cluster", "-n", shop.namespace, "--plain-http", "-o", "json")
    done = nodeworthy("checkup", *options, code=exits.UNKNOWN)

    printed = json.loads(done.stdout)
    assert report_of(done.stdout, image)["risk"] == "undeclared"
    assert printed["incomplete"]
    assert any("the list of cronjobs cannot be read" in notice for notice in printed["notices"])


def test_a_cluster_that_does_not_answer_is_unknown(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path, "https://127.0.0.1:1")

    done = nodeworthy("checkup", "--from-cluster", "--kubeconfig", kubeconfig, code=exits.UNKNOWN)

    assert done.stderr.startswith("error: ")
