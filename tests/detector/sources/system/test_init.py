from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource

Plant = Callable[[Mapping[str, str | bytes]], Host]


def read(host: Host) -> FeatureSet | SetStatus:
    return SystemSource().read(host).sets["system.init"]


def test_systemd_is_told_with_its_version(plant: Plant) -> None:
    host = plant(
        {
            "run/systemd/system/": "",
            "proc/1/comm": "systemd\n",
            "usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-252.so": "",
        }
    )
    assert read(host) == FeatureSet(attributes={"name": "systemd", "command": "systemd", "version": "252"})


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("libsystemd-shared-239.so", "239"),
        ("libsystemd-shared-252-32.el9_4.so", "252"),
        ("libsystemd-shared-255.4-1ubuntu8.so", "255"),
        ("libsystemd-shared-257~rc1.so", "257"),
        ("libsystemd-core-257.so", None),
    ],
)
def test_distributions_add_to_the_version_of_systemd(plant: Plant, file: str, version: str | None) -> None:
    found = read(plant({"run/systemd/system/": "", f"usr/lib/systemd/{file}": ""}))
    assert found == FeatureSet(attributes={"name": "systemd"} | ({"version": version} if version else {}))


def test_what_is_called_init_is_named_after_its_program(plant: Plant, tmp_path: Path) -> None:
    host = plant({"proc/1/comm": "init\n", "bin/busybox": "", "sbin/": ""})
    (tmp_path / "sbin/init").symlink_to("/bin/busybox")
    assert read(host) == FeatureSet(attributes={"name": "busybox", "command": "init"})


def test_the_running_program_comes_before_the_installed_one(plant: Plant, tmp_path: Path) -> None:
    host = plant({"proc/1/comm": "init\n", "usr/sbin/machined": "", "sbin/init": ""})
    (tmp_path / "proc/1/exe").symlink_to("/usr/sbin/machined")
    assert read(host) == FeatureSet(attributes={"name": "machined", "command": "init"})


def test_openrc_runs_beside_the_first_program(plant: Plant) -> None:
    host = plant({"run/openrc/softlevel": "default", "proc/1/comm": "init\n"})
    assert read(host) == FeatureSet(attributes={"name": "openrc", "command": "init"})


def test_any_other_program_keeps_its_name(plant: Plant) -> None:
    found = read(plant({"proc/1/comm": "runit\n", "sbin/init": ""}))
    assert found == FeatureSet(attributes={"name": "runit", "command": "runit"})


def test_what_is_installed_counts_where_nothing_tells_what_runs(plant: Plant, tmp_path: Path) -> None:
    host = plant({"sbin/": "", "usr/lib/systemd/systemd": ""})
    (tmp_path / "sbin/init").symlink_to("../usr/lib/systemd/systemd")
    assert read(host) == FeatureSet(attributes={"name": "systemd"})


def test_a_command_that_cannot_be_read_is_a_fault_and_other_files_count(plant: Plant) -> None:
    reading = SystemSource().read(plant({"proc/1/comm/": "", "run/systemd/system/": ""}))
    assert reading.sets["system.init"] == FeatureSet(attributes={"name": "systemd"})
    assert "proc/1/comm is no regular file" in reading.faults


def test_without_any_of_the_files_it_is_unknown(plant: Plant) -> None:
    found = read(plant({"etc/os-release": ""}))
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
