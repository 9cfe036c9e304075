from collections.abc import Callable

import pytest
from tests.detector.sources.accel.conftest import Layout, function

from nodeworthy.features import Instance
from nodeworthy_detector.sources.accel.fpga import judge_state

Accelerators = Callable[[Layout], tuple[Instance, ...]]

UEVENT = (
    "DRIVER=zynqmp_fpga_manager\nOF_FULLNAME=/firmware/zynqmp-firmware/pcap\nOF_COMPATIBLE_0=xlnx,zynqmp-pcap-fpga\n"
)


def manager(**changed: str) -> Layout:
    """Documentation/ABI/testing/sysfs-class-fpga-manager; the name is that of drivers/fpga/zynqmp-fpga.c."""
    files = {"name": "Xilinx ZynqMP FPGA Manager\n", "state": "operating\n", "device__uevent": UEVENT} | changed
    own: Layout = {f"sys/class/fpga_manager/fpga0/{name.replace('__', '/')}": text for name, text in files.items()}
    return own | {"dev/fpga0": ""}


def test_a_manager_of_a_device_tree_is_an_fpga(accelerators: Accelerators) -> None:
    assert accelerators(manager()) == (
        {
            "kind": "fpga",
            "vendor": "xilinx",
            "model": "Xilinx ZynqMP FPGA Manager",
            "driver": "zynqmp_fpga_manager",
            "form": "physical",
            "device_nodes": "/dev/fpga0",
            "health": "ok",
        },
    )


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("operating", "ok"),
        ("write error", "failed"),
        ("firmware request error", "failed"),
        ("unknown", "unknown"),
        ("power off", "unknown"),
        ("write", "unknown"),
    ],
)
def test_health_is_what_the_managers_state_says(accelerators: Accelerators, state: str, word: str) -> None:
    assert judge_state(state).word == word
    (device,) = accelerators(manager(state=f"{state}\n"))
    assert device["health"] == word


def test_the_manager_inside_of_a_pci_card_is_no_second_device(accelerators: Accelerators) -> None:
    card = function("0000:b1:00.0", "120000 8086 0b30", "dfl-pci")
    found = accelerators(card | manager(device__uevent="DRIVER=dfl-fme-mgr\n"))
    assert [(device["kind"], device["driver"]) for device in found] == [("fpga", "dfl-pci")]
