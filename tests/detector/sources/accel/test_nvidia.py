from collections.abc import Callable, Mapping

import pytest
from tests.detector.sources.accel.conftest import (
    ANCHOR,
    H100_INFORMATION,
    NVIDIA_OPEN,
    NVIDIA_PROPRIETARY,
    PCI,
    Layout,
    function,
    h100,
)

from nodeworthy.features import FeatureSet, Instance
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import AccelSource
from nodeworthy_detector.sources.accel.nvidia import ModuleVersion, parse_information, parse_version

Plant = Callable[[Mapping[str, str | bytes]], Host]
Accelerators = Callable[[Layout], tuple[Instance, ...]]


@pytest.mark.parametrize(
    ("text", "version", "flavor"),
    [
        (NVIDIA_PROPRIETARY, "550.54.15", "proprietary"),
        (NVIDIA_OPEN, "565.57.01", "open"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.86  Release Build  (dvs)\n", "570.86", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  96.43.23  Thu May  3\n", "96.43.23", "proprietary"),
    ],
)
def test_the_version_file_has_two_forms(text: str, version: str, flavor: str) -> None:
    assert parse_version(text) == ModuleVersion(version, flavor)


@pytest.mark.parametrize("text", ["", "GCC version:  gcc version 12.2.0 (GCC)\n", "NVRM version: NVIDIA UNIX\n"])
def test_a_version_file_without_a_version_has_none(text: str) -> None:
    assert parse_version(text) is None


def test_the_lines_of_a_gpu_are_read_whatever_stands_between_name_and_value() -> None:
    found = parse_information(H100_INFORMATION)
    assert found["Model"] == "NVIDIA H100 80GB HBM3"
    assert found["Bus Location"] == "0000:62:00.0"
    assert found["GPU Excluded"] == "No"


def test_a_gpu_that_nothing_has_opened_yet_is_of_unknown_health_and_has_its_model(accelerators: Accelerators) -> None:
    text = (
        H100_INFORMATION.replace("9221d5d1-b60b-a624-bf14-0a1819cfda3b", "????????-????-????-????-????????????")
        .replace("96.00.99.00.01", "??.??.??.??.??")
        .replace("550.54.15", "N/A")
    )
    (device,) = accelerators(h100(information=text))
    assert (device["health"], device["health_reason"]) == (
        "unknown",
        "the driver has not initialised this device yet",
    )
    assert device["model"] == "NVIDIA H100 80GB HBM3"
    assert "firmware" not in device


@pytest.mark.parametrize("name", ["GPU Excluded", "GPU Blacklisted"])
def test_a_gpu_that_the_driver_was_told_to_leave_alone_has_failed(accelerators: Accelerators, name: str) -> None:
    (device,) = accelerators(h100(information=H100_INFORMATION.replace("GPU Excluded:\t No", f"{name}:\t Yes")))
    assert (device["health"], device["health_reason"]) == ("failed", "the driver's settings exclude this device")


def test_mig_devices_are_counted_for_the_gpu_that_they_are_of(accelerators: Accelerators) -> None:
    """The tree is the one of NVIDIA's "Multi-Instance GPU User Guide", chapter Device Nodes and Capabilities."""
    mig = "proc/driver/nvidia/capabilities/gpu5/mig"
    instances: Layout = {f"{mig}/gi{number}/ci0/access": "DeviceFileMinor: 3\n" for number in (1, 2)}
    other: Layout = {"proc/driver/nvidia/capabilities/gpu6/mig/gi1/ci0/access": ""}
    common: Layout = {"proc/driver/nvidia/capabilities/mig/config": "", f"{mig}/gi1/access": ""}
    (device,) = accelerators(h100() | instances | other | common)
    assert device["mig_devices"] == "2"


def test_a_gpu_that_is_not_divided_has_no_count_of_mig_devices(accelerators: Accelerators) -> None:
    (device,) = accelerators(h100() | {"proc/driver/nvidia/capabilities/gpu5/mig/": ""})
    assert "mig_devices" not in device


@pytest.mark.parametrize(
    ("model", "form"),
    [("NVIDIA A40-8Q", "virtual-gpu"), ("GRID A100-1-5C", "virtual-gpu"), ("NVIDIA A100-SXM4-40GB", "physical")],
)
def test_a_virtual_gpu_is_known_by_its_name(accelerators: Accelerators, model: str, form: str) -> None:
    (device,) = accelerators(h100(information=H100_INFORMATION.replace("NVIDIA H100 80GB HBM3", model)))
    assert device["form"] == form


@pytest.mark.parametrize("file", ["mdev_supported_types/nvidia-529/name", "virtfn0/nvidia/creatable_vgpu_types"])
def test_a_gpu_of_which_virtual_ones_can_be_made_says_so(accelerators: Accelerators, file: str) -> None:
    (device,) = accelerators(h100() | {f"{PCI}/0000:62:00.0/{file}": "NVIDIA A40-8Q\n"})
    assert device["vgpu_host"] == "true"


def test_a_gpu_of_another_driver_is_listed_without_what_nvidias_would_tell(accelerators: Accelerators) -> None:
    (device,) = accelerators(function("0000:62:00.0", "030200 10de 2330", "nouveau"))
    assert (device["driver"], device["health"]) == ("nouveau", "ok")
    assert device.keys() & {"model", "driver_version", "firmware"} == set()


def test_information_that_cannot_be_read_is_a_fault_and_the_gpu_stays_listed(plant: Plant) -> None:
    path = "proc/driver/nvidia/gpus/0000:62:00.0/information"
    files = h100()
    del files[path]
    reading = AccelSource().read(plant(ANCHOR | files | {f"{path}/": ""}))
    found = reading.sets["accel.device"]
    assert isinstance(found, FeatureSet)
    assert (found.instances or ())[0]["driver_version"] == "550.54.15"
    assert reading.faults == (f"{path} is no regular file",)
