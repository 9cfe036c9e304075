"""The client on a real API server: the refusals as they really are, and the traps that the labeler stands on."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from yarl import URL

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.config import find_access
from nodeworthy.kubernetes.metadata import PartialObject
from nodeworthy.kubernetes.refusals import (
    FieldConflict,
    KubernetesConflictError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesNotFoundError,
    KubernetesUnauthorizedError,
    KubernetesUnreachableError,
)
from nodeworthy.kubernetes.requests import Patch
from nodeworthy.kubernetes.resources import EVENTS, NODES

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy

KEY = "feature.node.kubernetes.io/x"


def document(name: str, labels: dict[str, str], **metadata: str) -> bytes:
    whole = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, **metadata}}
    return msgspec.json.encode(whole)


def apply(name: str, labels: dict[str, str], **metadata: str) -> requests.Request:
    return requests.apply(NODES, name, document(name, labels, **metadata), manager="us")


def labels_of(cluster: "Cluster", name: str) -> dict[str, str]:
    labels: dict[str, str] = cluster.admin.must("GET", f"/api/v1/nodes/{name}")["metadata"]["labels"]
    return labels


async def test_an_apply_owns_what_it_sends_and_removes_what_it_no_longer_sends(
    client: Client, cluster: "Cluster"
) -> None:
    cluster.create_node("c0")
    answer = await client.request(apply("c0", {KEY: "1", f"{KEY}-2": "1"}))
    metadata = msgspec.json.decode(answer.body, type=PartialObject).metadata
    ours = [field for field in metadata.managed_fields or () if field.manager == "us"]
    assert [(field.operation, KEY.encode() in bytes(field.fields)) for field in ours] == [("Apply", True)]
    await client.request(apply("c0", {KEY: "1"}))
    assert f"{KEY}-2" not in labels_of(cluster, "c0")


async def test_a_conflict_names_each_field_and_its_owner(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c1", {KEY: "theirs"})
    with pytest.raises(KubernetesConflictError) as raised:
        await client.request(apply("c1", {KEY: "ours", "other": "1"}))
    (conflict,) = raised.value.conflicts
    assert conflict[:2] == FieldConflict(f".metadata.labels.{KEY}", "kubelet", "")[:2]
    assert "other" not in labels_of(cluster, "c1")
    await client.request(
        requests.apply(NODES, "c1", document("c1", {KEY: "ours"}), manager="us", is_forced=True, is_dry=True)
    )
    assert labels_of(cluster, "c1")[KEY] == "theirs"


async def test_an_old_version_is_a_conflict_without_fields(client: Client, cluster: "Cluster") -> None:
    made = cluster.create_node("c2")["metadata"]
    await client.request(apply("c2", {KEY: "1"}, uid=made["uid"], resourceVersion=made["resourceVersion"]))
    with pytest.raises(KubernetesConflictError) as raised:
        await client.request(apply("c2", {KEY: "2"}, uid=made["uid"], resourceVersion=made["resourceVersion"]))
    assert raised.value.conflicts == ()


async def test_a_node_that_is_gone_is_not_made_by_an_apply_with_its_uid(client: Client, cluster: "Cluster") -> None:
    made = cluster.create_node("c3")["metadata"]
    cluster.delete_node("c3")
    with pytest.raises(KubernetesConflictError, match="Node c3 cannot be written"):
        await client.request(apply("c3", {KEY: "1"}, uid=made["uid"]))
    with pytest.raises(KubernetesNotFoundError, match="Node c3 cannot be read"):
        await client.request(requests.read(NODES, "c3"))


async def test_a_value_that_is_not_allowed_is_invalid(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c4")
    with pytest.raises(KubernetesInvalidError) as raised:
        await client.request(apply("c4", {KEY: "no good value"}))
    assert {cause.field for cause in raised.value.causes} == {"metadata.labels"}  # the key is in no field


async def test_patches_test_what_they_replace(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c5", {"a": "1"})
    operations = [{"op": "test", "path": "/metadata/labels/a", "value": "1"}]
    operations += [{"op": "replace", "path": "/metadata/labels/a", "value": "2"}]
    request = requests.patch(NODES, "c5", msgspec.json.encode(operations), Patch.JSON, manager="us")
    await client.request(request)
    with pytest.raises(KubernetesInvalidError):
        await client.request(request)
    merge = requests.patch(NODES, "c5", b'{"metadata": {"labels": {"a": "3"}}}', Patch.MERGE, manager="us")
    await client.request(merge)
    assert labels_of(cluster, "c5")["a"] == "3"


async def test_capacity_is_applied_through_the_status(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c6")
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "c6"}, "status": {"capacity": {"x.io/y": "2"}}}
    await client.request(requests.apply(NODES, "c6", msgspec.json.encode(body), manager="us", subresource="status"))
    status = cluster.admin.must("GET", "/api/v1/nodes/c6")["status"]
    assert (status["capacity"]["x.io/y"], status["capacity"]["cpu"]) == ("2", "8")


async def test_an_object_is_replaced_and_removed_in_one_state_only(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c7", {"a": "1"})
    whole = json.loads((await client.request(requests.read(NODES, "c7"))).body)
    whole["metadata"]["labels"]["a"] = "2"
    request = requests.replace_object(NODES, "c7", json.dumps(whole).encode(), manager="us")
    await client.request(request)
    with pytest.raises(KubernetesConflictError):
        await client.request(request)
    version, uid = whole["metadata"]["resourceVersion"], whole["metadata"]["uid"]
    with pytest.raises(KubernetesConflictError):
        await client.request(requests.delete(NODES, "c7", uid=uid, resource_version=version))
    await client.request(requests.delete(NODES, "c7", uid=uid))


async def test_a_name_that_is_taken_is_a_conflict_of_its_own_kind(client: Client, cluster: "Cluster") -> None:
    cluster.create_node("c8")
    with pytest.raises(KubernetesConflictError) as raised:
        await client.request(requests.create(NODES, "c8", document("c8", {}), manager="us"))
    assert raised.value.reason == "AlreadyExists"


async def test_a_list_of_metadata_comes_in_pages_of_one_version(client: Client, cluster: "Cluster") -> None:
    for number in range(5):
        cluster.create_node(f"c9-{number}", {"test": "pages"})
    listing = requests.list_all(NODES, label_selector="test=pages", is_metadata=True)
    pages = [page async for page in client.pages(listing, size=2)]
    assert [len(page.items or ()) for page in pages] == [2, 2, 1]
    assert len({page.metadata.resource_version for page in pages}) == 1
    item: Any = msgspec.json.decode((pages[0].items or [])[0])
    assert "spec" not in item
    assert item["metadata"]["managedFields"]


@pytest.mark.parametrize("is_compressed", [True, False])
async def test_a_large_answer_is_the_same_compressed_or_not(cluster: "Cluster", *, is_compressed: bool) -> None:
    cluster.create_node("c10", {f"x.io/{number}": "v" * 60 for number in range(2000)})  # over 128 KiB
    access = find_access({}, cluster.folder, kubeconfig=cluster.kubeconfig)
    async with Client(access, is_compressed=is_compressed) as client:
        body = (await client.request(requests.read(NODES, "c10", is_metadata=True))).body
    assert len(msgspec.json.decode(body, type=PartialObject).metadata.labels or {}) > 2000


async def test_a_service_account_of_a_pod_may_what_its_role_says(cluster: "Cluster", tmp_path: Path) -> None:
    cluster.create_namespace("pod-test")
    token = cluster.create_service_account("pod-test", "labeler")
    (tmp_path / "token").write_text(token)
    (tmp_path / "namespace").write_text("pod-test")
    (tmp_path / "ca.crt").write_bytes(cluster.ca_file.read_bytes())
    url = URL(cluster.url)
    environment = {"KUBERNETES_SERVICE_HOST": url.host or "", "KUBERNETES_SERVICE_PORT": str(url.port)}
    access = find_access(environment, tmp_path, service_account=tmp_path)
    assert access.namespace == "pod-test"
    async with Client(access) as client:
        with pytest.raises(KubernetesForbiddenError, match="system:serviceaccount:pod-test:labeler"):
            await client.request(requests.read(NODES, "none"))


async def test_a_token_that_the_server_does_not_know_is_one_clear_error(cluster: "Cluster") -> None:
    content = json.loads(cluster.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": "wrong"}
    path = cluster.folder / "wrong-token.kubeconfig"
    path.write_text(json.dumps(content))
    async with Client(find_access({}, cluster.folder, kubeconfig=path)) as client:
        with pytest.raises(KubernetesUnauthorizedError) as raised:
            await client.request(requests.read(NODES, "none"))
    assert raised.value.todo.startswith("log in to the cluster again")


async def test_a_credential_program_opens_the_cluster(cluster: "Cluster") -> None:
    content = json.loads(cluster.kubeconfig.read_text())
    version = "client.authentication.k8s.io/v1"
    printed = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": cluster.tokens["admin"]}}
    run = {"apiVersion": version, "command": "echo", "args": [json.dumps(printed)], "interactiveMode": "Never"}
    content["users"][0]["user"] = {"exec": run}
    path = cluster.folder / "exec.kubeconfig"
    path.write_text(json.dumps(content))
    async with Client(find_access({"PATH": "/usr/bin:/bin"}, cluster.folder, kubeconfig=path)) as client:
        assert (await client.request(requests.read(EVENTS, ""))).status == 200


async def test_a_server_that_asks_to_wait_is_waited_for(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    cluster.create_node("c11")
    fault_proxy.answer("PATCH", "c11", 429, retry_after=1)
    begun = time.monotonic()
    await proxied.request(apply("c11", {KEY: "1"}))
    assert time.monotonic() - begun >= 1
    assert labels_of(cluster, "c11")[KEY] == "1"


async def test_a_write_whose_answer_is_lost_was_done_and_is_not_sent_again(
    proxied: Client, cluster: "Cluster", fault_proxy: "FaultProxy"
) -> None:
    cluster.create_node("c12")
    fault_proxy.lose_answer("PATCH", "c12")
    with pytest.raises(KubernetesUnreachableError) as raised:
        await proxied.request(apply("c12", {KEY: "1"}))
    assert raised.value.was_sent
    assert labels_of(cluster, "c12")[KEY] == "1"
    assert len(fault_proxy.requests) == 1


async def test_a_frozen_server_is_given_up_in_time(client: Client, cluster: "Cluster") -> None:
    await client.request(requests.read(EVENTS, ""))
    cluster.api_server.freeze()
    with pytest.raises(KubernetesUnreachableError, match="did not answer in time"):
        await client.request(replace(requests.read(NODES, "none"), timeout=0.3))
    cluster.api_server.thaw()
