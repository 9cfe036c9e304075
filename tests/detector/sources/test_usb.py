import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import Reading, UsbSource

Plant = Callable[[Mapping[str, str | bytes]], Host]

USB = "sys/bus/usb/devices"
CORAL = {"bDeviceClass": "ff\n", "idVendor": "1a6e\n", "idProduct": "089a\n", "bcdDevice": "0100\n"}
KEYBOARD = {"bDeviceClass": "00\n", "idVendor": "046d\n", "idProduct": "c31c\n", "serial": "\n"}
HUB = {"bDeviceClass": "09\n", "idVendor": "1d6b\n", "idProduct": "0002\n", "serial": "0000:00:14.0\n"}


def device(port: str, values: Mapping[str, str], *classes: str) -> dict[str, str]:
    """The files of a device, and of its interfaces below it and beside it on the bus."""
    files = {f"{USB}/{port}/{name}": value for name, value in values.items()}
    for number, class_ in enumerate(classes):
        for folder in (f"{USB}/{port}/{port}:1.{number}", f"{USB}/{port}:1.{number}"):
            files[f"{folder}/bInterfaceClass"] = class_ + "\n"
    return files


def instances(reading: Reading) -> tuple[Instance, ...]:
    found = reading.sets["usb.device"]
    assert isinstance(found, FeatureSet)
    return found.instances or ()


def test_devices_stand_in_the_order_of_their_ports_with_nfds_attributes(plant: Plant) -> None:
    reading = UsbSource().read(plant(device("usb1", HUB, "09") | device("1-2", CORAL, "fe") | device("1-10", CORAL)))
    assert instances(reading) == (
        {"class": "ff", "vendor": "1a6e", "device": "089a"},
        {"class": "ff", "vendor": "1a6e", "device": "089a"},
        {"class": "09", "vendor": "1d6b", "device": "0002", "serial": "0000:00:14.0"},
    )
    assert reading.faults == ()


def test_a_device_without_a_class_of_its_own_is_an_instance_for_each_of_its_interfaces(plant: Plant) -> None:
    host = plant(device("1-1", KEYBOARD, "03", "03", "0e") | device("1-2", KEYBOARD))
    keyboard = {"vendor": "046d", "device": "c31c"}
    assert instances(UsbSource().read(host)) == (
        {"class": "03"} | keyboard,
        {"class": "03"} | keyboard,
        {"class": "0e"} | keyboard,
    )


def test_equal_devices_are_one_run_in_the_canonical_form(plant: Plant) -> None:
    (one,) = instances(UsbSource().read(plant(device("1-1", CORAL))))
    many = UsbSource().read(plant({k: v for port in range(1, 90) for k, v in device(f"1-{port}", CORAL).items()}))
    assert len(instances(many)) == 89
    assert len(encode(FeatureSet(instances=instances(many)))) == len(encode(FeatureSet(instances=(one,))))


def test_p3_a_device_that_vanishes_or_refuses_is_left_out_and_named(plant: Plant, tmp_path: Path) -> None:
    host = plant(device("1-1", CORAL) | device("1-2", CORAL) | device("1-3", KEYBOARD, "03", "0e"))
    (tmp_path / USB / "1-2/idVendor").unlink()
    (tmp_path / USB / "1-3/1-3:1.0/bInterfaceClass").unlink()
    (tmp_path / USB / "1-4").symlink_to("../../../devices/gone")
    os.mkfifo(tmp_path / USB / "1-1/serial")
    reading = UsbSource().read(host)
    assert [found["class"] for found in instances(reading)] == ["ff", "0e"]
    assert [fault.removeprefix(f"{USB}/") for fault in reading.faults] == [
        "1-1/serial is no regular file",
        "1-2/idVendor is not there; the device is left out",
        "1-3/1-3:1.0/bInterfaceClass is not there; the interface is left out",
        "1-4/bDeviceClass is not there; the device is left out",
    ]


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"sys/bus/cpu/devices/": ""}, SetState.UNKNOWN),
        ({"sys/bus/platform/": ""}, SetState.ABSENT),
        ({f"{USB}/1-1/bDeviceClass/": ""}, SetState.UNKNOWN),
    ],
)
def test_no_bus_is_absent_and_no_sysfs_or_nothing_readable_unknown(
    plant: Plant, files: Mapping[str, str], state: SetState
) -> None:
    found = UsbSource().read(plant(files)).sets["usb.device"]
    assert isinstance(found, SetStatus)
    assert found.state is state


def test_a_bus_without_devices_is_an_empty_list(plant: Plant) -> None:
    assert instances(UsbSource().read(plant({f"{USB}/": ""}))) == ()


@given(values=st.lists(st.binary(max_size=12), min_size=5, max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = ("bDeviceClass", "idVendor", "idProduct", "serial", "1-1:1.0/bInterfaceClass")
    reading = UsbSource().read(plant({f"{USB}/1-1/{name}": value for name, value in zip(names, values, strict=True)}))
    encode(FeatureSet(instances=instances(reading)))
