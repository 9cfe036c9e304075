"""``nodeworthy diagnose --pod`` and ``--workload`` on a real API server."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.diagnose.conftest import RUNNING, Shop, crashed

if TYPE_CHECKING:
    from tests.cli.conftest import Verb
    from tests.kubernetes.cluster import Cluster

LABEL = "feature.node.kubernetes.io/accelerator"
OLD_CPU: dict[str, Any] = {"cpu.cpuid": {"elements": {"X86_64_V1": {}, "SSE2": {}}}}
NEW_CPU: dict[str, Any] = {
    "cpu.cpuid": {"elements": {name: {} for name in ("X86_64_V1", "X86_64_V2", "X86_64_V3", "AVX2", "SSE2")}}
}
GPU = {"pci.device": {"elements": [{"attributes": {"vendor": "10de", "class": "0302"}}]}}


def diagnose(verb: "Verb", shop: Shop, *arguments: str, code: int) -> Any:
    done = verb("diagnose", *arguments, "-o", "json", *shop.options, code=code)
    return json.loads(done.stdout)


def test_a_pod_that_waits_for_a_short_key_is_told_the_final_one(scheduler: "Cluster", shop: Shop, verb: "Verb") -> None:
    for name in ("gpu", "cpu"):
        scheduler.create_node(name)
    shop.gpu_rule()
    shop.facts("gpu", instances=GPU)
    shop.facts("cpu", instances={"pci.device": {"elements": []}})
    shop.pod("cuda-app", nodeSelector={"accelerator": "nvidia"})
    path = f"/api/v1/namespaces/{shop.namespace}/pods"
    scheduler.admin.wait_for(path, "cuda-app", lambda pod: bool(pod["status"].get("conditions")))
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/cuda-app", code=0)
    assert found["summary"] == f"no node carries accelerator; rule gpu-rule gives {LABEL}=nvidia on node gpu"
    cause = found["causes"][0]
    assert cause["selector"] == {LABEL: "nvidia"}
    assert cause["cure"].startswith(f'nodeSelector: {{{LABEL}: "nvidia"}} in place of accelerator')
    # What the scheduler said of it is read as well.
    assert "pending-selector" in [signal["code"] for signal in found["signals"]]
    text = verb("diagnose", "--pod", f"{shop.namespace}/cuda-app", *shop.options).stdout
    assert f'    {LABEL}: "nvidia"' in text


def test_a_device_without_its_plugin_keeps_a_pod_waiting(scheduler: "Cluster", shop: Shop, verb: "Verb") -> None:
    scheduler.create_node("gpu")
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    shop.pod("cuda-app", container=limits)
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/cuda-app", code=0)
    assert found["causes"][0]["code"] == "resource-not-offered"


def test_an_exit_code_is_held_against_the_facts_of_the_pods_node(shop: Shop, verb: "Verb") -> None:
    shop.cluster.create_node("old")
    shop.facts("old", flags=OLD_CPU)
    message = "Fatal glibc error: CPU does not support x86-64-v3"
    shop.pod("app", nodeName="old", status=crashed(127, message=message))
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/app", code=0)
    assert found["causes"][0]["evidence"] == ["the node: cpu.cpuid X86_64_V3 absent"]


def test_a_node_that_has_it_all_is_not_explained(shop: Shop, verb: "Verb") -> None:
    shop.cluster.create_node("new")
    shop.facts("new", flags=NEW_CPU)
    message = "Fatal glibc error: CPU does not support x86-64-v3"
    shop.pod("app", nodeName="new", status=crashed(127, message=message))
    # Its image cannot be looked at, so that more might be found.
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/app", code=3)
    assert not found["explained"]


def test_a_container_out_of_memory_is_no_matter_of_compatibility(shop: Shop, verb: "Verb") -> None:
    shop.cluster.create_node("n1")
    shop.pod("app", nodeName="n1", status=crashed(137, "OOMKilled"))
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/app", code=0)
    assert found["causes"][0]["code"] == "memory-limit"


@pytest.mark.parametrize(
    ("has_card", "is_given", "code"),
    [(False, False, "device-missing"), (True, False, "device-not-given"), (True, True, "driver-refuses")],
)
def test_no_device_no_grant_and_a_driver_that_refuses_are_kept_apart(
    shop: Shop, verb: "Verb", has_card: bool, is_given: bool, code: str
) -> None:
    shop.cluster.create_node("n1")
    card = {"attributes": {"vendor": "nvidia", "kind": "gpu", "model": "NVIDIA A10"}}
    shop.facts("n1", instances={"accel.device": {"elements": [card] if has_card else []}})
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}} if is_given else {}
    message = "RuntimeError: no CUDA-capable device is detected"
    shop.pod("app", nodeName="n1", status=crashed(1, message=message), container=limits)
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/app", code=0)
    assert found["causes"][0]["code"] == code
    likely = [one["code"] for one in found["causes"] if one["confidence"] == "likely"]
    assert likely == [code]


def test_events_are_read(shop: Shop, verb: "Verb") -> None:
    shop.cluster.create_node("n1")
    shop.pod("app", nodeName="n1", status={"phase": "Pending"})
    shop.event("app", "Failed", "Error: failed to create containerd task: exec /app: exec format error")
    found = diagnose(verb, shop, "--pod", f"{shop.namespace}/app", code=1)
    assert found["signals"][0]["code"] == "exec-format-error"
    assert "exec format error" in found["steps"][0]["found"]
    assert found["steps"][1]["found"].startswith("amd64: 1")


def test_a_workload_is_separated_by_the_fact_that_differs(shop: Shop, verb: "Verb") -> None:
    for name, cpu in (("new1", NEW_CPU), ("new2", NEW_CPU), ("old1", OLD_CPU)):
        shop.cluster.create_node(name)
        shop.facts(name, flags=cpu)
        status = crashed(132) if name == "old1" else RUNNING
        shop.pod(f"app-{name}", nodeName=name, labels={"app": "cart"}, status=status)
    template = {"metadata": {"labels": {"app": "cart"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    deployment = {
        "metadata": {"name": "cart"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "cart"}}, "template": template},
    }
    shop.cluster.admin.must("POST", f"/apis/apps/v1/namespaces/{shop.namespace}/deployments", deployment)
    found = diagnose(verb, shop, "--workload", f"{shop.namespace}/cart", code=3)
    separation = found["separation"]
    assert (separation["runs"], separation["fails"]) == (["new1", "new2"], ["old1"])
    best = separation["differences"][0]
    assert (best["feature"], best["name"], best["score"]) == ("cpu.cpuid", "AVX2", 1.0)
    assert not any(one["name"] == "SSE2" for one in separation["differences"])
    assert found["signals"][0]["code"] == "illegal-instruction"


def test_what_is_not_there_is_a_mistake_of_the_call(shop: Shop, verb: "Verb") -> None:
    assert "not found" in verb("diagnose", "--pod", f"{shop.namespace}/none", *shop.options, code=2).stderr
    done = verb("diagnose", "--workload", f"{shop.namespace}/none", *shop.options, code=2)
    assert "there is no Deployment, DaemonSet, StatefulSet or Job of the name" in done.stderr
    assert "it is NAMESPACE/NAME" in verb("diagnose", "--pod", "a/b/c", *shop.options, code=2).stderr


def test_a_cluster_that_does_not_answer_is_not_no(shop: Shop, verb: "Verb") -> None:
    shop.cluster.api_server.freeze()
    done = verb("diagnose", "--pod", f"{shop.namespace}/app", *shop.options, code=3)
    assert done.stderr.startswith("error: ")
