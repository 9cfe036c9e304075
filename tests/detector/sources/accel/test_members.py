from collections.abc import Callable, Mapping

from tests.detector.sources.accel.conftest import Layout, h100

from nodeworthy.features import Instance
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.members import read_members
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]
Accelerators = Callable[[Layout], tuple[Instance, ...]]

MALI = "DRIVER=panfrost\nOF_NAME=gpu\nOF_FULLNAME=/gpu@ff9a0000\nOF_COMPATIBLE_0=rockchip,rk3399-mali\n"
"""drivers/of/device.c, of_device_uevent."""


def test_a_gpu_of_a_device_tree_is_one_device_with_its_render_node(accelerators: Accelerators) -> None:
    files: Layout = {
        "sys/class/drm/card0/device/uevent": MALI,
        "sys/class/drm/card0-HDMI-A-1/device/uevent": MALI,
        "sys/class/drm/renderD128/device/uevent": MALI,
        "sys/class/drm/version": "drm 1.1.0 20060810",
        "dev/dri/renderD128": "",
    }
    assert accelerators(files) == (
        {
            "kind": "gpu",
            "vendor": "rockchip",
            "driver": "panfrost",
            "form": "physical",
            "device_nodes": "/dev/dri/renderD128",
            "health": "ok",
        },
    )


def test_a_display_without_a_render_node_and_a_virtual_gpu_are_no_accelerators(plant: Plant) -> None:
    host = plant(
        {
            "sys/class/drm/card0/device/uevent": MALI,
            "sys/class/drm/renderD128/device/uevent": "DRIVER=virtio_gpu\nMODALIAS=virtio:d00000010v00001AF4\n",
        }
    )
    assert read_members(host, Faults()).others == ()


def test_members_on_the_pci_bus_are_no_second_device(plant: Plant) -> None:
    found = read_members(plant(h100()), Faults())
    assert found.others == ()
    assert found.nodes == {"0000:62:00.0": ("dri/card2", "dri/renderD129")}
