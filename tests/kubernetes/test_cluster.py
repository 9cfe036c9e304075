"""The control plane that other tests stand on does what those tests take for granted."""

import contextlib
import os
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.api import APPLY, MERGE, Api, RequestRefusedError
from tests.kubernetes.cluster import NOT_READY_TAINT, Cluster, wait_until_ready
from tests.kubernetes.counting import RequestKind, parse_audit_log, parse_request_totals
from tests.kubernetes.processes import ServerProcess, pick_port

if TYPE_CHECKING:
    from tests.kubernetes.fixtures import Kubectl

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/{}/pods"
ROOT = Path(__file__).parents[2]
START_AND_WAIT = """
import sys
from pathlib import Path
from tests.kubernetes.cluster import Cluster, USERS

cluster = Cluster(Path(sys.argv[1]), Path(sys.argv[2]))
for user in USERS:
    cluster.write_kubeconfig(user)
parts = (cluster.etcd, cluster.api_server, cluster.scheduler, cluster.controller_manager)
for part in parts:
    part.start()
print(*(part.pid for part in parts), flush=True)
sys.stdin.read()
"""
LABEL = "feature.node.kubernetes.io/cpu-cpuid.AVX2"


def make_pod(name: str, selector: dict[str, str]) -> dict[str, object]:
    spec = {"containers": [{"name": "app", "image": "app"}], "nodeSelector": selector}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def make_deployment(name: str, replicas: int) -> dict[str, object]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def apply_label(api: Api, node: str, value: str) -> None:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {LABEL: value}}}
    api.must("PATCH", f"{NODES}/{node}?fieldManager=nodeworthy", body, content=APPLY)


def test_the_api_server_is_of_the_version_that_go_mod_names(cluster: Cluster) -> None:
    version = cluster.admin.must("GET", "/version")
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.35.4", "1", "35")


def test_a_token_that_nobody_has_is_not_let_in(cluster: Cluster) -> None:
    answer = Api(cluster.api_server.port, cluster.ca_file, "guessed").request("GET", NODES)
    assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")


def test_a_kubelet_may_change_its_own_node_and_no_other(cluster: Cluster) -> None:
    cluster.create_node("mine")
    cluster.create_node("other")
    kubelet = {"Impersonate_User": "system:node:mine", "Impersonate_Group": "system:nodes"}
    change = {"metadata": {"labels": {LABEL: "true"}}}
    assert cluster.admin.request("PATCH", f"{NODES}/mine", change, content=MERGE, **kubelet).status == 200
    assert cluster.admin.request("PATCH", f"{NODES}/other", change, content=MERGE, **kubelet).status == 403


def test_a_user_without_rights_is_known_and_refused(cluster: Cluster) -> None:
    answer = cluster.user("stranger").request("GET", NODES)
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert 'User "stranger" cannot list resource "nodes"' in answer.body["message"]


def test_a_service_account_gets_the_rights_of_its_role_and_no_more(cluster: Cluster) -> None:
    cluster.create_namespace("accounts")
    api = Api(cluster.api_server.port, cluster.ca_file, cluster.create_service_account("accounts", "reader"))
    assert api.request("GET", NODES).status == 403
    roles = "/apis/rbac.authorization.k8s.io/v1"
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "accounts"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-proxier"}
    binding = {"metadata": {"name": "accounts-reader"}, "roleRef": reference, "subjects": [subject]}
    cluster.admin.must("POST", f"{roles}/clusterrolebindings", binding)
    try:
        api.wait_until_allowed("list", "nodes")
        assert api.request("GET", NODES).status == 200
        assert api.request("DELETE", f"{NODES}/any").status == 403
    finally:
        cluster.admin.must("DELETE", f"{roles}/clusterrolebindings/accounts-reader")


def test_a_right_that_never_comes_is_said(cluster: Cluster) -> None:
    with pytest.raises(TimeoutError, match="may not delete nodes"):
        cluster.user("stranger").wait_until_allowed("delete", "nodes", seconds=1)


def test_a_refused_request_tells_what_was_said(cluster: Cluster) -> None:
    with pytest.raises(RequestRefusedError, match='nodes "nobody" not found'):
        cluster.admin.must("GET", f"{NODES}/nobody")


def test_a_node_without_a_kubelet_is_ready_and_has_its_labels(cluster: Cluster) -> None:
    made = cluster.create_node("lone", {LABEL: "true"}, capacity={"vendor.com/gpu": "2"})
    node = cluster.admin.must("GET", f"{NODES}/lone")
    assert node == made
    assert node["metadata"]["labels"][LABEL] == "true"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "lone"
    assert node["status"]["allocatable"]["vendor.com/gpu"] == "2"
    assert [(item["type"], item["status"]) for item in node["status"]["conditions"]] == [("Ready", "True")]
    assert node["spec"].get("taints") is None


def test_the_labels_of_a_node_belong_to_its_kubelet(cluster: Cluster) -> None:
    node = cluster.create_node("owned")
    owners = {
        entry["manager"]
        for entry in node["metadata"]["managedFields"]
        if "f:labels" in entry["fieldsV1"].get("f:metadata", {})
    }
    assert owners == {"kubelet"}


def test_a_node_that_is_not_ready_is_tainted(cluster: Cluster) -> None:
    node = cluster.create_node("ill", ready=False)
    assert [taint["key"] for taint in node["spec"]["taints"]] == [NOT_READY_TAINT]
    assert node["status"]["conditions"][0]["status"] == "False"


def test_what_a_test_made_is_gone_after_it(cluster: Cluster) -> None:
    cluster.create_node("left")
    cluster.create_namespace("left")
    cluster.admin.must("POST", PODS.format("left"), make_pod("left", {}))
    cluster.restore()
    assert cluster.admin.request("GET", f"{NODES}/left").status == 404
    assert cluster.admin.must("GET", PODS.format("left"))["items"] == []


def test_a_pod_is_bound_to_the_node_that_its_selector_names(scheduler: Cluster) -> None:
    scheduler.create_node("without")
    scheduler.create_node("with", {LABEL: "true"})
    scheduler.create_namespace("binding")
    scheduler.admin.must("POST", PODS.format("binding"), make_pod("picky", {LABEL: "true"}))
    pod = scheduler.admin.wait_for(PODS.format("binding"), "picky", lambda pod: "nodeName" in pod["spec"])
    assert pod["spec"]["nodeName"] == "with"


def test_a_pod_that_no_node_fits_is_called_unschedulable(scheduler: Cluster) -> None:
    scheduler.create_node("tainted", {LABEL: "other"}, ready=False)
    scheduler.create_namespace("waiting")
    scheduler.admin.must("POST", PODS.format("waiting"), make_pod("picky", {LABEL: "other"}))
    pod = scheduler.admin.wait_for(PODS.format("waiting"), "picky", lambda pod: "conditions" in pod["status"])
    assert pod["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert "untolerated taint" in pod["status"]["conditions"][0]["message"]


def test_a_deployment_gets_its_pods(controller_manager: Cluster) -> None:
    admin = controller_manager.admin
    controller_manager.create_namespace("deploying")
    path = "/apis/apps/v1/namespaces/deploying/deployments"
    admin.must("POST", path, make_deployment("app", 2))
    admin.wait_for(path, "app", lambda found: found.get("status", {}).get("replicas") == 2)
    pods = admin.must("GET", PODS.format("deploying"))["items"]
    assert [pod["metadata"]["labels"]["app"] for pod in pods] == ["app", "app"]


def test_controllers_whose_api_server_was_away_begin_anew(controller_manager: Cluster) -> None:
    manager = controller_manager.controller_manager
    first = manager.pid
    controller_manager.start_controller_manager()
    assert manager.pid == first
    controller_manager.restart_api_server()
    controller_manager.start_controller_manager()
    assert manager.pid != first


def test_a_condition_that_never_holds_is_said_with_what_was_there(cluster: Cluster) -> None:
    cluster.create_node("dull")
    with pytest.raises(TimeoutError, match="dull"):
        cluster.admin.wait_for(NODES, "dull", lambda _: False, seconds=1)


def test_every_request_is_counted_with_its_user_exactly_once(cluster: Cluster) -> None:
    cluster.create_node("counted")
    stranger = cluster.user("stranger", user_agent="curious/1")
    mark = cluster.mark_requests()
    apply_label(cluster.admin, "counted", "true")
    stranger.request("DELETE", f"{NODES}/counted")
    stranger.request("GET", NODES)
    stranger.request("GET", f"{NODES}?watch=1")
    cluster.admin.wait_for(NODES, "counted", lambda _: True)
    seen = [
        (request.user, request.verb, request.resource, request.name, request.status)
        for request in cluster.read_requests(mark)
        if request.user in ("admin", "stranger")
    ]
    assert seen == [
        ("admin", "patch", "nodes", "counted", 200),
        ("stranger", "delete", "nodes", "counted", 403),
        ("stranger", "list", "nodes", "", 403),
        ("stranger", "watch", "nodes", "", 403),
        ("admin", "watch", "nodes", "counted", 200),
    ]


def test_only_what_changes_something_is_a_write(cluster: Cluster) -> None:
    cluster.create_node("written")
    mark = cluster.mark_requests()
    apply_label(cluster.admin, "written", "true")
    cluster.admin.must("PATCH", f"{NODES}/written/status", {"status": {"capacity": {"v.com/x": "1"}}}, content=MERGE)
    cluster.admin.must("GET", f"{NODES}/written")
    assert [request.resource for request in cluster.read_writes(mark)] == ["nodes", "nodes/status"]


def test_what_a_controller_clears_up_is_not_a_write_of_ours(controller_manager: Cluster) -> None:
    admin = controller_manager.admin
    controller_manager.create_namespace("cleared")
    mark = controller_manager.mark_requests()
    admin.must("DELETE", "/api/v1/namespaces/cleared")
    deadline = time.monotonic() + 60
    while "deletecollection" not in {request.verb for request in controller_manager.read_requests(mark)}:
        assert time.monotonic() < deadline, "no controller clears the namespace up"
    assert [request.resource for request in controller_manager.read_writes(mark)] == ["namespaces"]


def test_the_totals_tell_a_server_side_apply_from_other_patches(cluster: Cluster) -> None:
    cluster.create_node("totalled")
    before = cluster.count_requests()
    apply_label(cluster.admin, "totalled", "true")
    apply_label(cluster.admin, "totalled", "false")
    cluster.admin.must("PATCH", f"{NODES}/totalled", {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
    made = cluster.count_requests() - before
    assert (made[RequestKind("APPLY", "nodes", 200)], made[RequestKind("PATCH", "nodes", 200)]) == (2, 1)


def test_an_audit_log_and_totals_are_read_as_they_are_written() -> None:
    line = (
        '{"auditID":"1","stage":"ResponseComplete","requestURI":"/apis/coordination.k8s.io/v1/namespaces/a/leases/b",'
        '"verb":"update","user":{"username":"u"},"userAgent":"x/1","objectRef":{"resource":"leases","namespace":"a",'
        '"name":"b","apiGroup":"coordination.k8s.io"},"responseStatus":{"code":409}}'
    )
    (request,) = parse_audit_log([line])
    assert (request.resource, request.namespace, request.name) == ("leases.coordination.k8s.io", "a", "b")
    assert (request.status, request.is_write) == (409, True)
    text = (
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="nodes",'
        'scope="resource",subresource="status",verb="APPLY",version="v1"} 3\n'
        'apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="nodes",'
        'scope="resource",subresource="status",verb="APPLY",version="v1"} 1e+00\n'
        "apiserver_request_total_other 9\n"
    )
    assert parse_request_totals(text) == {RequestKind("APPLY", "nodes/status", 200): 4}


def test_objects_and_tokens_outlive_a_crash_of_the_api_server(cluster: Cluster) -> None:
    node = cluster.create_node("kept")
    pid = cluster.api_server.pid
    cluster.restart_api_server()
    assert cluster.api_server.pid != pid
    assert cluster.admin.must("GET", f"{NODES}/kept")["metadata"] == node["metadata"]


def test_a_test_that_leaves_the_api_server_dead_or_frozen_gets_it_back(cluster: Cluster) -> None:
    cluster.api_server.kill()
    with pytest.raises(ConnectionRefusedError):
        cluster.admin.request("GET", "/version")
    cluster.restore()
    cluster.api_server.freeze()
    cluster.restore()
    assert cluster.admin.request("GET", "/version").status == 200


def test_objects_outlive_a_crash_of_the_store(cluster: Cluster) -> None:
    node = cluster.create_node("stored")
    cluster.etcd.kill()
    cluster.start()
    assert cluster.admin.must("GET", f"{NODES}/stored")["metadata"]["uid"] == node["metadata"]["uid"]


def test_a_clean_stop_of_the_api_server_is_one(cluster: Cluster) -> None:
    farewell = "Stopped listening on"
    before = cluster.api_server.log.count(farewell)
    cluster.api_server.kill()
    cluster.start()
    assert cluster.api_server.log.count(farewell) == before
    cluster.api_server.stop()
    assert cluster.api_server.log.count(farewell) == before + 1


def test_a_part_that_does_not_start_shows_its_log(cluster: Cluster, tmp_path: Path) -> None:
    broken = ServerProcess(cluster.scheduler.program, ["--config=nowhere"], tmp_path, pick_port())
    broken.start()
    try:
        with pytest.raises(RuntimeError, match="open nowhere: no such file"):
            wait_until_ready(broken)
    finally:
        broken.kill()


def test_a_frozen_api_server_answers_when_it_is_thawed(cluster: Cluster) -> None:
    cluster.api_server.freeze()
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(cluster.admin.request, "GET", "/version")
        assert read_state(cluster.api_server.pid) == "T"
        assert not answer.done()
        cluster.api_server.thaw()
        assert answer.result().status == 200


def read_state(pid: int) -> str:
    """The state letter of /proc/PID/stat (proc(5)), behind the name in brackets."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_version_from_before_a_compaction_is_gone_for_watches_after_a_restart(cluster: Cluster) -> None:
    cluster.create_node("old")
    version = cluster.admin.must("GET", f"{NODES}?limit=1")["metadata"]["resourceVersion"]
    apply_label(cluster.admin, "old", "true")
    cluster.compact()
    cluster.restart_api_server()
    answer = cluster.admin.request("GET", f"{NODES}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    assert answer.body["type"] == "ERROR"
    assert (answer.body["object"]["code"], answer.body["object"]["reason"]) == (410, "Expired")


def test_the_store_tells_its_size(cluster: Cluster) -> None:
    assert 0 < cluster.read_store_bytes() < 100 << 20


def test_the_stock_client_works_on_the_cluster(kubectl: "Kubectl", cluster: Cluster) -> None:
    cluster.create_node("listed", {LABEL: "true"})
    assert kubectl("get", "nodes", "-l", f"{LABEL}=true", "-o", "name").stdout == "node/listed\n"
    assert kubectl("get", "node", "unheard-of", check=False).returncode == 1
    with pytest.raises(subprocess.CalledProcessError) as failure:
        kubectl("get", "node", "unheard-of")
    assert 'nodes "unheard-of" not found' in "".join(failure.value.__notes__)


def test_all_parts_end_with_the_run_that_started_them(kubernetes_programs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START_AND_WAIT, str(kubernetes_programs), str(tmp_path)]
    with (
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run,
        contextlib.ExitStack() as opened,
    ):
        assert run.stdout is not None
        parts = [os.pidfd_open(int(pid)) for pid in run.stdout.readline().split()]
        for part in parts:
            opened.callback(os.close, part)
        assert len(parts) == 4
        assert select.select(parts, [], [], 0)[0] == []
        run.kill()
        for part in parts:
            assert select.select([part], [], [], 20)[0] == [part]
