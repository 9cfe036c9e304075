"""A real Kubernetes control plane on loopback: etcd and kube-apiserver, and the other two when they are asked for.

There is no kubelet and no container: Nodes are written as a kubelet would, and a pod that is bound stays Pending.
"""

import http.client
import json
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.kubernetes import command_lines
from tests.kubernetes.api import JSON_PATCH, POLL_SECONDS, STRATEGIC, Api, Object
from tests.kubernetes.counting import (
    AuditedRequest,
    RequestKind,
    parse_audit_log,
    parse_request_totals,
)
from tests.kubernetes.processes import ServerProcess

START_SECONDS = 60
"""The API server is ready in 3 to 4 s on an idle machine; the rest is for a machine that is busy."""
USERS: Mapping[str, Sequence[str]] = {
    "admin": ("system:masters",),
    "stranger": (),  # known, and with no rights but those of everybody
    command_lines.SCHEDULER_USER: (),
    command_lines.CONTROLLER_MANAGER_USER: (),
}
"""Who has a token from the start, with groups. Others are service accounts: :meth:`Cluster.create_service_account`."""
CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
NODE_INFO = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "containerd://2.1.4",
    "kernelVersion": "6.12.0",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.35.4",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "Debian GNU/Linux 13 (trixie)",
    "systemUUID": "",
}
NOT_READY_TAINT = "node.kubernetes.io/not-ready"
"""Put on every new Node by the admission plugin TaintNodesByCondition, removed when its kubelet says Ready."""


class Cluster:
    """etcd and kube-apiserver in a folder of their own, with tokens for some users, and what can happen to them.

    Ports, data, certificates and tokens stay the same when a part is started again. With ``audit`` each request can be
    read afterwards with its user; a benchmark does without.
    """

    def __init__(
        self, programs: Path, folder: Path, *, audit: bool = True, users: Mapping[str, Sequence[str]] = USERS
    ) -> None:
        self.folder = folder
        self.tokens = {user: secrets.token_hex(16) for user in users}
        self._nodes: list[str] = []
        self._namespaces: list[str] = []
        rows = [f'{self.tokens[name]},{name},{name},"{",".join(groups)}"' for name, groups in users.items()]
        (folder / "tokens.csv").write_text("\n".join([*rows, ""]))
        self.etcd = command_lines.make_etcd(programs, folder)
        self.api_server = command_lines.make_api_server(programs, folder, self.etcd.port, audit=audit)
        self.scheduler = command_lines.make_scheduler(programs, folder)
        self.controller_manager = command_lines.make_controller_manager(programs, folder)
        self._interruptions: dict[ServerProcess, int] = {}

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.api_server.port}"

    @property
    def ca_file(self) -> Path:
        """The API server's own certificates, which it makes at its first start."""
        return self.folder / command_lines.CERTIFICATE

    @cached_property
    def admin(self) -> Api:
        return self.user("admin")

    @cached_property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of the administrator."""
        return self.write_kubeconfig("admin")

    def user(self, name: str, *, user_agent: str = "nodeworthy-tests") -> Api:
        """The API server as one of the users with a token sees it."""
        return Api(self.api_server.port, self.ca_file, self.tokens[name], user_agent)

    def write_kubeconfig(self, user: str) -> Path:
        """A kubeconfig file with the token of a user, in JSON, which is YAML too."""
        path = self.folder / command_lines.name_kubeconfig(user)
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        path.write_text(json.dumps(content))
        return path

    # Its life

    def start(self) -> None:
        """Start what is down of etcd and the API server, and wait until the latter is ready."""
        for server in (self.etcd, self.api_server):
            if not server.is_running:
                server.start()
        wait_until_ready(self.api_server)

    def close(self) -> None:
        """End everything; the data stay."""
        for server in (self.controller_manager, self.scheduler, self.api_server, self.etcd):
            server.kill()

    def restart_api_server(self) -> None:
        """A crash of the API server and its return: watches break, and what it remembered of changes is gone."""
        self.api_server.kill()
        self.start()

    def start_scheduler(self) -> None:
        """Have the scheduler run, which binds pods."""
        self._start_controller(self.scheduler, command_lines.SCHEDULER_USER)

    def start_controller_manager(self) -> None:
        """Have the controller manager run, which makes the pods of Deployments and finishes a namespace's removal."""
        self._start_controller(self.controller_manager, command_lines.CONTROLLER_MANAGER_USER)

    def _start_controller(self, controller: ServerProcess, user: str) -> None:
        """Start one that is down, and anew one whose API server was away since.

        Its watches would come back only after waits that grow to a minute: client-go, tools/cache/reflector.go.
        """
        interruptions = self.api_server.interruptions + self.etcd.interruptions
        if controller.is_running and self._interruptions[controller] == interruptions:
            return
        controller.kill()
        self._interruptions[controller] = interruptions
        self.write_kubeconfig(user)
        controller.start()
        wait_until_ready(controller, path="/healthz")

    def restore(self) -> None:
        """After a test: let everything run as before, and remove the Nodes and namespaces that were made through it."""
        for server in (self.etcd, self.api_server, self.scheduler, self.controller_manager):
            if server.is_running:
                server.thaw()
        self.start()
        while self._nodes:
            self.delete_node(self._nodes[-1])
        # Of labelers that were killed: for a minute they would count as running.
        self.admin.request("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases")
        while self._namespaces:
            self.delete_namespace(self._namespaces[-1])

    def compact(self) -> int:
        """Make etcd forget all but the newest revision, which it returns.

        The API server still knows recent changes: a watch from an old version gets 410 after a restart of it only.
        """
        revision = int(self._ask_etcd("kv/range", {"key": "AA=="})["header"]["revision"])
        self._ask_etcd("kv/compaction", {"revision": revision, "physical": True})
        return revision

    def read_store_bytes(self) -> int:
        """Bytes in use in etcd's database."""
        return int(self._ask_etcd("maintenance/status", {})["dbSizeInUse"])

    # What is in it

    def create_node(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        *,
        ready: bool = True,
        capacity: Mapping[str, str] | None = None,
        node_info: Mapping[str, str] | None = None,
    ) -> Object:
        """A Node as its kubelet makes it, with labels from the first moment, gone again after the test.

        ``capacity`` and ``node_info`` add to what every Node has. One that is not ready keeps the taint not-ready.
        """
        kubelet = self.user("admin", user_agent="kubelet/v1.35.4")  # gives the name in managedFields
        info = NODE_INFO | dict(node_info or {})
        system = {"kubernetes.io/os": info["operatingSystem"], "kubernetes.io/arch": info["architecture"]}
        labels = {"kubernetes.io/hostname": name} | system | dict(labels or {})
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        kubelet.must("POST", "/api/v1/nodes", node)
        self._nodes.append(name)
        amounts = CAPACITY | dict(capacity or {})
        status = {"capacity": amounts, "allocatable": amounts, "nodeInfo": info, "conditions": [describe_ready(ready)]}
        made: Object = kubelet.must("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=STRATEGIC)
        if ready:
            made = self._remove_taint(made, NOT_READY_TAINT)
        return made

    def delete_node(self, name: str) -> None:
        """Remove a Node; one that is not there any more is fine."""
        self.admin.request("DELETE", f"/api/v1/nodes/{name}")
        self._nodes = [node for node in self._nodes if node != name]

    def create_namespace(self, name: str) -> None:
        """A namespace, gone again after the test (its pods at once, the rest with a controller manager only)."""
        self.admin.must("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self._namespaces.append(name)

    def delete_namespace(self, name: str) -> None:
        """Remove a namespace, and its pods without the grace that only a kubelet would end."""
        self.admin.request("DELETE", f"/api/v1/namespaces/{name}")
        self.admin.request("DELETE", f"/api/v1/namespaces/{name}/pods?gracePeriodSeconds=0")
        self._namespaces = [namespace for namespace in self._namespaces if namespace != name]

    def create_service_account(self, namespace: str, name: str) -> str:
        """A service account with the token that a pod of it would have, valid for an hour.

        Its user is ``system:serviceaccount:NAMESPACE:NAME``.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.admin.must("POST", path, {"metadata": {"name": name}})
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        token: str = self.admin.must("POST", f"{path}/{name}/token", request)["status"]["token"]
        return token

    # What was asked of it

    def count_requests(self) -> Counter[RequestKind]:
        """All answered requests since the API server started; the difference of two is what happened in between."""
        return parse_request_totals(self.admin.must("GET", "/metrics"))

    def mark_requests(self) -> int:
        """Where the audit log stands now, for :meth:`read_requests`."""
        start = self._audit_log.stat().st_size
        return start + len(self._read_audit_log(start))

    def read_requests(self, mark: int) -> list[AuditedRequest]:
        """Every request answered (a watch: begun) since the mark, by whoever, but not the one that looks."""
        return parse_audit_log(self._read_audit_log(mark).decode().splitlines()[:-1])

    def read_writes(self, mark: int) -> list[AuditedRequest]:
        """What was written since the mark; what Kubernetes' own controllers still clear up is not counted."""
        return [request for request in self.read_requests(mark) if request.is_write and not request.is_of_kubernetes]

    @property
    def _audit_log(self) -> Path:
        return self.folder / command_lines.AUDIT_LOG

    def _read_audit_log(self, start: int) -> bytes:
        """The audit log from a byte on, up to and with a request of our own.

        The log is written before an answer ends, but an answer may be read before it ends; what was answered before
        our request began is in front of it.
        """
        fence = f"/version?fence={secrets.token_hex(8)}"
        self.admin.must("GET", fence)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with self._audit_log.open("rb") as file:
                file.seek(start)
                log = file.read()
            end = log.find(b"\n", log.find(fence.encode()))
            if fence.encode() in log and end >= 0:
                return log[: end + 1]
            time.sleep(POLL_SECONDS)
        raise TimeoutError("the audit log does not show a request that was answered")

    def _remove_taint(self, node: Object, key: str) -> Object:
        """What the node lifecycle controller does when a kubelet says Ready, with its name in managedFields."""
        taints = node["spec"].get("taints", [])
        left = [taint for taint in taints if taint["key"] != key]
        change = [{"op": "test", "path": "/spec/taints", "value": taints}]
        change += [{"op": "replace", "path": "/spec/taints", "value": left}]
        controller = self.user("admin", user_agent="kube-controller-manager/v1.35.4")
        changed: Object = controller.must(
            "PATCH", f"/api/v1/nodes/{node['metadata']['name']}", change, content=JSON_PATCH
        )
        return changed

    def _ask_etcd(self, path: str, body: Mapping[str, object]) -> Any:
        """A call of etcd's gRPC interface through its JSON gateway (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/)."""
        url = f"http://127.0.0.1:{self.etcd.port}/v3/{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=START_SECONDS) as response:
            return json.load(response)


def describe_ready(ready: bool) -> Object:
    """The condition Ready as a kubelet writes it."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    condition = {"type": "Ready", "status": str(ready), "reason": "KubeletReady" if ready else "KubeletNotReady"}
    return condition | {"lastHeartbeatTime": now, "lastTransitionTime": now}


def wait_until_ready(server: ServerProcess, path: str = "/readyz") -> None:
    """Wait until a server of Kubernetes says that it is ready; it has no other way to tell.

    Raises:
        RuntimeError: It ended, or was not ready in time; the end of its log is in the text.
    """
    context = ssl._create_unverified_context()  # the certificate may not be made yet
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.is_running:
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{server.port}{path}", timeout=5, context=context):
                return
        except (urllib.error.URLError, http.client.HTTPException, OSError):
            time.sleep(POLL_SECONDS)
    raise RuntimeError(f"{server.program.name} is not ready; the end of its log:\n{server.log[-4000:]}")
