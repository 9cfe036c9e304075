"""Fixtures of a real Kubernetes control plane, known to every test through tests/conftest.py.

One control plane serves the whole run, since its start costs seconds: tests use names of their own. Each test gets it back
running and without the Nodes and namespaces that another one made through it.
"""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio
from tests.conftest import CLIENT_SECONDS, build_programs, require_success
from tests.kubernetes.cluster import Cluster
from tests.kubernetes.fault_proxy import FaultProxy


@pytest.fixture(scope="session")
def kubernetes_programs() -> Path:
    """The folder of the built control plane and kubectl."""
    return build_programs("kubernetes")


@pytest.fixture(scope="session")
def shared_cluster(kubernetes_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The control plane of this run; what is put into it through this fixture stays until the first test ends."""
    made = Cluster(kubernetes_programs, tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """etcd and kube-apiserver, running whatever the last test did to them."""
    yield shared_cluster
    shared_cluster.restore()


@pytest.fixture
def scheduler(cluster: Cluster) -> Cluster:
    """The control plane with kube-scheduler, which then stays for the tests that follow."""
    cluster.start_scheduler()
    return cluster


@pytest.fixture
def controller_manager(cluster: Cluster) -> Cluster:
    """The control plane with kube-controller-manager, which then stays for the tests that follow."""
    cluster.start_controller_manager()
    return cluster


@pytest_asyncio.fixture
async def fault_proxy(cluster: Cluster) -> AsyncIterator[FaultProxy]:
    """A proxy in front of the API server that breaks what a test tells it to."""
    async with FaultProxy(cluster.url, cluster.ca_file) as proxy:
        yield proxy


class Kubectl(Protocol):
    """The stock ``kubectl`` as administrator; with ``check`` a failure raises :class:`subprocess.CalledProcessError`."""

    def __call__(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run gives it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def kubectl(kubernetes_programs: Path, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """The stock client of the same version; its home is its own."""
    home = tmp_path_factory.mktemp("kubectl")
    environment = {"HOME": str(home), "KUBECONFIG": str(cluster.kubeconfig), "PATH": os.defpath}

    def run(
        *args: str,
        input: str | None = None,  # noqa: A002 - the name that subprocess.run gives it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [kubernetes_programs / "kubectl", *args],
            input=input or "",
            check=False,
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=CLIENT_SECONDS,
        )
        if check:
            require_success(done)
        return done

    return run
