from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import Reading, StorageSource
from nodeworthy_detector.sources.storage import find_transport, parse_size

Plant = Callable[[Mapping[str, str | bytes]], Host]

BLOCK = "sys/block"


def instances(reading: Reading) -> tuple[Instance, ...]:
    found = reading.sets["storage.block"]
    assert isinstance(found, FeatureSet)
    return found.instances or ()


def test_disks_have_nfds_attributes_and_model_size_and_transport(plant: Plant) -> None:
    host = plant(
        {
            f"{BLOCK}/nvme0n1/queue/rotational": "0\n",
            f"{BLOCK}/nvme0n1/queue/dax": "0\n",
            f"{BLOCK}/nvme0n1/queue/nr_zones": "0\n",
            f"{BLOCK}/nvme0n1/queue/zoned": "none\n",
            f"{BLOCK}/nvme0n1/queue/scheduler": "[none] mq-deadline\n",
            f"{BLOCK}/nvme0n1/size": "7814037168\n",
            f"{BLOCK}/nvme0n1/device/model": "SAMSUNG MZQL23T8HCLS-00A07              \n",
            f"{BLOCK}/nvme0n1/device/transport": "pcie\n",
            f"{BLOCK}/sda/queue/rotational": "1\n",
            f"{BLOCK}/sda/device/vendor": "ATA     \n",
            f"{BLOCK}/sda/device/model": "ST1000NM0011    \n",
        }
    )
    reading = StorageSource().read(host)
    assert instances(reading) == (
        {
            "name": "nvme0n1",
            "dax": "0",
            "rotational": "0",
            "nr_zones": "0",
            "zoned": "none",
            "model": "SAMSUNG MZQL23T8HCLS-00A07",
            "size": "4000787030016",
            "transport": "pcie",
        },
        {"name": "sda", "rotational": "1", "model": "ST1000NM0011", "transport": "ata"},
    )
    assert reading.faults == ()


def test_loop_ram_zram_and_dm_devices_are_no_disks(plant: Plant) -> None:
    none = ("loop0", "loop12", "ram0", "zram0", "dm-0", "dm-17")
    disks = ("dm", "loopback0", "md127", "mmcblk0", "nbd0", "nvme0n1", "pmem0", "ramdisk", "rbd0", "sda", "sr0", "vda")
    host = plant({f"{BLOCK}/{name}/queue/rotational": "0" for name in none + disks})
    assert tuple(disk["name"] for disk in instances(StorageSource().read(host))) == disks


def test_a_machine_with_nothing_but_loop_devices_has_no_disks(plant: Plant) -> None:
    assert instances(StorageSource().read(plant({f"{BLOCK}/loop0/queue/rotational": "0"}))) == ()


@pytest.mark.parametrize(
    ("name", "vendor", "transport"),
    [
        ("vda", "0x1af4", "virtio"),
        ("xvdb", "", "xen"),
        ("mmcblk0", "", "mmc"),
        ("mmcblk0boot0", "", "mmc"),
        ("sdaa", "ATA", "ata"),
        ("sda", "SEAGATE", None),
        ("sr0", "ATA", None),
        ("vdpa9", "", None),
        ("nvme0n1", "", None),
    ],
)
def test_how_a_disk_is_attached_is_told_where_it_is_sure(name: str, vendor: str, transport: str | None) -> None:
    assert find_transport(name, vendor) == transport


def test_a_size_is_in_bytes() -> None:
    assert parse_size("0") == "0"
    assert parse_size("8") == "4096"
    for text in ("", "-1", "1e3", "²", "9" * 5000):
        assert parse_size(text) is None


def test_p3_a_disk_that_vanishes_harms_only_itself(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{BLOCK}/sda/size/": "", f"{BLOCK}/sdb/queue/rotational": "1"})
    (tmp_path / BLOCK / "sdc").symlink_to("../devices/gone")
    reading = StorageSource().read(host)
    assert instances(reading) == ({"name": "sda"}, {"name": "sdb", "rotational": "1"})
    assert reading.faults == (
        f"{BLOCK}/sda/size is no regular file",
        f"{BLOCK}/sdc is not there; the device is left out",
    )


@pytest.mark.parametrize(
    ("files", "state"),
    [({"etc/": ""}, SetState.UNKNOWN), ({"sys/bus/platform/": ""}, SetState.ABSENT), ({BLOCK: ""}, SetState.UNKNOWN)],
)
def test_no_block_layer_is_absent_and_no_sysfs_unknown(plant: Plant, files: Mapping[str, str], state: SetState) -> None:
    found = StorageSource().read(plant(files)).sets["storage.block"]
    assert isinstance(found, SetStatus)
    assert found.state is state


def test_where_no_disk_can_be_read_the_set_is_unknown(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{BLOCK}/loop0/size": "0"})
    (tmp_path / BLOCK / "sda").symlink_to("sda")
    found = StorageSource().read(host).sets["storage.block"]
    assert isinstance(found, SetStatus)
    assert (found.state, found.reason) == (SetState.UNKNOWN, "none of 1 disks could be read")


def test_the_disks_of_this_machine_are_read_without_faults() -> None:
    reading = StorageSource().read(Host(Path("/")))
    assert reading.faults == ()
    assert not [disk for disk in instances(reading) if disk["name"].startswith(("loop", "zram"))]


@given(values=st.lists(st.binary(max_size=12), min_size=5, max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = ("queue/rotational", "queue/zoned", "size", "device/model", "device/vendor")
    reading = StorageSource().read(
        plant({f"{BLOCK}/sda/{name}": value for name, value in zip(names, values, strict=True)})
    )
    encode(FeatureSet(instances=instances(reading)))
