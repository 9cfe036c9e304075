from collections.abc import Callable

import pytest
from tests.detector.sources.accel.conftest import Layout, function

from nodeworthy.features import Instance
from nodeworthy_detector.sources.accel.ascend import VERSION_FILE, parse_version_info

Accelerators = Callable[[Layout], tuple[Instance, ...]]

VERSION_INFO = """\
Version=24.1.rc1
ascendhal_version=7.35.19
aicpu_version=1.0
tdt_version=1.0
Innerversion=V100R001C15SPC006B220
compatible_version=[V100R001C11],[V100R001C13],[V100R001C15]
"""
"""As printed in installation guides of Ascend images."""

SHARED: Layout = {"dev/davinci_manager": "", "dev/devmm_svm": "", "dev/hisi_hdc": ""}


def ascend(address: str) -> Layout:
    return function(address, "120000 19e5 d802", "devdrv_device_driver")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (VERSION_INFO, "24.1.rc1"),
        ("Version=7.35.23\npackage_version=26.0.rc1\n", "26.0.rc1"),
        ("", None),
        ("Version=\nnot an assignment\n", None),
    ],
)
def test_the_version_is_that_of_the_package(text: str, version: str | None) -> None:
    assert parse_version_info(text) == version


def test_the_only_device_has_the_only_node(accelerators: Accelerators) -> None:
    (device,) = accelerators(ascend("0000:c1:00.0") | SHARED | {"dev/davinci0": "", VERSION_FILE: VERSION_INFO})
    assert (device["kind"], device["vendor"], device["model"]) == ("npu", "huawei", "Ascend 910B")
    assert device["driver_version"] == "24.1.rc1"
    assert device["device_nodes"] == "/dev/davinci0 /dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc"


def test_of_several_devices_nobody_says_which_node_is_whose(accelerators: Accelerators) -> None:
    nodes: Layout = {"dev/davinci0": "", "dev/davinci1": ""}
    found = accelerators(ascend("0000:81:00.0") | ascend("0000:c1:00.0") | SHARED | nodes)
    assert {device["device_nodes"] for device in found} == {"/dev/davinci_manager /dev/devmm_svm /dev/hisi_hdc"}


def test_huaweis_compression_engine_is_no_ascend(accelerators: Accelerators) -> None:
    (device,) = accelerators(
        function("0000:75:00.0", "120000 19e5 a250", "hisi_zip") | SHARED | {VERSION_FILE: VERSION_INFO}
    )
    assert device["kind"] == "other"
    assert device.keys() & {"driver_version", "device_nodes", "model"} == set()
