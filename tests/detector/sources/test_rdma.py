"""The adapters mlx4_0 and scif0 are those of hwloc's test machine 32em64t-2n8c+dax+nvme+mic+dimms, irdma0 is that of NFD's
issue 2335; files as Linux, ABI/stable/sysfs-class-infiniband, has them."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import NetworkSource, Reading
from nodeworthy_detector.sources.rdma import parse_driver, parse_rate, parse_state

Plant = Callable[[Mapping[str, str | bytes]], Host]

ADAPTERS = "sys/class/infiniband"
CONNECTX3 = {
    "node_type": "1: CA\n",
    "node_desc": "c412-603 HCA-1\n",
    "node_guid": "0002:c903:00f9:bfa0\n",
    "fw_ver": "2.11.500\n",
    "hca_type": "MT4099\n",
    "device/uevent": "DRIVER=mlx4_core\nPCI_CLASS=20700\nPCI_ID=15B3:1003\n",
    "ports/1/link_layer": "InfiniBand\n",
    "ports/1/rate": "56 Gb/sec (4X FDR)\n",
    "ports/1/state": "4: ACTIVE\n",
}
E810 = {
    "node_type": "1: CA\n",
    "fw_ver": "1.69\n",
    "device/uevent": "DRIVER=ice\nPCI_ID=8086:159B\n",
    "ports/1/link_layer": "Ethernet\n",
    "ports/1/rate": "25 Gb/sec (1X EDR)\n",
    "ports/1/state": "1: DOWN\n",
}


def adapter(name: str, values: Mapping[str, str]) -> dict[str, str]:
    return {f"{ADAPTERS}/{name}/{file}": value for file, value in values.items()}


def instances(reading: Reading) -> tuple[Instance, ...]:
    found = reading.sets["network.rdma"]
    assert isinstance(found, FeatureSet)
    return found.instances or ()


def test_a_port_is_told_with_its_adapter_and_without_identifiers(plant: Plant) -> None:
    reading = NetworkSource().read(plant(adapter("mlx4_0", CONNECTX3)))
    assert instances(reading) == (
        {
            "name": "mlx4_0",
            "node_type": "CA",
            "firmware": "2.11.500",
            "hca_type": "MT4099",
            "driver": "mlx4_core",
            "port": "1",
            "link_layer": "InfiniBand",
            "rate": "56000",
            "state": "ACTIVE",
        },
    )
    assert reading.faults == ()


def test_p10_an_adapter_of_any_vendor_is_told(plant: Plant) -> None:
    (found,) = instances(NetworkSource().read(plant(adapter("irdma0", E810))))
    assert (found["driver"], found["link_layer"], found["state"]) == ("ice", "Ethernet", "DOWN")


def test_p10_the_name_of_an_adapter_and_its_driver_count_where_nothing_else_is_there(
    plant: Plant, tmp_path: Path
) -> None:
    host = plant({f"{ADAPTERS}/bnxt_re0/device/": ""})
    (tmp_path / ADAPTERS / "bnxt_re0/device/driver").symlink_to("../../../../bus/pci/drivers/bnxt_en")
    assert instances(NetworkSource().read(host)) == ({"name": "bnxt_re0", "driver": "bnxt_en"},)


def test_the_ports_of_an_adapter_stand_in_the_order_of_their_numbers(plant: Plant) -> None:
    more = {f"ports/{port}/state": "4: ACTIVE" for port in (2, 10)} | {"ports/power/control": "auto"}
    found = instances(NetworkSource().read(plant(adapter("mlx4_0", CONNECTX3 | more))))
    assert [one["port"] for one in found] == ["1", "2", "10"]


def test_a_software_adapter_without_ports_and_device_is_not_unseen(plant: Plant) -> None:
    host = plant(adapter("scif0", {"node_type": "4: RNIC\n", "fw_ver": "\n"}))
    assert instances(NetworkSource().read(host)) == ({"name": "scif0", "node_type": "RNIC"},)


def test_p3_an_adapter_that_vanishes_harms_only_itself(plant: Plant, tmp_path: Path) -> None:
    host = plant(adapter("irdma0", E810) | adapter("mlx4_0", CONNECTX3))
    shutil.rmtree(tmp_path / ADAPTERS / "mlx4_0")
    (tmp_path / ADAPTERS / "mlx4_0").symlink_to("../../devices/pci0000:00/0000:81:00.0/infiniband/mlx4_0")
    (tmp_path / ADAPTERS / "irdma0/fw_ver").unlink()
    (tmp_path / ADAPTERS / "irdma0/fw_ver").mkdir()
    reading = NetworkSource().read(host)
    assert [one["name"] for one in instances(reading)] == ["irdma0"]
    assert [fault for fault in reading.faults if ADAPTERS in fault] == [
        f"{ADAPTERS}/irdma0/fw_ver is no regular file",
        f"{ADAPTERS}/mlx4_0 is not there; the device is left out",
    ]


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"etc/": ""}, SetState.UNKNOWN),
        ({"sys/bus/platform/": ""}, SetState.ABSENT),
        ({f"{ADAPTERS}/mlx5_0": ""}, SetState.UNKNOWN),
    ],
)
def test_no_core_is_absent_and_no_sysfs_or_nothing_readable_unknown(
    plant: Plant, files: Mapping[str, str], state: SetState
) -> None:
    found = NetworkSource().read(plant(files)).sets["network.rdma"]
    assert isinstance(found, SetStatus)
    assert found.state is state


def test_a_core_without_adapters_is_an_empty_list(plant: Plant) -> None:
    assert instances(NetworkSource().read(plant({f"{ADAPTERS}/": ""}))) == ()


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("2.5 Gb/sec (1X SDR)", "2500"),
        ("40 Gb/sec (4X QDR)", "40000"),
        ("400 Gb/sec (4X NDR)", "400000"),
        ("0 Gb/sec", "0"),
        ("", None),
        ("fast", None),
        ("1.25 Gb/sec", None),
        ("25 Gb/second", None),
    ],
)
def test_a_rate_is_in_the_unit_of_a_speed(text: str, rate: str | None) -> None:
    assert parse_rate(text) == rate


def test_a_word_stands_behind_its_number() -> None:
    assert [parse_state(text) for text in ("4: ACTIVE", "6: usNIC UDP", "ACTIVE", "a: b", "")] == [
        "ACTIVE",
        "usNIC UDP",
        "ACTIVE",
        "a: b",
        "",
    ]


def test_a_driver_is_a_line_of_its_own() -> None:
    assert parse_driver("MODALIAS=x\nDRIVER=mlx5_core\n") == "mlx5_core"
    assert parse_driver("OLD_DRIVER=mlx5_core\nDRIVER=\n") is None


@given(values=st.lists(st.binary(max_size=16), min_size=6, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = ("node_type", "fw_ver", "device/uevent", "ports/1/rate", "ports/1/state", "ports/1/link_layer")
    files = {f"{ADAPTERS}/x/{name}": value for name, value in zip(names, values, strict=True)}
    encode(FeatureSet(instances=instances(NetworkSource().read(plant(files)))))


@given(st.text(), st.text())
def test_any_text_is_read(text: str, uevent: str) -> None:
    rate = parse_rate(text)
    assert rate is None or int(rate) >= 0
    parse_state(text)
    parse_driver(uevent)
