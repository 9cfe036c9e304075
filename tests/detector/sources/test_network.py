from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import NetworkSource

Plant = Callable[[Mapping[str, str | bytes]], Host]

NET = "sys/class/net"


def instances(host: Host, name: str) -> tuple[Instance, ...]:
    found = NetworkSource().read(host).sets[f"network.{name}"]
    assert isinstance(found, FeatureSet)
    assert found.instances is not None
    return found.instances


def test_p9_interfaces_with_a_device_are_real_and_a_file_is_none(plant: Plant) -> None:
    host = plant(
        {
            f"{NET}/bonding_masters": "bond0\n",
            f"{NET}/lo/mtu": "65536\n",
            f"{NET}/veth0/operstate": "up\n",
            f"{NET}/eth0/device/uevent": "DRIVER=ice\n",
        }
    )
    assert instances(host, "device") == ({"name": "eth0"},)
    assert instances(host, "virtual") == ({"name": "lo", "mtu": "65536"}, {"name": "veth0", "operstate": "up"})
    assert NetworkSource().read(host).faults == ()


def test_p8_a_speed_of_minus_one_or_none_is_left_out(plant: Plant) -> None:
    host = plant(
        {
            f"{NET}/eth0/speed": "-1\n",
            f"{NET}/eth0/mtu": "1500\n",
            f"{NET}/eth1/speed": "25000\n",
            f"{NET}/eth2/speed": "",
        }
    )
    assert instances(host, "virtual") == (
        {"name": "eth0", "mtu": "1500"},
        {"name": "eth1", "speed": "25000"},
        {"name": "eth2"},
    )


def test_p8_a_speed_that_the_driver_refuses_is_no_fault() -> None:
    host = Host(Path("/"))
    loopback = [instance for instance in instances(host, "virtual") if instance["name"] == "lo"]
    assert loopback[0]["mtu"] == "65536"
    assert "speed" not in loopback[0]
    assert NetworkSource().read(host).faults == ()


def test_p5_virtual_functions_are_told_as_they_are_configured(plant: Plant) -> None:
    host = plant(
        {
            f"{NET}/pf0/device/sriov_totalvfs": "64\n",
            f"{NET}/pf0/device/sriov_numvfs": "0\n",
            f"{NET}/pf1/device/sriov_totalvfs": "64\n",
            f"{NET}/pf1/device/sriov_numvfs": "4\n",
            f"{NET}/vf0/device/uevent": "",
        }
    )
    assert instances(host, "device") == (
        {"name": "pf0", "sriov_numvfs": "0", "sriov_totalvfs": "64"},
        {"name": "pf1", "sriov_numvfs": "4", "sriov_totalvfs": "64"},
        {"name": "vf0"},
    )


def test_an_interface_that_vanishes_harms_only_itself(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{NET}/lo/mtu": "65536"})
    (tmp_path / NET / "veth9").symlink_to("../../devices/virtual/net/veth9")
    (tmp_path / NET / "loop").symlink_to("loop")
    assert instances(host, "virtual") == ({"name": "lo", "mtu": "65536"},)
    assert [fault for fault in NetworkSource().read(host).faults if "loop" in fault]


def test_where_no_interface_can_be_read_both_sets_are_unknown(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{NET}/bonding_masters": "\n"})
    (tmp_path / NET / "loop").symlink_to("loop")
    reading = NetworkSource().read(host)
    for name in ("network.device", "network.virtual"):
        found = reading.sets[name]
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


def test_a_name_of_strange_bytes_becomes_text(plant: Plant, tmp_path: Path) -> None:
    host = plant({})
    folder = bytes(tmp_path / NET) + b"/eth\xff"
    Path(folder.decode("utf-8", "surrogateescape")).mkdir(parents=True)
    assert instances(host, "virtual") == ({"name": "eth\ufffd"},)


@given(values=st.lists(st.binary(max_size=12), min_size=4, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = ("operstate", "speed", "mtu", "device/sriov_numvfs")
    host = plant({f"{NET}/eth0/{name}": value for name, value in zip(names, values, strict=True)})
    encode(FeatureSet(instances=instances(host, "device")))
