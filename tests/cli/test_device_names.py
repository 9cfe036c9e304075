import gzip
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet
from nodeworthy_cli import device_names
from nodeworthy_cli.device_names import DeviceNames, describe_devices, parse_names, read_names
from nodeworthy_detector.hostfs import Host

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy

PCI_IDS = """\
#
#\tList of PCI ID's
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t74a1  Aqua Vanjaram [Instinct MI300X]
\t\t1002 0e3b  Subsystem that is no device
10DE  NVIDIA Corporation
\t2330  GH100 [H100 SXM5 80GB]
8086  Intel Corporation
\t1b81  PCI bridge
C 03  Display controller
\t00  VGA compatible controller
"""
"""Lines of the database, with what stands around devices in it."""

H100, MI300X, BRIDGE = ("10de", "2330"), ("1002", "74a1"), ("8086", "1b81")

Database = Callable[[str, bytes], Host]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Makes a host with one database."""

    def make(path: str, content: bytes) -> Host:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return Host(tmp_path)

    return make


def functions(*devices: tuple[str, str, str]) -> FeatureSet:
    return FeatureSet(instances=tuple({"class": c, "vendor": v, "device": d} for c, v, d in devices))


def test_only_the_names_of_wanted_devices_are_kept() -> None:
    found = parse_names(PCI_IDS, {H100, ("1002", "0e3b")})
    assert found == DeviceNames(
        {"10de": "NVIDIA Corporation", "1002": "Advanced Micro Devices, Inc. [AMD/ATI]"},
        {H100: "GH100 [H100 SXM5 80GB]"},
    )


def test_a_device_is_named_as_far_as_there_are_words() -> None:
    names = parse_names(PCI_IDS, {H100, ("10de", "ffff"), ("abcd", "0001")})
    assert names.name(H100) == "NVIDIA Corporation GH100 [H100 SXM5 80GB]"
    assert names.name(("10de", "ffff")) == "NVIDIA Corporation ffff"
    assert names.name(("abcd", "0001")) == "abcd:0001"


@pytest.mark.parametrize(
    "path",
    [
        "usr/share/hwdata/pci.ids",
        "usr/share/misc/pci.ids",
        "usr/share/misc/pci.ids.gz",
        "var/lib/pciutils/pci.ids",
        "usr/share/pci.ids.gz",
    ],
)
def test_the_database_is_found_where_distributions_keep_it(database: Database, path: str) -> None:
    data = PCI_IDS.encode()
    host = database(path, gzip.compress(data) if path.endswith(".gz") else data)
    assert read_names(host, "pci.ids", {MI300X}).devices == {MI300X: "Aqua Vanjaram [Instinct MI300X]"}


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08", b"no gzip", gzip.compress(PCI_IDS.encode())[:-20]])
def test_a_broken_database_is_none(database: Database, content: bytes) -> None:
    assert read_names(database("usr/share/misc/pci.ids.gz", content), "pci.ids", {H100}) == DeviceNames()


def test_a_database_that_unpacks_without_end_is_none(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_names, "MAX_BYTES", 10_000)
    host = database("usr/share/misc/pci.ids.gz", gzip.compress(PCI_IDS.encode() + b"#" * 1_000_000))
    assert read_names(host, "pci.ids", {H100}) == DeviceNames()


def test_a_set_is_told_in_words_with_accelerators_first_and_bridges_last(database: Database) -> None:
    host = database("usr/share/hwdata/pci.ids", PCI_IDS.encode())
    content = functions(
        ("0604", *BRIDGE), ("0200", "15b3", "101d"), ("0302", *H100), ("0604", *BRIDGE), ("0302", *H100)
    )
    assert describe_devices(host, "pci.device", content) == (
        "2 NVIDIA Corporation GH100 [H100 SXM5 80GB], 1 15b3:101d, 2 Intel Corporation PCI bridge"
    )


def test_an_accelerator_is_called_what_its_driver_calls_it(database: Database) -> None:
    host = database("usr/share/hwdata/pci.ids", PCI_IDS.encode())
    numbers = {"vendor": "nvidia", "vendor_id": "10de", "device_id": "2330"}
    content = FeatureSet(instances=({**numbers, "model": "NVIDIA H100 80GB HBM3"}, numbers, {"kind": "fpga"}))
    assert describe_devices(host, "accel.device", content) == (
        "1 NVIDIA H100 80GB HBM3, 1 NVIDIA Corporation GH100 [H100 SXM5 80GB], 1 unnamed"
    )


@pytest.mark.parametrize("name", ["kernel.version", "storage.block", "pci.device"])
def test_without_a_database_or_devices_there_are_no_words(tmp_path: Path, name: str) -> None:
    assert describe_devices(Host(tmp_path), name, functions(("0302", *H100))) is None
    assert describe_devices(Host(tmp_path), name, FeatureSet(instances=())) is None


def test_the_table_has_the_words_and_the_facts_have_not(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    function = tmp_path / "root/sys/bus/pci/devices/0000:41:00.0"
    function.mkdir(parents=True)
    numbers = {
        "class": "030200",
        "vendor": "10de",
        "device": "2330",
        "subsystem_vendor": "10de",
        "subsystem_device": "1",
    }
    for name, value in numbers.items():
        (function / name).write_text(f"0x{value}\n")
    database = tmp_path / "root/usr/share/misc/pci.ids"
    database.parent.mkdir(parents=True)
    database.write_text(PCI_IDS)
    only = ("features", "--host-root", "root", "--source", "pci,accel")
    lines = [line.split(maxsplit=2) for line in nodeworthy(*only, code=0).stdout.splitlines()]
    words = "1 instances: 1 NVIDIA Corporation GH100 [H100 SXM5 80GB]"
    assert ["pci.device", "present", words] in lines
    assert ["accel.device", "present", words] in lines
    assert "GH100" not in nodeworthy(*only, "-o", "json", code=0).stdout


def test_a_machine_that_has_none_of_the_devices_asked_for_is_a_machine(
    nodeworthy: "Nodeworthy", tmp_path: Path
) -> None:
    (tmp_path / "root/sys/bus/platform").mkdir(parents=True)
    (tmp_path / "root/sys/module").mkdir()
    done = nodeworthy("features", "--host-root", "root", "--source", "accel", code=0)
    assert "this machine has no accelerator" in done.stdout
    assert done.stderr == ""


IDS = st.tuples(st.sampled_from(["10de", "1002", "c 03"]), st.sampled_from(["2330", "74a1", "00"]))
LINES = st.sampled_from(PCI_IDS.split("\n")) | st.text(max_size=30)


@given(st.lists(LINES).map("\n".join) | st.text(), st.sets(IDS))
def test_any_text_gives_only_names_that_were_asked_for(text: str, wanted: set[tuple[str, str]]) -> None:
    found = parse_names(text, wanted)
    assert found.devices.keys() <= wanted
    assert found.vendors.keys() <= {vendor for vendor, _ in wanted}
    assert all(name.strip() for name in (*found.devices.values(), *found.vendors.values()))
    assert all(found.name(device) for device in wanted)
