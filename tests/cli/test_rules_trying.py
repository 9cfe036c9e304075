"""``nodeworthy rules test`` and ``dry-run`` on features files, NodeFeature objects, this machine and nodes of the bus."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.test_rules_validate import E1, E3, PREFIX, rules

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import labels_key, set_key
from nodeworthy.bus.labels import make_record
from nodeworthy.bus.names import Bucket
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, digest, encode, write_document
from nodeworthy.labels import Given, Giver, GiverKind, LabelEntry, LabelMemory, LabelState, RejectedKind

if TYPE_CHECKING:
    from tests.cli.conftest import FactsBus, Nodeworthy, Verb

GPU = FeatureSet(instances=({"vendor": "8086"}, {"vendor": "10de"}))
BOTH = FeatureSet(flags=frozenset({"AVX512F", "AVX512BW"}))
ONE = FeatureSet(flags=frozenset({"AVX512F"}))


def facts(**contents: FeatureSet) -> Snapshot:
    return Snapshot({name.replace("_", "."): content for name, content in contents.items()}, catalogue=frozenset())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Rule and features files in the folder of the program."""
    (tmp_path / "e1.yaml").write_text(E1)
    (tmp_path / "e3.yaml").write_text(E3)
    nodes = {
        "gpu": facts(pci_device=GPU),
        "plain": facts(pci_device=FeatureSet(instances=({"vendor": "8086"},))),
        "failed": Snapshot({}, {"pci.device": SetStatus(SetState.UNKNOWN, "permission denied")}, frozenset()),
        "both": facts(cpu_cpuid=BOTH),
        "one": facts(cpu_cpuid=ONE),
        "none": facts(cpu_cpuid=FeatureSet(flags=frozenset())),
    }
    for name, snapshot in nodes.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(write_document(snapshot)))
    return tmp_path


def ask(nodeworthy: "Nodeworthy", verb: str, *arguments: str, code: int) -> Any:
    return json.loads(nodeworthy("rules", verb, *arguments, "-o", "json", code=code).stdout)


@pytest.mark.usefixtures("files")
def test_e1_labels_a_node_with_the_card_under_the_final_key_and_no_other(nodeworthy: "Nodeworthy") -> None:
    found = {name: ask(nodeworthy, "test", "e1.yaml", "--on", f"{name}.json", code=code) for name, code in NODES}
    outcomes = {name: one["rules"][0]["outcome"] for name, one in found.items()}
    assert outcomes == {"gpu": "true", "plain": "false", "failed": "unknown"}
    assert found["gpu"]["rules"][0]["labels"] == {f"{PREFIX}accelerator": "nvidia"}
    assert "permission denied" in found["failed"]["rules"][0]["reason"]
    assert all("labels" not in found[name]["rules"][0] for name in ("plain", "failed"))
    done = nodeworthy("rules", "test", "e1.yaml", "--on", "gpu.json", code=0)
    assert f"label {PREFIX}accelerator=nvidia" in done.stdout
    assert f"reaches the node as {PREFIX}accelerator (a nodeSelector has to use that key" in done.stderr


NODES = (("gpu", 0), ("plain", 0), ("failed", 3))


@pytest.mark.usefixtures("files")
def test_e1_without_the_prefix_labels_under_the_short_key(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("rules", "dry-run", "e1.yaml", "--on", "gpu.json", "--no-auto-prefix", code=0)
    assert done.stdout.splitlines()[1].split() == [
        "label",
        "accelerator",
        "nvidia",
        "rule",
        "gpu-rule/nvidia-gpu-present",
    ]
    assert done.stderr == ""
    own = E1.replace("name: gpu-rule", 'name: gpu-rule\n  annotations: {nodeworthy.io/auto-prefix: "false"}')
    done = nodeworthy("rules", "dry-run", "-", "--on", "gpu.json", "-o", "json", input=own, code=0)
    assert [one["key"] for one in json.loads(done.stdout)["outputs"]] == ["accelerator"]


@pytest.mark.usefixtures("files")
def test_e3_labels_a_node_with_both_flags_and_no_other(nodeworthy: "Nodeworthy") -> None:
    for name, expected in (("both", True), ("one", False), ("none", False)):
        found = ask(nodeworthy, "dry-run", "e3.yaml", "--on", f"{name}.json", code=0)
        keys = [one["key"] for one in found["outputs"]]
        assert keys == ([f"{PREFIX}cpu.feature.avx512-ready"] if expected else [])


def test_a_converted_e3_labels_the_same_nodes_without_a_note_on_its_form(nodeworthy: "Nodeworthy", files: Path) -> None:
    (files / "long.yaml").write_text(nodeworthy("rules", "convert", "e3.yaml", code=0).stdout)
    for name in ("both", "one", "none"):
        short, long = (
            ask(nodeworthy, "dry-run", one, "--on", f"{name}.json", code=0) for one in ("e3.yaml", "long.yaml")
        )
        assert short == long
    assert "short form" not in nodeworthy("rules", "test", "long.yaml", "--on", "both.json", code=0).stderr


def test_a_node_feature_object_is_taken_as_facts(nodeworthy: "Nodeworthy", files: Path) -> None:
    (files / "nf.yaml").write_text(
        "apiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeature\n"
        "metadata: {name: nf, labels: {nfd.node.kubernetes.io/node-name: gpu-1}}\n"
        "spec: {features: {instances: {pci.device: {elements: [{attributes: {vendor: 10de}}]}}}}\n"
    )
    found = ask(nodeworthy, "test", "e1.yaml", "--on", "nf.yaml", code=0)
    assert (found["node"], found["rules"][0]["outcome"]) == ("gpu-1", "true")
    # What NFD's object does not hold was perhaps not looked for.
    assert ask(nodeworthy, "test", "e3.yaml", "--on", "nf.yaml", code=3)["rules"][0]["outcome"] == "unknown"
    (files / "rule.yaml").write_text(E1)
    assert "it is a NodeFeatureRule" in nodeworthy("rules", "test", "e1.yaml", "--on", "./rule.yaml", code=2).stderr


def test_this_machine_is_the_default(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(
        rules("{name: linux, labels: {x.org/a: b}, matchFeatures: [{feature: kernel.version}]}", "{name: all}")
    )
    found = ask(nodeworthy, "test", "r.yaml", code=0)
    assert [one["outcome"] for one in found["rules"]] == ["true", "true"]


def test_outputs_of_every_kind_are_shown_and_what_is_refused_harms_no_neighbour(
    nodeworthy: "Nodeworthy", files: Path
) -> None:
    (files / "all.yaml").write_text(
        rules(
            "name: all\n    labels: {x.org/good: '1', x.org/bad: 'a b', x.org/dynamic: '@kernel.version.major'}\n"
            "    annotations: {note: text}\n    extendedResources: {x.org/slots: '4'}\n    vars: {v: w}\n"
            "    taints: [{key: x.org/t, effect: NoSchedule, value: v}, {key: bad, effect: NoSchedule}]",
            annotations="{nodeworthy.io/incident: INC-12}",
        )
    )
    node = facts(kernel_version=FeatureSet(attributes={"major": "6"}))
    (files / "node.json").write_text(json.dumps(write_document(node)))
    found = ask(nodeworthy, "dry-run", "all.yaml", "--on", "node.json", code=1)
    assert [(one["kind"], one["key"], one["value"]) for one in found["outputs"]] == [
        ("label", "x.org/dynamic", "6"),
        ("label", "x.org/good", "1"),
        ("annotation", f"{PREFIX}note", "text"),
        ("extended resource", "x.org/slots", "4"),
        ("taint", "x.org/t:NoSchedule", "v"),
    ]
    assert [(one["kind"], one["key"]) for one in found["refused"]] == [("label", "x.org/bad"), ("taint", "bad")]
    (rule,) = ask(nodeworthy, "test", "all.yaml", "--on", "node.json", code=1)["rules"]
    assert (rule["vars"], rule["incident"], rule["taints"]) == ({"v": "w"}, "INC-12", ["x.org/t=v:NoSchedule"])
    done = nodeworthy("rules", "test", "all.yaml", "--on", "node.json", code=1)
    assert "for incident INC-12" in done.stdout
    assert "REFUSED" in done.stdout
    assert "extended resource x.org/slots=4" in done.stdout


def test_a_broken_rule_is_told_and_its_neighbours_are_tried(nodeworthy: "Nodeworthy", files: Path) -> None:
    (files / "two.yaml").write_text(rules("{name: bad, matchAny: 1}", "{name: good, labels: {x.org/a: b}}"))
    done = nodeworthy("rules", "test", "two.yaml", "--on", "gpu.json", "-o", "json", code=1)
    assert [one["outcome"] for one in json.loads(done.stdout)["rules"]] == ["error", "true"]
    assert "left out: two.yaml:" in done.stderr
    assert "spec.rules[0].matchAny" in done.stderr


def test_members_of_groups_are_told_and_groups_give_nothing(nodeworthy: "Nodeworthy", files: Path) -> None:
    (files / "group.yaml").write_text(
        "kind: NodeFeatureGroup\napiVersion: nfd.k8s-sigs.io/v1alpha1\nmetadata: {name: g}\n"
        "spec: {featureGroupRules: [{name: r, matchFeatures: [{feature: pci.device}]}]}\n"
    )
    assert "member of the group" in nodeworthy("rules", "test", "group.yaml", "--on", "gpu.json", code=0).stdout
    assert ask(nodeworthy, "dry-run", "group.yaml", "--on", "gpu.json", code=0)["outputs"] == []


def test_a_later_rule_wins_and_the_earlier_one_is_told(nodeworthy: "Nodeworthy", files: Path) -> None:
    (files / "two.yaml").write_text(rules("{name: a, labels: {x.org/k: a}}", "{name: b, labels: {x.org/k: b}}"))
    first, second = ask(nodeworthy, "test", "two.yaml", "--on", "gpu.json", code=0)["rules"]
    assert (first["labels"], second["labels"]) == ({"x.org/k": "a (but rule r/b wins)"}, {"x.org/k": "b"})


@pytest.mark.parametrize("on", ["all", "a,b", ""])
@pytest.mark.usefixtures("files")
def test_rules_are_tried_on_one_node(on: str, nodeworthy: "Nodeworthy") -> None:
    assert "one node at a time" in nodeworthy("rules", "test", "e1.yaml", "--on", on, code=2).stderr


RULE = Giver(GiverKind.RULE, "gpu-rule", "nvidia-gpu-present")
OTHER = Giver(GiverKind.RULE, "other", "rule")


async def test_a_node_of_the_bus_is_asked_and_compared_with_what_it_has(
    facts_bus: "FactsBus", verb: "Verb", tmp_path: Path
) -> None:
    await facts_bus.publisher("node-1").publish(facts(pci_device=GPU))
    (tmp_path / "e1.yaml").write_text(E1)
    found = json.loads(verb("rules", "test", "e1.yaml", "--on", "node-1", "-o", "json", *facts_bus.options).stdout)
    assert (found["node"], found["rules"][0]["outcome"]) == ("node-1", "true")

    def dry_run() -> list[tuple[str, str | None, str]]:
        done = verb("rules", "dry-run", "e1.yaml", "--on", "node-1", "-o", "json", *facts_bus.options)
        return [(one["key"], one["value"], one["change"]) for one in json.loads(done.stdout)["outputs"]]

    assert dry_run() == [(f"{PREFIX}accelerator", "nvidia", "new")]
    memory = LabelMemory(
        {
            f"{PREFIX}accelerator": LabelEntry(LabelState.APPLIED, "amd", (Given(RULE, "amd"),)),
            f"{PREFIX}gone": LabelEntry(LabelState.APPLIED, "1", (Given(RULE, "1"),)),
            f"{PREFIX}foreign": LabelEntry(LabelState.APPLIED, "1", (Given(OTHER, "1"),)),
        },
        others={RejectedKind.ANNOTATION: {"x.org/note": LabelEntry(LabelState.APPLIED, "1", (Given(RULE, "1"),))}},
    )
    await facts_bus.store.put(Bucket.LABELS, labels_key("node-1"), payloads.encode(make_record("node-1", memory)))
    assert dry_run() == [
        (f"{PREFIX}accelerator", "nvidia", "was 'amd'"),
        (f"{PREFIX}gone", None, "goes"),
        ("x.org/note", None, "goes"),
    ]
    table = verb("rules", "dry-run", "e1.yaml", "--on", "node-1", *facts_bus.options).stdout
    assert table.splitlines()[0].split() == ["KIND", "KEY", "VALUE", "RULE", "CHANGE"]


async def test_a_node_that_nobody_published_is_told(facts_bus: "FactsBus", verb: "Verb", tmp_path: Path) -> None:
    (tmp_path / "e1.yaml").write_text(E1)
    done = verb("rules", "test", "e1.yaml", "--on", "node-9", *facts_bus.options, code=2)
    assert "no node is named 'node-9'" in done.stderr


async def test_a_set_whose_content_is_lost_is_unknown(facts_bus: "FactsBus", verb: "Verb", tmp_path: Path) -> None:
    many = FeatureSet(instances=tuple({"vendor": "10de", "device": f"{number:04x}"} for number in range(400)))
    await facts_bus.publisher("node-1").publish(facts(pci_device=many))
    (tmp_path / "e1.yaml").write_text(E1)
    verb("rules", "test", "e1.yaml", "--on", "node-1", *facts_bus.options)
    await facts_bus.store.purge(Bucket.SETS, set_key(digest(encode(many))), up_to=9)
    done = verb("rules", "test", "e1.yaml", "--on", "node-1", *facts_bus.options, code=3)
    assert "its content is not on the bus" in done.stdout
