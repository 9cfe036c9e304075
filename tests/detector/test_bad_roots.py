"""Host roots that nobody should have: every set is unknown or absent with a reason, and nothing hangs or raises."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import SetState, Snapshot, write_document
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host

Plant = Callable[[Mapping[str, str | bytes]], Host]

FILES = (
    "proc/cpuinfo",
    "proc/modules",
    "proc/swaps",
    "proc/version",
    "proc/config.gz",
    "proc/sysinfo",
    "proc/self/mountinfo",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/arch",
    "etc/os-release",
    "etc/kubernetes/node-feature-discovery/features.d/x",
    "lib/modules/6.1/modules.builtin",
    "usr/bin/sh",
    "sys/bus/pci/devices/0000:00:00.0/class",
    "sys/bus/pci/devices/0000:00:00.0/vendor",
    "sys/bus/nd/devices/dax0.0/mode",
    "sys/class/net/eth0/speed",
    "sys/class/net/eth0/device/sriov_numvfs",
    "sys/devices/virtual/dmi/id/sys_vendor",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/cpufreq/base_frequency",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/intel_pstate/status",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/x86/sgx_total_bytes",
    "sys/devices/cpu_core/cpus",
    "sys/fs/cgroup/misc.capacity",
    "sys/fs/selinux/enforce",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/module/kvm_amd/parameters/sev",
)
"""One file of each kind that some source reads."""

ANCHORS = {"proc/sys/vm/": "", "sys/bus/platform/": "", "sys/devices/virtual/mem/": "", "sys/devices/virtual/misc/": ""}

SETTING = {"system.name"}
"""Sets that come from settings, not from the root."""


def check(snapshot: Snapshot) -> None:
    """What holds of every snapshot: it can be written down, and whatever is not present says why."""
    write_document(snapshot)
    for name in snapshot.names():
        found = snapshot.lookup(name)
        assert found.state is SetState.PRESENT or found.reason, name
        assert "failed" not in found.reason, found.reason
    for source, health in snapshot.sources.items():
        assert not health.error or health.error.startswith("nothing could be found out: "), (source, health.error)
        assert not [fault for fault in health.faults if "Error: " in fault], health.faults


def present(snapshot: Snapshot) -> set[str]:
    return set(snapshot.contents) - SETTING


@pytest.mark.parametrize("root", ["/nowhere", "/etc/hostname", "/proc/self/fd"])
def test_a_root_that_is_no_machine_gives_nothing(root: str) -> None:
    snapshot = discover(Host(Path(root)))
    check(snapshot)
    assert not present(snapshot)
    assert not [name for name in snapshot.names() if snapshot.lookup(name).state is SetState.ABSENT]


def test_an_empty_root_is_unknown_and_not_absent(tmp_path: Path) -> None:
    snapshot = discover(Host(tmp_path))
    check(snapshot)
    assert not present(snapshot)
    assert {status.state for status in snapshot.statuses.values()} == {SetState.UNKNOWN}
    assert all(health.error for health in snapshot.sources.values())


def test_a_root_that_may_not_be_read(plant: Plant, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    host = plant(dict.fromkeys(FILES, "1"))
    tmp_path.chmod(0)
    request.getfixturevalue("unprivileged")
    snapshot = discover(host)
    check(snapshot)
    assert not present(snapshot)
    assert "permission denied" in snapshot.lookup("pci.device").reason


def test_folders_in_place_of_files(plant: Plant) -> None:
    check(discover(plant(ANCHORS | {f"{name}/": "" for name in FILES})))


def test_fifos_in_place_of_files_do_not_hang(plant: Plant, tmp_path: Path) -> None:
    host = plant(ANCHORS)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / name)
    snapshot = discover(host)
    check(snapshot)
    assert "cpu.cpuid" not in snapshot.contents
    assert "proc/cpuinfo is no regular file" in snapshot.sources["cpu"].faults


def test_loops_of_links_in_place_of_files(plant: Plant, tmp_path: Path) -> None:
    host = plant(ANCHORS)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(Path(name).name)
    check(discover(host))


def test_loops_of_links_in_place_of_folders(tmp_path: Path) -> None:
    for name in ("proc", "sys", "etc", "usr", "lib", "boot"):
        (tmp_path / name).symlink_to(f"/{name}")
    snapshot = discover(Host(tmp_path))
    check(snapshot)
    assert not present(snapshot)


def test_sparse_files_of_a_terabyte(plant: Plant, tmp_path: Path) -> None:
    host = plant(ANCHORS | dict.fromkeys(FILES, ""))
    for name in FILES:
        with (tmp_path / name).open("r+b") as file:
            file.truncate(1 << 40)
    snapshot = discover(host)
    check(snapshot)
    assert "cpu.cpuid" not in snapshot.contents


def test_bytes_of_every_kind_in_every_file(plant: Plant) -> None:
    check(discover(plant(ANCHORS | dict.fromkeys(FILES, bytes(range(256)) * 8))))


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_in_any_file(plant: Plant, data: st.DataObject) -> None:
    line = st.text(max_size=20) | st.sampled_from(
        [
            "0",
            "-1",
            "0-3",
            "99999999999999999999",
            "flags : fpu lm sgx ht",
            "active",
            "processor : 0",
            "a=b",
            "/../..",
            "1\0",
        ]
    )
    text = st.lists(line, max_size=4).map("\n".join)
    check(discover(plant(ANCHORS | {name: data.draw(text) for name in FILES})))
