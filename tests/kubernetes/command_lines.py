"""How the parts of a control plane are called: all on loopback, with their files in one folder.

The flags are those of https://kubernetes.io/docs/reference/command-line-tools-reference/ and https://etcd.io/docs/v3.6/.
"""

import json
from pathlib import Path

from tests.kubernetes.counting import AUDIT_POLICY
from tests.kubernetes.processes import ServerProcess, pick_port

SCHEDULER_USER = "system:kube-scheduler"
CONTROLLER_MANAGER_USER = "system:kube-controller-manager"
"""The API server's own RBAC rules know these two."""
CERTIFICATE = Path("certificates", "apiserver.crt")
KEY = Path("certificates", "apiserver.key")
"""Made by the API server at its first start, before it reads them as keys of service accounts, which any key can be."""
AUDIT_LOG = "audit.log"
CONTROLLERS = (
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",  # evictions ask for the status of PodDisruptionBudgets
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "serviceaccount-controller",
    "statefulset-controller",
)
"""All that tests need. Those of Nodes are left out on purpose: without kubelets they would call every Node lost."""


def make_etcd(programs: Path, folder: Path) -> ServerProcess:
    port = pick_port()
    clients, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{pick_port()}"
    flags = [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",  # a test run's data need not outlive the machine
        "--log-level=warn",
    ]
    return ServerProcess(programs / "etcd", flags, folder, port)


def make_api_server(programs: Path, folder: Path, etcd_port: int, *, audit: bool) -> ServerProcess:
    """Who has a token stands in ``tokens.csv``, which must be there when it starts."""
    port = pick_port()
    flags = [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",  # an endpoint on loopback is refused; nobody needs one
        f"--cert-dir={(folder / CERTIFICATE).parent}",
        f"--service-account-key-file={folder / KEY}",
        f"--service-account-signing-key-file={folder / KEY}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--disable-admission-plugins=ServiceAccount",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--shutdown-watch-termination-grace-period=1s",  # without it a clean stop waits a minute for open watches
    ]
    if audit:
        policy = folder / "audit-policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY))
        flags += [f"--audit-policy-file={policy}", f"--audit-log-path={folder / AUDIT_LOG}"]
        # Written at once, and into one file: what is read later must not be rotated away (0 would mean 100 MB).
        flags += ["--audit-log-mode=blocking", "--audit-log-maxsize=1000000"]
    return ServerProcess(programs / "kube-apiserver", flags, folder, port)


def make_scheduler(programs: Path, folder: Path) -> ServerProcess:
    """It reads the kubeconfig file of SCHEDULER_USER."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(folder / name_kubeconfig(SCHEDULER_USER))},
        "leaderElection": {"leaderElect": False},
    }
    (folder / "scheduler.json").write_text(json.dumps(configuration))
    port = pick_port()
    flags = [
        f"--config={folder / 'scheduler.json'}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--authentication-skip-lookup",
    ]
    return ServerProcess(programs / "kube-scheduler", flags, folder, port)


def make_controller_manager(programs: Path, folder: Path) -> ServerProcess:
    """It reads the kubeconfig file of CONTROLLER_MANAGER_USER."""
    port = pick_port()
    flags = [
        f"--kubeconfig={folder / name_kubeconfig(CONTROLLER_MANAGER_USER)}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--authentication-skip-lookup",
        "--leader-elect=false",
        "--use-service-account-credentials",  # each controller with the rights that a real one has
        f"--controllers={','.join(CONTROLLERS)}",
    ]
    return ServerProcess(programs / "kube-controller-manager", flags, folder, port)


def name_kubeconfig(user: str) -> str:
    """The file name of a user's kubeconfig."""
    return f"{user.replace(':', '-')}.kubeconfig"
