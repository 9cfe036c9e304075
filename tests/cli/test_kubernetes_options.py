"""Which cluster is meant."""

import json
from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_cli.kubernetes_options import KubernetesOptions


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a kubeconfig of two contexts."""
    clusters = [{"name": name, "cluster": {"server": f"https://{name}.invalid"}} for name in ("one", "two")]
    contexts = [{"name": name, "context": {"cluster": name, "user": ""}} for name in ("one", "two")]
    (tmp_path / ".kube").mkdir()
    content = {"clusters": clusters, "contexts": contexts, "current-context": "one"}
    (tmp_path / ".kube" / "config").write_text(json.dumps(content))
    return tmp_path


def test_a_kubeconfig_that_is_just_there_is_found_and_not_wanted(home: Path) -> None:
    environment = {"HOME": str(home)}
    assert KubernetesOptions().find(environment).server.host == "one.invalid"
    assert KubernetesOptions().find_wanted(environment) is None


def test_a_context_and_a_file_that_are_named_are_wanted(home: Path) -> None:
    wanted = KubernetesOptions(context="two").find_wanted({"HOME": str(home)})
    assert wanted
    assert wanted.server.host == "two.invalid"
    wanted = KubernetesOptions(home / ".kube" / "config").find_wanted({})
    assert wanted
    assert wanted.server.host == "one.invalid"


def test_no_cluster_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Kubernetes API server is known"):
        KubernetesOptions().find({"HOME": str(tmp_path)})
