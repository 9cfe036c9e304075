"""Device nodes; the cases H02, H05, H06 and H08 of images that fail without one."""

from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource
from nodeworthy_detector.sources.system.device_nodes import NODES, select_nodes

Plant = Callable[[Mapping[str, str | bytes]], Host]


def read(host: Host) -> FeatureSet | SetStatus:
    return SystemSource().read(host).sets["system.device"]


def test_nodes_that_images_open_are_flags_and_others_are_left_out(plant: Plant) -> None:
    names = [
        "null",
        "kvm",
        "fuse",
        "sda",
        "tty1",
        "net/tun",
        "vfio/vfio",
        "vfio/42",
        "infiniband/uverbs0",
        "hugepages/",
    ]
    found = {"kvm", "fuse", "net/tun", "vfio/vfio", "infiniband/uverbs0", "hugepages"}
    assert read(plant({f"dev/{name}": "" for name in names})) == FeatureSet(flags=frozenset(found))


def test_c14_capable_and_usable_are_two_facts(plant: Plant) -> None:
    host = plant({"dev/null": "", "sys/devices/virtual/misc/": ""})
    found = read(host)
    assert isinstance(found, FeatureSet)
    assert not {"sgx_enclave", "kvm"} & (found.flags or frozenset())


def test_a_folder_that_cannot_be_listed_leaves_its_nodes_unobserved(plant: Plant) -> None:
    reading = SystemSource().read(plant({"dev/null": "", "dev/kvm": "", "dev/net": "a file"}))
    assert reading.sets["system.device"] == FeatureSet(flags=frozenset({"kvm"}), unobserved=frozenset({"net/tun"}))
    assert "dev/net is no folder" in reading.faults


def test_an_empty_folder_is_no_dev(plant: Plant) -> None:
    for files in ({}, {"dev/": ""}):
        found = read(plant(files))
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


@given(st.sets(st.text() | st.sampled_from(sorted(NODES))))
def test_any_names_are_selected_from(names: set[str]) -> None:
    assert names & NODES <= select_nodes(names) <= names
