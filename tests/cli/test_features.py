"""``nodeworthy features`` as a user runs it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from nodeworthy.features import SetState, read_document

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy


def test_json_has_nfds_maps_the_states_and_the_catalogue(nodeworthy: "Nodeworthy") -> None:
    document = json.loads(nodeworthy("features", "-o", "json", code=0).stdout)
    assert {"flags", "attributes", "instances", "sets", "catalogue"} <= document.keys()
    assert document["attributes"]["kernel.version"]["elements"]["full"]
    assert document["sets"]["kernel.version"]["state"] == "present"
    assert document["sets"].keys() == set(document["catalogue"])


def test_yaml_says_the_same_as_json(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    # Facts that change between two runs (a link's state) are not the point here.
    only = ("--source", "kernel,system")
    as_json = json.loads(nodeworthy("features", *only, "-o", "json", code=0).stdout)
    text = nodeworthy("features", *only, "-o", "yaml", code=0).stdout
    assert yaml.safe_load(text) == as_json
    (tmp_path / "f.yaml").write_text(text)
    done = nodeworthy("check", "oci:nowhere", "--on", "f.yaml", code=2)
    assert "nowhere" in done.stderr  # the features file was read before


def test_the_table_has_a_line_for_every_set(nodeworthy: "Nodeworthy") -> None:
    lines = nodeworthy("features", code=0).stdout.splitlines()
    assert lines[0].split() == ["SET", "STATE", "CONTENT"]
    assert any(line.startswith("kernel.version ") for line in lines)


def test_the_table_counts_what_was_not_observed_of_a_set(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    hosts = Path(__file__).parents[1] / "data" / "hosts"
    (tmp_path / "k10").symlink_to(hosts / "linux-scientific7-k10" / "root")
    lines = nodeworthy("features", "--host-root", "k10", "--source", "cpu", code=0).stdout.splitlines()
    (cpuid,) = (line for line in lines if line.startswith("cpu.cpuid "))
    assert cpuid.rstrip().endswith("…; 78 not observed")


def test_a_source_that_was_not_asked_for_is_unknown(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("features", "--source", "kernel", "-o", "json", code=0)
    snapshot = read_document(done.stdout, "features")
    assert snapshot.lookup("kernel.version").state is SetState.PRESENT
    assert snapshot.lookup("pci.device").state is SetState.UNKNOWN


def test_a_source_that_does_not_exist_is_a_usage_error(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("features", "--source", "cpu,gpu", code=2)
    assert "gpu" in done.stderr
    assert "kernel" in done.stderr  # the known ones are listed


def test_a_host_root_that_is_no_folder_is_a_usage_error(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root, why in (("nowhere", "is not there"), ("file", "is no folder")):
        text = nodeworthy("features", "--host-root", root, code=2).stderr
        assert f"{root} cannot be used as a host root" in text
        assert why in text


def test_an_empty_argument_is_a_usage_error_and_a_dot_is_a_folder(nodeworthy: "Nodeworthy") -> None:
    assert "names no folder" in nodeworthy("features", "--host-root", "", code=2).stderr
    assert "nothing was found" in nodeworthy("features", "--host-root", ".", "--source", "memory", code=0).stderr
    nodeworthy("features", "--source", "", code=2)


def test_the_table_shows_only_the_sources_that_were_asked_for(nodeworthy: "Nodeworthy") -> None:
    lines = nodeworthy("features", "--source", "memory", code=0).stdout.splitlines()
    assert {line.split(".")[0] for line in lines[1:]} == {"memory"}


def test_nothing_of_an_empty_host_root_is_taken_from_this_machine(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    document = json.loads(nodeworthy("features", "--host-root", "root", "-o", "json", code=0).stdout)
    states = {name: status["state"] for name, status in document["sets"].items()}
    assert states["kernel.version"] == states["cpu.cpuid"] == states["system.architecture"] == "unknown"


def test_garbage_in_a_host_root_harms_only_itself(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in ("proc/sys/kernel", "etc", "sys/class/net/eth0", "sys/bus/pci/devices/0000:00:00.0"):
        (root / folder).mkdir(parents=True)
    (root / "proc/sys/kernel/osrelease").write_bytes(os.urandom(4000))
    (root / "proc/cpuinfo").write_bytes(b"\xff\x00" * 5000)
    (root / "proc/swaps").mkdir()
    os.mkfifo(root / "sys/class/net/eth0/mtu")
    os.mkfifo(root / "sys/bus/pci/devices/0000:00:00.0/class")
    (root / "etc/os-release").write_text('ID=debian\nthis is not an assignment\nVERSION_ID="12"\n')
    document = json.loads(nodeworthy("features", "--host-root", "root", "-o", "json", code=0).stdout)
    assert document["attributes"]["system.osrelease"]["elements"]["VERSION_ID.major"] == "12"
    assert document["sets"]["memory.swap"]["state"] == "unknown"
    assert nodeworthy("features", "--host-root", "root", code=0).stdout


def test_a_file_that_cannot_be_read_is_unknown_with_its_reason(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    # A link to itself cannot be read by anybody; permissions would not stop a test that runs as root.
    release = tmp_path / "root/etc/os-release"
    release.parent.mkdir(parents=True)
    release.symlink_to("os-release")
    document = json.loads(nodeworthy("features", "--host-root", "root", "-o", "json", code=0).stdout)
    status = document["sets"]["system.osrelease"]
    assert status["state"] == "unknown"
    assert "os-release" in status["reason"]


def test_nodefeature_is_an_object_for_nfd_with_the_machines_own_labels(
    nodeworthy: "Nodeworthy", tmp_path: Path
) -> None:
    folder = tmp_path / "host/etc/kubernetes/node-feature-discovery"
    for name in ("features.d", "custom.d"):
        (folder / name).mkdir(parents=True)
    (folder / "features.d/rack").write_text("rack=b7\n")
    rule = (
        "- {name: r, labels: {in-b7: '1'}, matchFeatures: [{feature: local.feature, matchExpressions: {rack: [b7]}}]}"
    )
    (folder / "custom.d/rules").write_text(rule)
    done = nodeworthy("features", "-o", "nodefeature", "--namespace", "nfd", "--host-root", "host", code=0)
    document = yaml.safe_load(done.stdout)
    node = document["metadata"]["name"]
    assert document["metadata"] == {
        "name": node,
        "namespace": "nfd",
        "labels": {"nfd.node.kubernetes.io/node-name": node},
    }
    prefix = "feature.node.kubernetes.io/"
    assert document["spec"]["labels"] == {f"{prefix}in-b7": "1", f"{prefix}rack": "b7"}
    assert document["spec"]["features"]["attributes"]["local.feature"] == {"elements": {"rack": "b7"}}
    assert set(document["spec"]["features"]) == {"flags", "attributes", "instances"}
