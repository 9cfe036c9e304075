from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.detector.sources.accel.conftest import ANCHOR, PCI, Layout, function, h100, member, mi300x

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import AccelSource, Reading
from nodeworthy_detector.sources.accel.devices import judge_health
from nodeworthy_detector.sources.accel.record import Device, Health, Told

Plant = Callable[[Mapping[str, str | bytes]], Host]
Accelerators = Callable[[Layout], tuple[Instance, ...]]

GPU = Device(kind="gpu", folder=f"{PCI}/0000:62:00.0", address="0000:62:00.0", driver="nvidia")


def status(reading: Reading) -> SetStatus:
    found = reading.sets["accel.device"]
    assert isinstance(found, SetStatus)
    return found


def test_a_gpu_with_its_driver_says_everything_in_words(accelerators: Accelerators) -> None:
    assert accelerators(h100()) == (
        {
            "kind": "gpu",
            "vendor": "nvidia",
            "vendor_id": "10de",
            "device_id": "2330",
            "model": "NVIDIA H100 80GB HBM3",
            "driver": "nvidia",
            "driver_version": "550.54.15",
            "firmware": "550.54.15",
            "address": "0000:62:00.0",
            "form": "physical",
            "numa_node": "1",
            "device_nodes": "/dev/nvidia5 /dev/nvidiactl /dev/nvidia-uvm /dev/dri/card2 /dev/dri/renderD129",
            "health": "ok",
        },
    )


def test_a_link_to_the_driver_is_enough_whether_or_not_it_leads_anywhere(plant: Plant, tmp_path: Path) -> None:
    folder = f"{PCI}/0000:05:00.0"
    host = plant(
        ANCHOR | function("0000:05:00.0", "120000 1002 74a1", "amdgpu") | {"sys/module/amdgpu/version": "6.8.5\n"}
    )
    (tmp_path / folder / "uevent").unlink()
    (tmp_path / folder / "driver").symlink_to("../../../../bus/pci/drivers/amdgpu")
    found = AccelSource().read(host).sets["accel.device"]
    assert isinstance(found, FeatureSet)
    (device,) = found.instances or ()
    assert (device["driver"], device["driver_version"], device["health"]) == ("amdgpu", "6.8.5", "ok")


def test_devices_of_several_vendors_stand_in_the_order_of_their_addresses(accelerators: Accelerators) -> None:
    console = function("0000:03:00.0", "030000 1a03 2000", "ast")
    network = function("0000:81:00.0", "020000 15b3 101d", "mlx5_core")
    found = accelerators(mi300x() | h100() | console | network)
    assert [(device["address"], device["vendor"]) for device in found] == [
        ("0000:62:00.0", "nvidia"),
        ("0000:75:00.0", "amd"),
    ]


def test_a_machine_without_accelerators_has_none_and_one_without_sysfs_does_not_say(plant: Plant) -> None:
    empty = status(AccelSource().read(plant({"etc/hostname": "x"})))
    assert (empty.state, empty.reason) == (SetState.UNKNOWN, "sys/bus/platform is not there")
    console = status(AccelSource().read(plant(ANCHOR | function("0000:03:00.0", "030000 1a03 2000", "ast"))))
    assert (console.state, console.reason) == (SetState.ABSENT, "this machine has no accelerator")


@pytest.mark.parametrize("module", ["nvgpu", "nvidia"])
def test_a_driver_without_a_device_on_any_bus_leaves_it_open_whether_there_is_one(plant: Plant, module: str) -> None:
    reading = AccelSource().read(plant(ANCHOR | {f"sys/module/{module}/refcnt": "1"}))
    found = status(reading)
    assert (found.state, module in found.reason) == (SetState.UNKNOWN, True)


def test_a_function_that_cannot_be_read_leaves_it_open_whether_there_is_an_accelerator(plant: Plant) -> None:
    vanished = {f"{PCI}/0000:41:00.0/class": "0x030200\n"}
    reading = AccelSource().read(plant(ANCHOR | vanished))
    assert status(reading).state is SetState.UNKNOWN
    assert reading.faults == (f"{PCI}/0000:41:00.0/vendor is not there; whether it is an accelerator is not known",)


def test_one_function_that_cannot_be_read_harms_no_other(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR | h100() | {f"{PCI}/0000:63:00.0/class/": ""}))
    found = reading.sets["accel.device"]
    assert isinstance(found, FeatureSet)
    assert len(found.instances or ()) == 1
    assert "0000:63:00.0" in reading.faults[0]


def test_device_nodes_that_are_not_there_are_not_listed(accelerators: Accelerators) -> None:
    files = {name: content for name, content in h100().items() if not name.startswith("dev/nvidia")}
    (device,) = accelerators(files)
    assert device["device_nodes"] == "/dev/dri/card2 /dev/dri/renderD129"


def test_without_the_folder_of_device_nodes_it_is_said_that_they_are_not_known(plant: Plant) -> None:
    files = {name: content for name, content in (ANCHOR | h100()).items() if not name.startswith("dev/")}
    reading = AccelSource().read(plant(files))
    found = reading.sets["accel.device"]
    assert isinstance(found, FeatureSet)
    assert "device_nodes" not in (found.instances or ())[0]
    assert reading.faults == ("dev is not there; device nodes of accelerators are not known",)


def test_a_device_that_fell_off_the_bus_has_failed_whatever_its_driver_says(accelerators: Accelerators) -> None:
    (device,) = accelerators(h100() | {f"{PCI}/0000:62:00.0/config": b"\xff" * 64})
    assert device["health"] == "failed"
    assert device["health_reason"] == "the device does not answer on its bus"


@pytest.mark.parametrize("file", ["power/runtime_status", "physfn/vendor"])
def test_a_sleeping_device_and_a_virtual_function_are_not_asked_whether_they_answer(
    accelerators: Accelerators, file: str
) -> None:
    folder = f"{PCI}/0000:62:00.0"
    (device,) = accelerators(h100() | {f"{folder}/{file}": "suspended\n", f"{folder}/config": b"\xff" * 64})
    assert device["health"] == "ok"


@pytest.mark.parametrize(
    ("driver", "word", "reason"),
    [
        ("nvidia", "ok", ""),
        ("", "unknown", "no driver is bound to it"),
        (None, "unknown", "nothing tells which driver it has"),
        ("vfio-pci", "unknown", "vfio-pci keeps it for virtual machines or programs of its own"),
        (
            "nvgrace_gpu_vfio_pci",
            "unknown",
            "nvgrace_gpu_vfio_pci keeps it for virtual machines or programs of its own",
        ),
    ],
)
def test_a_bound_driver_is_a_good_sign_unless_it_gives_the_device_away(
    driver: str | None, word: str, reason: str
) -> None:
    device = Device(kind="gpu", folder=GPU.folder, driver=driver)
    found = judge_health(device, Told(), answers=None)
    assert (found.word, found.reason) == (word, reason)


def test_what_the_driver_says_goes_before_that_it_is_bound() -> None:
    degraded = Health("degraded", "3 uncorrectable memory errors")
    assert judge_health(GPU, Told(health=degraded), answers=True) == degraded


def test_virtual_functions_are_told_from_the_device_that_they_are_of(accelerators: Accelerators) -> None:
    """A virtual function of an MI300X has no product name in sysfs; the device is an accelerator all the same."""
    virtual = function("0000:75:02.0", "120000 1002 74b5", "amdgpu", physfn__vendor="0x1002\n")
    found = accelerators(mi300x() | virtual)
    assert [(device["form"], device["model"], device["health"]) for device in found] == [
        ("physical", "AMD Instinct MI300X OAM", "ok"),
        ("virtual-function", "AMD Instinct MI300X VF", "ok"),
    ]


def test_a_numa_node_that_the_firmware_does_not_tell_is_left_out(accelerators: Accelerators) -> None:
    (device,) = accelerators(h100() | {f"{PCI}/0000:62:00.0/numa_node": "-1\n"})
    assert "numa_node" not in device


def test_the_number_of_accelerators_is_bounded_and_the_rest_is_told(plant: Plant) -> None:
    files = {
        f"{PCI}/0000:{bus:02x}:{slot:02x}.0/{name}": value
        for bus in range(32)
        for slot in range(32)
        for name, value in (("class", "0x0b4000"), ("vendor", "0x8086"), ("device", "0x4941"), ("uevent", ""))
    }
    reading = AccelSource().read(plant(ANCHOR | files))
    found = reading.sets["accel.device"]
    assert isinstance(found, FeatureSet)
    assert len(found.instances or ()) == 1000
    assert reading.faults == ("1,024 accelerators; only the first 1,000 are listed",)


@pytest.mark.parametrize(
    ("ids", "driver", "expected"),
    [
        ("120000 8086 7d1d", "intel_vpu", ("npu", "intel", "Intel NPU (Meteor Lake)")),
        ("088000 1d0f 7164", "neuron-driver", ("npu", "aws", "Trainium")),
        ("088000 1ac1 089a", "apex", ("npu", "google", "Coral Edge TPU")),
        ("ff0000 1ae0 0063", "vfio-pci", ("npu", "google", "TPU v5e")),
        ("120000 17cb a100", "qaic", ("npu", "qualcomm", "Qualcomm Cloud AI 100")),
        ("118000 1022 1502", "amdxdna", ("npu", "amd", "AMD Ryzen AI NPU")),
        ("120000 8086 0b30", "dfl-pci", ("fpga", "intel", "Intel FPGA PAC N3000")),
        ("120000 10ee 5000", "xclmgmt", ("fpga", "xilinx", None)),
        ("0b4000 8086 4940", "4xxx", ("other", "intel", None)),
        ("030000 8086 56c0", "i915", ("gpu", "intel", None)),
        ("120000 1abc 0001", "", ("other", "1abc", None)),
    ],
)
def test_kind_vendor_and_model_are_known_by_numbers(
    accelerators: Accelerators, ids: str, driver: str, expected: tuple[str, str, str | None]
) -> None:
    (device,) = accelerators(function("0000:0a:00.0", ids, driver))
    assert (device["kind"], device["vendor"], device.get("model")) == expected


def test_the_node_of_a_class_belongs_to_the_function_that_the_class_names(accelerators: Accelerators) -> None:
    address = "0000:00:0b.0"
    files = function(address, "120000 8086 7d1d", "intel_vpu") | member("accel", "accel0", address)
    (device,) = accelerators(files)
    assert device["device_nodes"] == "/dev/accel/accel0"
