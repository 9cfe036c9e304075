import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource
from nodeworthy_detector.sources.reading import Reading

Plant = Callable[[Mapping[str, str | bytes]], Host]

FILES = (
    "bin/sh",
    "dev/null",
    "dev/net",
    "etc/os-release",
    "lib/apk/db/installed",
    "opt/rocm/.info/version",
    "proc/1/comm",
    "proc/1/exe",
    "proc/cpuinfo",
    "proc/sys/kernel/arch",
    "run/containerd/containerd.sock",
    "sbin/init",
    "sys/devices/virtual/dmi/id/sys_vendor",
    "sys/devices/virtual/mem/null",
    "usr/bin/runc",
    "usr/lib/libcuda.so.1.2",
    "usr/lib/libseccomp.so.2",
    "usr/lib/systemd/libsystemd-shared-252.so",
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
    "usr/local/bin/containerd",
    "var/lib/dpkg/status",
)
"""One file of each kind that the source reads."""


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return SystemSource().read(host).sets[f"system.{name}"]


def test_the_node_name_is_a_setting_and_empty_without_one(plant: Plant) -> None:
    host = plant({})
    assert read(host, "name") == FeatureSet(attributes={"nodename": ""})
    named = SystemSource(node_name="worker-1").read(host).sets["system.name"]
    assert named == FeatureSet(attributes={"nodename": "worker-1"})


def test_the_architecture_is_told_in_the_words_of_images_and_of_linux(plant: Plant) -> None:
    assert read(plant({"proc/sys/kernel/arch": "aarch64\n"}), "architecture") == FeatureSet(
        attributes={"architecture": "arm64", "machine": "aarch64", "bits": "64", "endianness": "little"}
    )
    assert isinstance(read(plant({"proc/sys/kernel/arch": "\0"}), "architecture"), SetStatus)


def test_every_set_that_is_listed_is_answered_and_no_other(plant: Plant) -> None:
    assert tuple(SystemSource().read(plant({})).sets) == SystemSource().sets


def check(reading: Reading) -> None:
    """Whatever is not present says why, and nothing is an unforeseen error."""
    for name, found in reading.sets.items():
        if isinstance(found, FeatureSet):
            encode(found)
        else:
            assert found.reason, name
            assert "its reader failed" not in found.reason, found.reason
    assert not [fault for fault in reading.faults if "Error: " in fault], reading.faults


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_any_file_are_facts_or_a_fault(plant: Plant, data: st.DataObject) -> None:
    lines = st.sampled_from(
        [b"ID=x", b"Package: runc", b"P:musl", b"\x7fELF\x02\x01" + bytes(70), b"init", b"../..", b"1.2"]
    ) | st.binary(max_size=30)
    content = st.lists(lines, max_size=4).map(b"\n".join)
    check(SystemSource().read(plant({name: data.draw(content) for name in FILES})))


@pytest.mark.parametrize("kind", ["folder", "fifo", "loop", "endless"])
def test_what_is_no_file_in_place_of_any_file_is_a_fault(plant: Plant, tmp_path: Path, kind: str) -> None:
    host = plant({})
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "loop":
            path.symlink_to(path.name)
        else:
            with path.open("wb") as file:
                file.truncate(1 << 40)
    check(SystemSource().read(host))
