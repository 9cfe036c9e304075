import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.reading import Reading

Plant = Callable[[Mapping[str, str | bytes]], Host]

FILES = (
    "lib/modules/6.1/modules.builtin",
    "lib/modules/6.1/modules.dep",
    "boot/config-6.1",
    "proc/cgroups",
    "proc/config.gz",
    "proc/modules",
    "proc/self/uid_map",
    "proc/sys/fs/binfmt_misc/qemu",
    "proc/sys/fs/binfmt_misc/status",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/pid_max",
    "proc/sys/net/core/netdev_max_backlog",
    "proc/sys/vm/max_map_count",
    "proc/version",
    "sys/devices/virtual/misc/kvm",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/selinux/enforce",
    "sys/kernel/security/lockdown",
    "sys/kernel/security/lsm",
    "sys/module/x/version",
)
"""One file of each kind that the source reads."""


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets[f"kernel.{name}"]


def test_kvm_is_there_or_not_only_where_devices_are_recorded(plant: Plant) -> None:
    found = read(plant({"sys/devices/": ""}), "kvm")
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
    assert read(plant({"sys/devices/virtual/misc/": ""}), "kvm") == FeatureSet(attributes={"enabled": "false"})
    assert read(plant({"sys/devices/virtual/misc/kvm/": ""}), "kvm") == FeatureSet(attributes={"enabled": "true"})


def test_every_set_that_is_listed_is_answered_and_no_other(plant: Plant) -> None:
    assert tuple(KernelSource().read(plant({})).sets) == KernelSource().sets


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
        [b"6.1", b"enabled", b"kernel/x.ko:", b"magic 7f454c46", b"0 0 1", b"../..", b"a,b"]
    ) | st.binary(max_size=30)
    content = st.lists(lines, max_size=4).map(b"\n".join)
    check(KernelSource().read(plant({name: data.draw(content) for name in FILES})))


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
    check(KernelSource().read(host))
