from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.libraries import Library, find_libraries, parse_library_name
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]


def installed(folder: str, version: str) -> dict[str, str]:
    names = ("libcuda.so.1", f"libcuda.so.{version}", "libnvidia-ml.so.1", f"libnvidia-ml.so.{version}")
    return {f"{folder}/{name}": "" for name in names}


@pytest.mark.parametrize(
    "name",
    [
        "libcuda.so",
        "libcuda.so.1",
        "libcuda.so.1.1",
        "libcudart.so.12.4.127",
        "libcuda.so.550.54.15.bak",
        "libcuda.so.550",
    ],
)
def test_links_and_other_libraries_have_no_driver_version(name: str) -> None:
    assert parse_library_name(name) is None


@pytest.mark.parametrize(
    "folder",
    [
        "usr/lib64",
        "usr/lib/x86_64-linux-gnu",
        "usr/lib/aarch64-linux-gnu/nvidia/current",
        "run/nvidia/driver/usr/lib64",
        "run/nvidia/driver/usr/lib/x86_64-linux-gnu",
        "home/kubernetes/bin/nvidia/lib64",
        "usr/local/glibc/usr/lib",
    ],
)
def test_libraries_are_found_where_distributions_put_them(plant: Plant, folder: str) -> None:
    host = plant(installed(folder, "550.54.15") | {f"{folder}/libc.so.6": ""})
    assert find_libraries(host, Faults()) == (
        Library("libcuda.so", "550.54.15", f"/{folder}/libcuda.so.550.54.15"),
        Library("libnvidia-ml.so", "550.54.15", f"/{folder}/libnvidia-ml.so.550.54.15"),
    )


def test_without_its_link_a_library_is_looked_for_where_the_driver_is_loaded(plant: Plant) -> None:
    files = {"usr/lib64/libcuda.so.535.54.03": ""}
    assert find_libraries(plant(files), Faults()) == ()
    (found,) = find_libraries(plant(files | {"sys/module/nvidia/version": "550.54.15"}), Faults())
    assert found.version == "535.54.03"


def test_the_forward_compatibility_package_is_told_apart(plant: Plant) -> None:
    host = plant(installed("usr/local/cuda-12.4/compat", "550.54.15") | installed("usr/local/other/compat", "1.2"))
    found = find_libraries(host, Faults())
    assert [(one.version, one.is_compatibility) for one in found] == [("550.54.15", True)] * 2


def test_a_folder_that_is_a_link_to_another_counts_once(plant: Plant, tmp_path: Path) -> None:
    host = plant(installed("usr/lib", "550.54.15"))
    (tmp_path / "usr/lib64").symlink_to("lib")
    (tmp_path / "usr/local").mkdir()
    (tmp_path / "usr/local/cuda").symlink_to("/usr/lib")
    assert len(find_libraries(host, Faults())) == 2


def test_a_link_that_leads_in_a_circle_is_a_fault(plant: Plant, tmp_path: Path) -> None:
    host = plant({"usr/lib/": ""})
    (tmp_path / "usr/lib/libcuda.so.1").symlink_to("libcuda.so.1")
    faults = Faults()
    assert find_libraries(host, faults) == ()
    assert faults.listed() == ("usr/lib/libcuda.so.1 leads through too many symbolic links",)
