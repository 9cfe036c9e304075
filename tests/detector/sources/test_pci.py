import os
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import PciSource, Reading
from nodeworthy_detector.sources.pci import parse_value

Plant = Callable[[Mapping[str, str | bytes]], Host]

PCI = "sys/bus/pci/devices"
ANCHOR = {"sys/bus/platform/drivers_autoprobe": "1"}
GPU = {"class": "0x030200\n", "vendor": "0x10de\n", "device": "0x2330\n"}
SUBSYSTEM = {"subsystem_vendor": "0x10de\n", "subsystem_device": "0x16c1\n"}
READ = {"class": "0302", "vendor": "10de", "device": "2330", "subsystem_vendor": "10de", "subsystem_device": "16c1"}


def function(address: str, **more: str) -> dict[str, str]:
    values = GPU | SUBSYSTEM | {name.replace("__", "/"): value for name, value in more.items()}
    return {f"{PCI}/{address}/{name}": value for name, value in values.items()}


def devices(reading: Reading) -> object:
    found = reading.sets["pci.device"]
    assert isinstance(found, FeatureSet)
    return found.instances


def test_p1_the_class_is_cut_to_class_and_subclass() -> None:
    assert parse_value("class", "0x030200\n") == "0302"
    assert parse_value("class", "0x120000") == "1200"
    assert parse_value("vendor", "0x10de\n") == "10de"


def test_functions_stand_in_the_order_of_their_addresses_with_nfds_attributes(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | function("0000:41:00.0", iommu_group__type="DMA\n", sriov_totalvfs="16\n")
        | function("0000:03:00.0")
        | {f"{PCI}/0000:03:00.0/iommu/intel-iommu/version": "1:0\n"}
    )
    reading = PciSource().read(host)
    assert devices(reading) == (
        READ | {"iommu/intel-iommu/version": "1:0"},
        READ | {"iommu_group/type": "DMA", "sriov_totalvfs": "16"},
    )
    assert reading.faults == ()


def test_p3_a_function_that_vanishes_is_left_out_and_named(plant: Plant, tmp_path: Path) -> None:
    host = plant(ANCHOR | function("0000:41:00.0") | function("0000:41:00.1") | function("0000:41:00.2"))
    (tmp_path / PCI / "0000:41:00.1/vendor").unlink()
    (tmp_path / PCI / "0000:41:00.2/device").unlink()
    os.mkfifo(tmp_path / PCI / "0000:41:00.2/device")
    (tmp_path / PCI / "0000:41:00.3").symlink_to("../../../devices/gone")
    reading = PciSource().read(host)
    assert devices(reading) == (READ,)
    assert len(reading.faults) == 3
    assert "0000:41:00.1/vendor is not there" in reading.faults[0]


def test_p5_virtual_functions_are_not_capable_of_more(plant: Plant) -> None:
    host = plant(ANCHOR | function("0000:81:00.0", sriov_totalvfs="64") | function("0000:81:01.0"))
    assert devices(PciSource().read(host)) == (READ | {"sriov_totalvfs": "64"}, READ)


def test_a_machine_without_the_bus_is_no_recording_without_it(plant: Plant) -> None:
    unknown = PciSource().read(plant({"sys/bus/cpu/devices/": ""})).sets["pci.device"]
    absent = PciSource().read(plant(ANCHOR)).sets["pci.device"]
    assert isinstance(unknown, SetStatus)
    assert isinstance(absent, SetStatus)
    assert (unknown.state, absent.state) == (SetState.UNKNOWN, SetState.ABSENT)


def test_a_bus_of_which_no_function_can_be_read_is_unknown(plant: Plant) -> None:
    found = PciSource().read(plant(ANCHOR | {f"{PCI}/0000:41:00.0/class/": ""})).sets["pci.device"]
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


def test_a_thousand_broken_functions_are_a_bounded_number_of_faults(plant: Plant) -> None:
    host = plant(
        ANCHOR | function("0000:00:00.0") | {f"{PCI}/0001:00:{number:03}/class": "0x0" for number in range(200)}
    )
    reading = PciSource().read(host)
    assert devices(reading) == (READ,)
    assert len(reading.faults) == 51
    assert reading.faults[-1] == "and 150 more"


@given(st.text())
def test_any_text_is_a_value(text: str) -> None:
    assert len(parse_value("class", text)) <= 4
