from pathlib import Path

import pytest

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy_labeler.settings import Settings, StartupTaint, read_settings


def test_without_variables_the_defaults_count() -> None:
    assert read_settings({"NODEWORTHY_RULES": "", "LANG": "C"}) == Settings()


def test_variables_replace_the_defaults() -> None:
    given = {
        "NODEWORTHY_CLUSTER": "c1",
        "NODEWORTHY_RULES": "/etc/rules",
        "NODEWORTHY_REPLICAS": "3",
        "NODEWORTHY_HTTP_PORT": "0",
        "NODEWORTHY_HTTP_HOST": "0.0.0.0",
    }
    settings = read_settings(given)
    assert (settings.cluster, settings.rules, settings.replicas) == ("c1", Path("/etc/rules"), 3)
    assert (settings.http_port, settings.http_host) == (0, "0.0.0.0")


@pytest.mark.parametrize(
    ("name", "value"),
    [("NODEWORTHY_REPLICAS", "0"), ("NODEWORTHY_REPLICAS", "many"), ("NODEWORTHY_HTTP_PORT", "65536")],
)
def test_a_variable_that_cannot_be_used_is_told(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name}='{value}' cannot be used: it is a number from"):
        read_settings({name: value})


def test_the_bucket_is_the_target_unless_a_cluster_is_named(tmp_path: Path) -> None:
    home = tmp_path / ".kube"
    home.mkdir()
    (home / "config").write_text("{}")
    assert read_settings({"HOME": str(tmp_path)}).kubernetes is None
    assert read_settings({"HOME": str(tmp_path), "NODEWORTHY_TARGET": "bucket"}).kubernetes is None


KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443"}}]
contexts: [{name: c, context: {cluster: c, namespace: labels}}, {name: d, context: {cluster: c, namespace: others}}]
current-context: c
"""


def test_a_kubeconfig_names_the_cluster(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    found = read_settings(
        {"NODEWORTHY_KUBECONFIG": str(path), "NODEWORTHY_NODE_FEATURE_NAMESPACES": "gpu-operator, nfd"}
    ).kubernetes
    assert found is not None
    assert (str(found.access.server), found.access.namespace) == ("https://10.0.0.1:6443", "labels")
    assert found.node_feature_namespaces == {"gpu-operator", "nfd"}


def test_a_context_names_the_cluster_too(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    path.parent.mkdir()
    path.write_text(KUBECONFIG)
    found = read_settings({"NODEWORTHY_CONTEXT": "d", "HOME": str(tmp_path)}).kubernetes
    assert found is not None
    assert found.access.namespace == "others"
    with pytest.raises(UsageError, match="nothing"):
        read_settings({"NODEWORTHY_CONTEXT": "nothing", "HOME": str(tmp_path)})


def test_who_may_bring_labels_is_told_by_the_settings_of_labels(tmp_path: Path) -> None:
    path, labels = tmp_path / "config", tmp_path / "labels.yaml"
    path.write_text(KUBECONFIG)
    labels.write_text("restrictions: {denyNodeFeatureLabels: true}\n")
    found = read_settings({"NODEWORTHY_KUBECONFIG": str(path), "NODEWORTHY_LABELS_CONFIG": str(labels)}).kubernetes
    assert found is not None
    assert not found.node_feature_labels


def test_a_home_that_has_a_kubeconfig_is_used_when_kubernetes_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    path.parent.mkdir()
    path.write_text(KUBECONFIG)
    found = read_settings({"NODEWORTHY_TARGET": "kubernetes", "HOME": str(tmp_path)}).kubernetes
    assert found is not None
    assert str(found.access.server) == "https://10.0.0.1:6443"


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"NODEWORTHY_TARGET": "nodes"}, "NODEWORTHY_TARGET='nodes' cannot be used"),
        ({"NODEWORTHY_TARGET": "kubernetes"}, "no Kubernetes API server is known"),
        ({"NODEWORTHY_KUBECONFIG": "/nowhere"}, "the kubeconfig cannot be read from /nowhere"),
    ],
)
def test_a_cluster_that_cannot_be_found_is_said(variables: dict[str, str], text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=text):
        read_settings({"HOME": str(tmp_path), **variables})


def test_the_taint_of_new_nodes_and_the_condition_are_off_unless_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    given = {"NODEWORTHY_KUBECONFIG": str(path)}
    found = read_settings(given).kubernetes
    assert found is not None
    assert (found.startup_taint, found.has_health_condition) == (None, False)
    taint = {"NODEWORTHY_STARTUP_TAINT": "x.org/new:NoExecute", "NODEWORTHY_HEALTH_CONDITION": "True"}
    found = read_settings(given | taint).kubernetes
    assert found is not None
    assert (found.startup_taint, found.has_health_condition) == (StartupTaint("x.org/new", "NoExecute"), True)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("NODEWORTHY_STARTUP_TAINT", "node.kubernetes.io/not-ready:NoSchedule", "is Kubernetes' own"),
        ("NODEWORTHY_STARTUP_TAINT", "new", "must have a namespace"),
        ("NODEWORTHY_STARTUP_TAINT", "x.org/new:", "the effect must be one of"),
        ("NODEWORTHY_STARTUP_TAINT", "x.org/new=1:NoSchedule", "a taint is named KEY or KEY:EFFECT"),
        ("NODEWORTHY_STARTUP_TAINT", "x.org/", "a taint is named KEY or KEY:EFFECT"),
        ("NODEWORTHY_HEALTH_CONDITION", "1", "it is true or false"),
    ],
)
def test_what_cannot_be_a_taint_or_a_switch_is_told(name: str, value: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    with pytest.raises(UsageError, match=f"{name}='{value}' cannot be used: .*{text}"):
        read_settings({"NODEWORTHY_KUBECONFIG": str(path), name: value})


def test_the_settings_of_labels_are_in_a_file_of_their_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text("labels: {autoPrefix: false}\nenableTaints: true\nresyncPeriod: 1h\n")
    settings = read_settings({"NODEWORTHY_LABELS_CONFIG": str(file)})
    assert (settings.labels.auto_prefix, settings.labels.outputs.taints) == (False, True)
    assert [record.message for record in caplog.records] == ["labeler.labels_config_notice"]
    file.write_text("label: {}\n")
    with pytest.raises(DocumentError, match="did you mean labels"):
        read_settings({"NODEWORTHY_LABELS_CONFIG": str(file)})
