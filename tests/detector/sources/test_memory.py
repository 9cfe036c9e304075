from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import MemorySource
from nodeworthy_detector.sources.memory import has_swap, quantity

Plant = Callable[[Mapping[str, str | bytes]], Host]

NODE = "sys/devices/system/node"
PAGES = "sys/kernel/mm/hugepages"


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return MemorySource().read(host).sets[f"memory.{name}"]


def attributes(host: Host, name: str) -> Mapping[str, str]:
    found = read(host, name)
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes


@pytest.mark.parametrize(
    ("swaps", "enabled"),
    [
        ("Filename\tType\tSize\tUsed\tPriority\n", False),
        ("Filename\tType\tSize\tUsed\tPriority\n\n", False),
        ("Filename\tType\tSize\tUsed\tPriority\n/swapfile file 1 0 -2\n", True),
        ("", False),
    ],
)
def test_p12_swap_is_on_when_a_row_follows_the_heading(swaps: str, enabled: bool) -> None:
    assert has_swap(swaps) is enabled


def test_p13_huge_pages_of_each_size(plant: Plant) -> None:
    host = plant({f"{PAGES}/hugepages-2048kB/nr_hugepages": "0\n", f"{PAGES}/hugepages-1048576kB/nr_hugepages": "4\n"})
    assert attributes(host, "hugepages") == {"enabled": "true", "hugepages-1Gi": "4", "hugepages-2Mi": "0"}


def test_a_count_that_cannot_be_read_harms_only_itself(plant: Plant) -> None:
    host = plant(
        {
            f"{PAGES}/hugepages-64kB/": "",
            f"{PAGES}/hugepages-2048kB/nr_hugepages": b"\xff\x00",
            f"{PAGES}/hugepages-1048576kB/nr_hugepages": "0",
            f"{PAGES}/other": "",
        }
    )
    reading = MemorySource().read(host)
    found = reading.sets["memory.hugepages"]
    assert isinstance(found, FeatureSet)
    assert found.attributes == {"hugepages-1Gi": "0"}
    assert found.unobserved == {"enabled", "hugepages-64Ki", "hugepages-2Mi"}
    assert len([fault for fault in reading.faults if "nr_hugepages" in fault]) == 2


def test_a_kernel_without_huge_pages_says_so(plant: Plant) -> None:
    assert attributes(plant({"sys/kernel/mm/ksm/run": "0"}), "hugepages") == {"enabled": "false"}


def test_without_sysfs_nothing_is_said(plant: Plant) -> None:
    host = plant({"etc/": ""})
    for name in ("hugepages", "numa", "nv", "swap"):
        found = read(host, name)
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN
        assert found.reason


def test_t2_only_nodes_that_are_online_count(plant: Plant) -> None:
    host = plant(
        {
            f"{NODE}/online": "1\n",
            f"{NODE}/possible": "0-1\n",
            f"{NODE}/node0/cpulist": "0-3\n",
            f"{NODE}/node1/cpulist": "4-7\n",
        }
    )
    assert attributes(host, "numa") == {"is_numa": "false", "node_count": "1"}


def test_nodes_of_memory_only_are_counted_apart(plant: Plant) -> None:
    host = plant(
        {
            f"{NODE}/online": "0-2",
            f"{NODE}/node0/cpulist": "0-7",
            f"{NODE}/node1/cpulist": "\n",
            f"{NODE}/node2/cpulist": "\n",
        }
    )
    assert attributes(host, "numa") == {"is_numa": "false", "node_count": "1", "memory_only_node_count": "2"}


def test_two_nodes_with_cpus_are_numa(plant: Plant) -> None:
    host = plant({f"{NODE}/node0/cpulist": "0", f"{NODE}/node1/cpulist": "1", f"{NODE}/power/": ""})
    assert attributes(host, "numa") == {"is_numa": "true", "node_count": "2"}


def test_non_volatile_memory_with_the_files_that_are_there(plant: Plant) -> None:
    host = plant(
        {
            "sys/bus/platform/drivers_autoprobe": "1",
            "sys/bus/nd/devices/dax0.0/devtype": "nd_dax\n",
            "sys/bus/nd/devices/namespace0.0/devtype": "nd_namespace_io\n",
            "sys/bus/nd/devices/namespace0.0/mode": "fsdax\n",
        }
    )
    assert read(host, "nv") == FeatureSet(
        instances=(
            {"name": "dax0.0", "devtype": "nd_dax"},
            {"name": "namespace0.0", "devtype": "nd_namespace_io", "mode": "fsdax"},
        )
    )


@pytest.mark.parametrize(
    ("kibibytes", "text"),
    [(2048, "2Mi"), (1 << 20, "1Gi"), (64, "64Ki"), (1 << 24, "16Gi"), (0, "0Ki"), (1536, "1536Ki")],
)
def test_sizes_as_kubernetes_writes_them(kibibytes: int, text: str) -> None:
    assert quantity(kibibytes) == text


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    has_swap(text)


@given(st.integers(0, 10**15))
def test_a_size_keeps_its_value(kibibytes: int) -> None:
    text = quantity(kibibytes)
    assert int(text[:-2]) * 1024 ** "KMGTPE".index(text[-2]) == kibibytes
