import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.errors import EncodingError
from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, decode, encode
from nodeworthy_detector.hostfs import Host, HostReadError
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


def devices(reading: Reading) -> tuple[Instance, ...]:
    found = reading.sets["pci.device"]
    assert isinstance(found, FeatureSet)
    return found.instances or ()


def size(*instances: Instance) -> int:
    return len(encode(FeatureSet(instances=instances)))


class Refusing(Host):
    """A host whose files with this name are refused by their driver."""

    def __init__(self, host: Host, name: str, *, has_no_value: bool) -> None:
        super().__init__(Path(str(host)))
        self._name = name
        self._has_no_value = has_no_value

    def read_start(self, path: str, size: int) -> bytes | None:
        if path.endswith(self._name):
            raise HostReadError(path, os.strerror(errno.EINVAL), has_no_value=self._has_no_value)
        return super().read_start(path, size)


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


def test_p3_a_function_that_refuses_is_left_out_and_an_attribute_without_a_value_is_no_fault(plant: Plant) -> None:
    files = ANCHOR | function("0000:41:00.0", sriov_totalvfs="16") | function("0000:41:00.1")
    reading = PciSource().read(Refusing(plant(files), "41:00.1/vendor", has_no_value=True))
    assert devices(reading) == (READ | {"sriov_totalvfs": "16"},)
    assert reading.faults == (f"{PCI}/0000:41:00.1/vendor Invalid argument; the device is left out",)
    reading = PciSource().read(Refusing(plant(files), "sriov_totalvfs", has_no_value=True))
    assert (devices(reading), reading.faults) == ((READ, READ), ())
    reading = PciSource().read(Refusing(plant(files), "41:00.0/sriov_totalvfs", has_no_value=False))
    assert (devices(reading), len(reading.faults)) == ((READ, READ), 1)


def test_p3_a_file_that_may_not_be_read_harms_only_its_function(
    plant: Plant, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    host = plant(ANCHOR | function("0000:41:00.0") | function("0000:41:00.1"))
    (tmp_path / PCI / "0000:41:00.0/device").chmod(0)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    request.getfixturevalue("unprivileged")
    reading = PciSource().read(host)
    assert devices(reading) == (READ,)
    assert reading.faults == (f"{PCI}/0000:41:00.0/device cannot be read: permission denied; the device is left out",)


def test_domains_of_32_bits_stand_in_the_order_of_their_names(plant: Plant) -> None:
    """hwloc's test machine 2pa-pcidomain32bits: a virtual disk (1af4:1001) in domain 0x10000."""
    addresses = {"0000:00:03.0": "1000", "10000:00:00.0": "0008", "10000:00:04.0": "1001", "ffffffff:ff:1f.7": "1041"}
    files = [function(address, device=f"0x{device}\n") for address, device in addresses.items()]
    found = devices(PciSource().read(plant(ANCHOR | {name: value for one in files for name, value in one.items()})))
    assert [one["device"] for one in found] == ["1000", "0008", "1001", "1041"]


VIRTUAL = READ | {"device": "1889"}


def test_p6_virtual_functions_are_published_as_a_group_with_a_count(plant: Plant) -> None:
    files = ANCHOR | function("0000:81:00.0", sriov_totalvfs="256")
    for number in range(1, 257):
        files |= function(f"0000:{0x81 + number // 256:02x}:{number % 256 // 8:02x}.{number % 8}", device="0x1889\n")
    found = devices(PciSource().read(plant(files)))
    assert found == (READ | {"sriov_totalvfs": "256"}, *[VIRTUAL] * 256)
    assert size(*found) - size(*found[:2]) == 2  # the count: 1 in one byte, 256 in three
    assert decode(encode(FeatureSet(instances=found))).instances == found


def test_p6_virtual_functions_of_several_ports_are_one_group_though_their_addresses_alternate() -> None:
    """Ports of one adapter have their virtual functions in turn where the VF Stride (PCIe 9.3.3.10) is their number."""
    one = size(READ, READ, VIRTUAL)
    assert size(READ, READ, *[VIRTUAL] * 512) - one == 2


def test_p6_ten_thousand_functions_of_a_full_server_fit_and_are_few_objects(plant: Plant) -> None:
    adapter = {"class": "020000", "vendor": "0x8086\n"}
    files: dict[str, str] = dict(ANCHOR)
    for slot in range(40):
        for number in range(6):
            kind = "0x1889\n" if number else "0x1592\n"
            files |= function(f"{slot:04x}:01:00.{number}", device=kind, **adapter)
    found = devices(PciSource().read(plant(files)))
    assert len(found) == 240
    assert len({id(one) for one in found}) == 2
    physical, virtual = found[:2]
    server = [one for _ in range(40) for one in (physical, *[virtual] * 255)]
    assert len(server) > 10_000
    assert size(*server) < 10_000


def test_p6_a_bus_of_which_no_function_is_like_its_neighbour_has_a_limit_and_is_then_refused_whole() -> None:
    """No machine is known that has this; discovery makes a refused set unknown, which test_discovery.py shows."""
    with pytest.raises(EncodingError, match="the limit is 524,288"):
        size(*[READ, VIRTUAL] * 5_000)
    assert size(*[READ, VIRTUAL] * 3_000) < 512 * 1024


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


@given(values=st.lists(st.binary(max_size=12), min_size=6, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device", "sriov_totalvfs")
    files = {f"{PCI}/0000:00:00.0/{name}": value for name, value in zip(names, values, strict=True)}
    encode(FeatureSet(instances=devices(PciSource().read(plant(files)))))
