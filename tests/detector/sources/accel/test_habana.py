from collections.abc import Callable

import pytest
from tests.detector.sources.accel.conftest import PCI, Layout, function, member

from nodeworthy.features import Instance
from nodeworthy_detector.sources.accel.habana import judge_status

Accelerators = Callable[[Layout], tuple[Instance, ...]]

ADDRESS = "0000:4d:00.0"
FILES = {"device_type": "GAUDI2\n", "status": "Operational\n", "cpucp_ver": "hl-gaudi2-1.15.0-fw-48.2.1\n"}
"""Documentation/ABI/testing/sysfs-driver-habanalabs; the values as Habana's own tools print them."""


def gaudi(**changed: str) -> Layout:
    device = function(ADDRESS, "120000 1da3 1020", "habanalabs", driver__module__version="1.15.0-fea4b1f\n")
    legacy: Layout = {f"sys/class/habanalabs/hl3/{name}": text for name, text in (FILES | changed).items()}
    return (
        device | legacy | {"sys/class/habanalabs/hl3/pci_addr": f"{ADDRESS}\n", "dev/hl3": "", "dev/hl_controlD3": ""}
    )


def test_a_gaudi_of_the_vendors_driver_is_found_by_the_address_that_its_class_tells(accelerators: Accelerators) -> None:
    (device,) = accelerators(gaudi())
    assert device == {
        "kind": "npu",
        "vendor": "habana",
        "vendor_id": "1da3",
        "device_id": "1020",
        "model": "Gaudi2",
        "driver": "habanalabs",
        "driver_version": "1.15.0-fea4b1f",
        "firmware": "hl-gaudi2-1.15.0-fw-48.2.1",
        "address": ADDRESS,
        "form": "physical",
        "numa_node": "1",
        "device_nodes": "/dev/hl3 /dev/hl_controlD3",
        "health": "ok",
    }


def test_since_linux_6_8_the_same_files_are_those_of_the_class_accel(accelerators: Accelerators) -> None:
    own: Layout = {f"{PCI}/{ADDRESS}/accel/accel1/{name}": text for name, text in FILES.items()}
    files = function(ADDRESS, "120000 1da3 1020", "habanalabs") | member("accel", "accel1", ADDRESS)
    (device,) = accelerators(files | own)
    assert (device["model"], device["health"], device["device_nodes"]) == ("Gaudi2", "ok", "/dev/accel/accel1")


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("Operational", "ok"),
        ("operational", "ok"),
        ("Malfunction", "failed"),
        ("disabled", "failed"),
        ("in reset", "degraded"),
        ("needs reset", "degraded"),
        ("in device creation", "degraded"),
    ],
)
def test_health_is_the_drivers_own_word(accelerators: Accelerators, status: str, word: str) -> None:
    assert judge_status(status).word == word
    (device,) = accelerators(gaudi(status=f"{status}\n"))
    assert device["health"] == word
    assert device.get("health_reason") == (None if word == "ok" else f"the driver says: {status}")


def test_a_device_that_no_class_names_is_known_by_its_number(accelerators: Accelerators) -> None:
    (device,) = accelerators(function(ADDRESS, "120000 1da3 1060", ""))
    assert (device["model"], device["health"]) == ("Gaudi3", "unknown")
