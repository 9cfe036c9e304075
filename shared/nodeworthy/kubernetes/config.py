"""Finding the API server: that of the pod that we run in, or the one of a kubeconfig."""

import time
from collections.abc import Mapping
from pathlib import Path

from yarl import URL

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.access import Access, Trust
from nodeworthy.kubernetes.credentials import FileCredentials, Shown, read_file
from nodeworthy.kubernetes.kubeconfig import World, parse_kubeconfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts token, authority and namespace (Kubernetes, "Accessing the Kubernetes API from a Pod")."""


def find_access(
    environment: Mapping[str, str],
    home: Path,
    *,
    kubeconfig: Path | None = None,
    context: str = "",
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The API server that is meant, in the order in which kubectl looks.

    A kubeconfig that is named counts alone; else the list in ``$KUBECONFIG``, else ``~/.kube/config``, else, where a context
    is not asked for, the pod's own cluster. Files of the list that are not there are passed over, as kubectl does.

    Raises:
        UsageError: there is none, or its files cannot be used.
        DocumentError: a kubeconfig has mistakes.
    """
    files = _read_files(environment, home, kubeconfig)
    if files:
        return parse_kubeconfig(files, context, World(environment, time.monotonic, time.time))
    if not context and (access := find_in_cluster(environment, service_account)):
        return access
    raise UsageError(
        "no Kubernetes API server is known",
        why="there is no kubeconfig, and this is no pod with a service account",
        todo="name a file by --kubeconfig, or set KUBECONFIG",
    )


def find_in_cluster(environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Access | None:
    """The API server of the cluster whose pod this is; ``None`` outside of one.

    Raises:
        UsageError: the namespace cannot be read; token and authority are read when they are needed, and again.
    """
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    token = service_account / "token"
    if not host or not token.exists():
        return None
    if not (port.isascii() and port.isdigit()):
        raise UsageError(f"KUBERNETES_SERVICE_PORT={port[:20]!r} cannot be used", why="it is no number")
    namespace = read_file(service_account / "namespace", "the pod's namespace").decode(errors="replace").strip()
    return Access(
        URL.build(scheme="https", host=host, port=int(port)),
        FileCredentials(Shown(), token=token, clock=time.monotonic),
        Trust(authority_file=service_account / "ca.crt"),
        namespace or "default",
        source="the pod's service account",
    )


def _read_files(environment: Mapping[str, str], home: Path, kubeconfig: Path | None) -> dict[Path, bytes]:
    what = "the kubeconfig"
    if kubeconfig is not None:
        return {kubeconfig: read_file(kubeconfig, what)}
    listed = [Path(name) for name in environment.get("KUBECONFIG", "").split(":") if name]
    return {path: read_file(path, what) for path in listed or [home / ".kube" / "config"] if _is_there(path)}


def _is_there(path: Path) -> bool:
    """Whether there is a file; one that cannot be looked at counts, so that reading it tells why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
