import json
from pathlib import Path

import pytest
from yarl import URL

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.config import find_access, find_in_cluster

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def write(path: Path, server: str) -> Path:
    content = {
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "k"}}],
        "current-context": "c",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The folder that the kubelet puts into a pod."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    for name in ("token", "ca.crt", "namespace"):
        (folder / name).write_text(f"{name}\n")
    return folder


async def test_a_pod_reaches_its_own_cluster(tmp_path: Path, account: Path) -> None:
    access = find_access(POD, tmp_path, service_account=account)
    assert (access.server, access.namespace) == (URL("https://10.96.0.1"), "namespace")
    assert access.trust.authority_file == account / "ca.crt"
    assert (await access.credentials.show()).authorization == "Bearer token"


def test_a_pod_of_an_ipv6_cluster_reaches_it_too(account: Path) -> None:
    access = find_in_cluster(POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}, account)
    assert access is not None
    assert str(access.server) == "https://[fd00::1]"


def test_a_kubeconfig_counts_before_the_pod(tmp_path: Path, account: Path) -> None:
    write(tmp_path / ".kube" / "config", "https://home")
    assert find_access(POD, tmp_path, service_account=account).server == URL("https://home")


def test_the_variable_counts_before_the_home_and_files_that_are_not_there_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", "https://home")
    listed = f"{tmp_path}/none:{write(tmp_path / 'listed', 'https://listed')}"
    assert find_access({"KUBECONFIG": listed}, tmp_path).server == URL("https://listed")


def test_a_file_that_is_named_counts_alone_and_must_be_there(tmp_path: Path) -> None:
    named = write(tmp_path / "named", "https://named")
    environment = {"KUBECONFIG": str(write(tmp_path / "listed", "https://listed"))}
    assert find_access(environment, tmp_path, kubeconfig=named).server == URL("https://named")
    with pytest.raises(UsageError, match=r"the kubeconfig cannot be read from .*/none: No such file"):
        find_access(environment, tmp_path, kubeconfig=tmp_path / "none")


def test_a_file_that_is_there_and_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"the kubeconfig cannot be read from .*/loop: Too many levels"):
        find_access({"KUBECONFIG": str(tmp_path / "loop")}, tmp_path)


@pytest.mark.parametrize(("environment", "context"), [({}, ""), (POD, "c")])
def test_nothing_known_is_one_clear_error(
    tmp_path: Path, account: Path, environment: dict[str, str], context: str
) -> None:
    with pytest.raises(UsageError, match="no Kubernetes API server is known") as raised:
        find_access(environment, tmp_path, context=context, service_account=account)
    assert "--kubeconfig" in raised.value.todo


def test_a_pod_without_a_token_is_not_one_of_a_cluster(account: Path) -> None:
    (account / "token").unlink()
    assert find_in_cluster(POD, account) is None


def test_a_port_that_is_none_is_told(account: Path) -> None:
    with pytest.raises(UsageError, match="KUBERNETES_SERVICE_PORT='tcp' cannot be used"):
        find_in_cluster(POD | {"KUBERNETES_SERVICE_PORT": "tcp"}, account)
