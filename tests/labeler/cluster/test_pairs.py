"""The published pairs of a rule and a Deployment, E1 with E2 and E3 with E4, on a whole control plane.

Each pair means one key, which the rule gives and the nodeSelector asks for. Without the prefix they meet; with it the Node
has the key with the prefix, the pods wait, and every command that shows the rule names the key that a selector has to use.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_rules_validate import E1, E3, PREFIX
from tests.labeler.cluster.whole import Whole
from tests.labeler.conftest import NAMES, PASSWORD

from nodeworthy.features import FeatureSet
from nodeworthy.labels import LabelSettings, LabelState

if TYPE_CHECKING:
    from tests.kubernetes.api import Object
    from tests.kubernetes.fixtures import Kubectl
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

pytestmark = pytest.mark.usefixtures("scheduler", "controller_manager", "objects")

E2 = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cuda-app
spec:
  replicas: 1
  selector:
    matchLabels:
      app: cuda
  template:
    metadata:
      labels:
        app: cuda
    spec:
      containers:
        - name: main
          image: nvidia/cuda:12.0-base-ubuntu22.04
          resources:
            limits:
              nvidia.com/gpu: 1
      nodeSelector:
        accelerator: nvidia
"""
E4 = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: video-codec-svc
spec:
  replicas: 3
  selector:
    matchLabels:
      app: video-codec
  template:
    metadata:
      labels:
        app: video-codec
    spec:
      nodeSelector:
        cpu.feature.avx512-ready: "true"
      containers:
        - name: main
          image: registry.example.com/video-codec:v2.3.1
"""
SOFT = """\
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference:
                matchExpressions:
                  - {key: cpu.feature.avx512-ready, operator: In, values: ["true"]}
"""
ACCELERATOR, READY = "accelerator", "cpu.feature.avx512-ready"
NO_MATCH = "didn't match Pod's node affinity/selector"
OWN_NAMES = 'annotations: {nodeworthy.io/auto-prefix: "false"}'
WITHOUT_PREFIX = LabelSettings(auto_prefix=False)

GPU = FeatureSet(instances=({"class": "0300", "vendor": "8086"}, {"class": "0302", "vendor": "10de"}))
NO_GPU = FeatureSet(instances=({"class": "0300", "vendor": "8086"},))
BOTH = FeatureSet(flags=frozenset({"AVX512F", "AVX512BW"}))
ONE = FeatureSet(flags=frozenset({"AVX512F"}))


class Pair:
    """What a user does with a rule and a Deployment, and what comes of it."""

    def __init__(self, whole: Whole, kubectl: "Kubectl", namespace: str, bus: "Bus", home: Path) -> None:
        self.whole = whole
        self.rules: list[str] = []
        self._kubectl = kubectl
        self._namespace = namespace
        self._options = ("--server", bus.server.url, "--cluster", NAMES.cluster, "--user", "reader")
        self._environment = {"PATH": os.defpath, "HOME": str(home), "NODEWORTHY_PASSWORD": PASSWORD}

    async def ask(self, *arguments: str, given: str = "", on_bus: bool = True) -> str:
        """All that ``nodeworthy`` prints."""
        program = Path(sys.executable).parent / "nodeworthy"
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            *(self._options if on_bus else ()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if on_bus else None,
            env=self._environment,
        )
        printed, _ = await process.communicate(given.encode())
        assert process.returncode == 0, printed.decode()
        return printed.decode()

    async def apply_rule(self, text: str) -> None:
        self.rules.append(text)
        await asyncio.to_thread(self._kubectl, "apply", "-f", "-", input=text)

    async def refuse_rule(self, text: str) -> str:
        """What the stock client says of a rule that the API server does not take."""
        done = await asyncio.to_thread(self._kubectl, "apply", "-f", "-", input=text, check=False)
        assert done.returncode == 1
        return done.stderr

    async def deploy(self, text: str) -> None:
        await asyncio.to_thread(self._kubectl, "apply", "-n", self._namespace, "-f", "-", input=text)

    async def nodes_of(self, name: str, app: str, pods: int) -> set[str]:
        """Where the pods of a Deployment go, when all are bound."""
        found = await self._pods_that(name, app, pods, lambda pod: "nodeName" in pod["spec"])
        return {pod["spec"]["nodeName"] for pod in found}

    async def waits(self, name: str, app: str, pods: int) -> set[str]:
        """Why the pods of a Deployment are not bound, when the scheduler has said so of all."""
        found = await self._pods_that(name, app, pods, lambda pod: bool(pod["status"].get("conditions")))
        assert not any("nodeName" in pod["spec"] for pod in found)
        return {condition["message"] for pod in found for condition in pod["status"]["conditions"]}

    async def _pods_that(self, name: str, app: str, pods: int, condition: "Callable[[Object], bool]") -> "list[Object]":
        deployments = f"/apis/apps/v1/namespaces/{self._namespace}/deployments"
        await self.whole.object_is(deployments, name, lambda one: one.get("status", {}).get("replicas") == pods)
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        listed = self.whole.cluster.admin.must("GET", f"{path}?labelSelector=app%3D{app}")["items"]
        return [await self.whole.object_is(path, pod["metadata"]["name"], condition) for pod in listed]

    async def key_is_on(self, key: str, value: str, nodes: set[str]) -> None:
        """Wait until these Nodes have the label, and see that no other has."""
        for node in nodes:
            await self.whole.labels_are(node, {key: value}, key)
        found = self.whole.cluster.admin.must("GET", f"/api/v1/nodes?labelSelector={key}")["items"]
        assert {node["metadata"]["name"] for node in found} == nodes


@pytest.fixture
def pair(whole: Whole, kubectl: "Kubectl", namespace: str, bus: "Bus", tmp_path: Path) -> Iterator[Pair]:
    made = Pair(whole, kubectl, namespace, bus, tmp_path)
    yield made
    for text in made.rules:
        kubectl("delete", "-f", "-", input=text)


@pytest.fixture
async def gpu_nodes(whole: Whole, facts: "MakeFacts") -> None:
    """Nodes with the card, without it, and one whose PCI source failed; a device plugin has one to give on each."""
    known = {"gpu": facts({}, {"pci.device": GPU}), "plain": facts({}, {"pci.device": NO_GPU})}
    for name, snapshot in {**known, "failed": facts({}, {}, "pci.device")}.items():
        whole.cluster.create_node(name, capacity={"nvidia.com/gpu": "1"})
        await whole.bus.publish(name, snapshot)


@pytest.fixture
async def cpu_nodes(whole: Whole, facts: "MakeFacts") -> None:
    """Nodes with both flags, one of them, none, and one that does not know."""
    none = FeatureSet(flags=frozenset())
    flags = {"both-1": BOTH, "both-2": BOTH, "one": ONE, "none": none}
    snapshots = {name: facts({}, {"cpu.cpuid": content}) for name, content in flags.items()}
    for name, snapshot in {**snapshots, "failed": facts({}, {}, "cpu.cpuid")}.items():
        whole.cluster.create_node(name)
        await whole.bus.publish(name, snapshot)


@pytest.mark.usefixtures("gpu_nodes")
@pytest.mark.parametrize("is_own", [False, True], ids=["setting", "annotation"])
async def test_e1_and_e2_meet_without_the_prefix(pair: Pair, start: "Start", *, is_own: bool) -> None:
    rule = E1.replace("name: gpu-rule", f"name: gpu-rule\n  {OWN_NAMES}") if is_own else E1
    await pair.apply_rule(rule)
    await start(kubernetes=pair.whole.settings, labels=LabelSettings() if is_own else WITHOUT_PREFIX)
    await pair.key_is_on(ACCELERATOR, "nvidia", {"gpu"})
    await pair.deploy(E2)
    assert await pair.nodes_of("cuda-app", "cuda", 1) == {"gpu"}


@pytest.mark.usefixtures("gpu_nodes")
async def test_e1_and_e2_with_the_prefix_wait_and_every_command_names_the_key(pair: Pair) -> None:
    await pair.apply_rule(E1)
    await pair.whole.start()
    key = PREFIX + ACCELERATOR
    await pair.key_is_on(key, "nvidia", {"gpu"})
    await pair.deploy(E2)
    (message,) = await pair.waits("cuda-app", "cuda", 1)
    assert f"0/3 nodes are available: 3 node(s) {NO_MATCH}" in message
    told = await pair.ask("rules", "test", "-", "--on", "gpu", given=E1)
    assert f"label {key}=nvidia" in told
    assert f"reaches the node as {key} (a nodeSelector has to use that key" in told
    assert key in await pair.ask("rules", "dry-run", "-", "--on", "gpu", given=E1)
    assert (await pair.ask("rules", "explain", ACCELERATOR, "--on", "gpu")).startswith(f"{key} on gpu: ")
    row = next(line for line in (await pair.ask("labels", "gpu")).splitlines() if "gpu-rule" in line)
    assert row.split()[:4] == ["gpu", key, "nvidia", "applied"]
    # What was told is true.
    await pair.deploy(E2.replace("cuda", "told").replace(f"{ACCELERATOR}:", f"{key}:"))
    assert await pair.nodes_of("told-app", "told", 1) == {"gpu"}


@pytest.mark.usefixtures("gpu_nodes")
async def test_e1_keeps_the_label_of_a_node_whose_source_fails(
    pair: Pair, facts: "MakeFacts", bus: "Bus", eventually: "Eventually"
) -> None:
    await pair.apply_rule(E1)
    await pair.whole.start()
    key = PREFIX + ACCELERATOR
    memory = await pair.whole.bus.record_of("failed")
    assert [str(note.giver) for note in memory.unresolved if "gpu" in note.giver.name] == [
        "rule gpu-rule/nvidia-gpu-present"
    ]
    await pair.key_is_on(key, "nvidia", {"gpu"})
    await pair.whole.bus.publish("gpu", facts({}, {}, "pci.device"))

    async def is_kept() -> bool:
        memory = await bus.memory("gpu")
        return memory is not None and memory.labels[key].state is LabelState.KEPT

    await eventually(is_kept)
    await pair.key_is_on(key, "nvidia", {"gpu"})


async def convert_e3(pair: Pair) -> str:
    """E3 as the API server takes it: as published it does not."""
    refusal = await pair.refuse_rule(E3)
    assert 'no matches for kind "NodeFeatureRule" in version "nfd.node.kubernetes.io/v1"' in refusal
    return await pair.ask("rules", "convert", "-", given=E3, on_bus=False)


@pytest.mark.usefixtures("cpu_nodes")
async def test_e3_converted_and_e4_meet_without_the_prefix(pair: Pair, start: "Start") -> None:
    await pair.apply_rule(await convert_e3(pair))
    await start(kubernetes=pair.whole.settings, labels=WITHOUT_PREFIX)
    await pair.key_is_on(READY, "true", {"both-1", "both-2"})
    await pair.deploy(E4)
    assert await pair.nodes_of("video-codec-svc", "video-codec", 3) == {"both-1", "both-2"}


@pytest.mark.usefixtures("cpu_nodes")
async def test_e3_converted_and_e4_with_the_prefix_wait_and_every_command_names_the_key(pair: Pair) -> None:
    converted = await convert_e3(pair)
    await pair.apply_rule(converted)
    await pair.whole.start()
    key = PREFIX + READY
    await pair.key_is_on(key, "true", {"both-1", "both-2"})
    await pair.deploy(E4)
    (message,) = await pair.waits("video-codec-svc", "video-codec", 3)
    assert f"0/5 nodes are available: 5 node(s) {NO_MATCH}" in message
    told = await pair.ask("rules", "test", "-", "--on", "both-1", given=E3)
    assert f"label {key}=true" in told
    assert f"reaches the node as {key} (a nodeSelector has to use that key" in told
    assert key in await pair.ask("rules", "dry-run", "-", "--on", "both-1", given=E3)
    assert (await pair.ask("rules", "explain", READY, "--on", "both-2")).startswith(f"{key} on both-2: ")
    row = next(line for line in (await pair.ask("labels", "both-1")).splitlines() if "avx512-ready" in line)
    assert row.split()[:4] == ["both-1", key, "true", "applied"]
    await pair.deploy(E4.replace("video-codec", "told").replace(f"{READY}:", f"{key}:"))
    assert await pair.nodes_of("told-svc", "told", 3) == {"both-1", "both-2"}


async def test_e4_as_a_wish_prefers_the_labelled_node_and_runs_without_one(
    pair: Pair, facts: "MakeFacts", start: "Start"
) -> None:
    hard = f'      nodeSelector:\n        {READY}: "true"\n'
    soft = E4.replace("replicas: 3", "replicas: 1").replace(hard, SOFT)
    await pair.apply_rule(await convert_e3(pair))
    await start(kubernetes=pair.whole.settings, labels=WITHOUT_PREFIX)
    pair.whole.cluster.create_node("one")
    await pair.whole.bus.publish("one", facts({}, {"cpu.cpuid": ONE}))
    await pair.deploy(soft)
    assert await pair.nodes_of("video-codec-svc", "video-codec", 1) == {"one"}
    pair.whole.cluster.create_node("both")
    await pair.whole.bus.publish("both", facts({}, {"cpu.cpuid": BOTH}))
    await pair.key_is_on(READY, "true", {"both"})
    await pair.deploy(soft.replace("video-codec", "later"))
    assert await pair.nodes_of("later-svc", "later", 1) == {"both"}
