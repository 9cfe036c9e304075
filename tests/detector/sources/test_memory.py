from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus, encode
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


def test_p12_the_list_of_swap_spaces_counts_wherever_it_is_all_that_is_there(plant: Plant) -> None:
    assert attributes(plant({"proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n"}), "swap") == {"enabled": "false"}


def test_p13_huge_pages_of_each_size(plant: Plant) -> None:
    host = plant({f"{PAGES}/hugepages-2048kB/nr_hugepages": "0\n", f"{PAGES}/hugepages-1048576kB/nr_hugepages": "4\n"})
    assert attributes(host, "hugepages") == {"enabled": "true", "hugepages-1Gi": "4", "hugepages-2Mi": "0"}


def test_p13_an_empty_folder_of_a_numa_node_is_zero(plant: Plant) -> None:
    """A node whose folder is empty is one of NFD's issue 1286; the counts are those of the whole machine."""
    host = plant(
        {
            f"{PAGES}/hugepages-2048kB/nr_hugepages": "0\n",
            f"{PAGES}/hugepages-1048576kB/nr_hugepages": "0\n",
            f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
            f"{NODE}/node1/hugepages/": "",
        }
    )
    assert attributes(host, "hugepages") == {"enabled": "false", "hugepages-1Gi": "0", "hugepages-2Mi": "0"}


@pytest.mark.parametrize(
    ("architecture", "kibibytes", "names"),
    [
        ("x86", (2048, 1 << 20), ("2Mi", "1Gi")),
        ("hwloc's test machine 2i386-2t-hugepagesizecount", (2048, 1 << 24), ("2Mi", "16Gi")),
        ("arm64, pages of 4 KiB", (64, 2048, 32768, 1 << 20), ("64Ki", "2Mi", "32Mi", "1Gi")),
        ("arm64, pages of 64 KiB", (2048, 1 << 19, 1 << 24), ("2Mi", "512Mi", "16Gi")),
        ("ppc64le, hash", (16384, 1 << 24), ("16Mi", "16Gi")),
        ("s390x", (1024, 2 << 20), ("1Mi", "2Gi")),
    ],
)
def test_p13_sizes_of_every_architecture(
    plant: Plant, architecture: str, kibibytes: tuple[int, ...], names: tuple[str, ...]
) -> None:
    """As Linux, admin-guide/mm/hugetlbpage and arm64/hugetlbpage, have them."""
    host = plant({f"{PAGES}/hugepages-{size}kB/nr_hugepages": "1" for size in kibibytes})
    expected = {"enabled": "true"} | {f"hugepages-{name}": "1" for name in names}
    assert attributes(host, "hugepages") == expected, architecture


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


def test_a_recording_without_huge_pages_says_nothing_of_them(plant: Plant) -> None:
    """hwloc's test machine 2i386-2c-nohugepage has no sys/kernel at all."""
    found = read(plant({"sys/devices/system/cpu/online": "0-1\n", "proc/meminfo": "MemTotal: 1 kB\n"}), "hugepages")
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


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


def test_caches_beside_the_memory_of_a_node_are_no_nodes(plant: Plant) -> None:
    """hwloc's test machine memorysidecaches: four nodes with CPUs, each with a cache beside its memory."""
    files = {f"{NODE}/node{node}/cpulist": f"{node},{node + 4}\n" for node in range(4)}
    caches = {f"{NODE}/node{node}/memory_side_cache/index1/size": "17179869184\n" for node in range(4)}
    host = plant({f"{NODE}/online": "0-3\n", f"{NODE}/has_cpu": "0-3\n"} | files | caches)
    assert attributes(host, "numa") == {"is_numa": "true", "node_count": "4"}


def test_nodes_of_memory_only_between_others_are_counted_apart(plant: Plant) -> None:
    """hwloc's test machine fakeheteromemtiers: node numbers with gaps, three of seven nodes with CPUs."""
    cpus = {0: "0-1\n", 1: "2-3\n", 2: "4-5\n", 4: "\n", 6: "\n", 8: "\n", 9: "\n"}
    host = plant(
        {f"{NODE}/online": "0-2,4,6,8-9\n"} | {f"{NODE}/node{node}/cpulist": text for node, text in cpus.items()}
    )
    assert attributes(host, "numa") == {"is_numa": "true", "node_count": "3", "memory_only_node_count": "4"}


def test_a_node_that_does_not_tell_its_cpus_puts_the_count_in_doubt(plant: Plant) -> None:
    one = {f"{NODE}/node0/cpulist": "0-3", f"{NODE}/node1/cpulist/": ""}
    reading = MemorySource().read(plant(one))
    assert reading.sets["memory.numa"] == FeatureSet(
        attributes={}, unobserved=frozenset({"is_numa", "node_count", "memory_only_node_count"})
    )
    assert f"{NODE}/node1/cpulist is no regular file" in reading.faults
    found = read(plant(one | {f"{NODE}/node2/cpulist": "4-7"}), "numa")
    assert isinstance(found, FeatureSet)
    assert found.attributes == {"is_numa": "true"}
    assert found.unobserved == {"node_count", "memory_only_node_count"}


def test_a_list_of_nodes_that_is_none_is_a_fault_and_every_node_counts(plant: Plant) -> None:
    host = plant({f"{NODE}/online": "0-\n", f"{NODE}/node0/cpulist": "0", f"{NODE}/node1/cpulist": "1"})
    assert attributes(host, "numa") == {"is_numa": "true", "node_count": "2"}
    assert f"{NODE}/online is no list of nodes; every node counts" in MemorySource().read(host).faults


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


def test_a_device_of_non_volatile_memory_that_vanishes_harms_only_itself(plant: Plant, tmp_path: Path) -> None:
    host = plant({"sys/bus/nd/devices/region0/devtype": "nd_pmem\n", "sys/bus/nd/devices/region1/devtype/": ""})
    (tmp_path / "sys/bus/nd/devices/namespace0.0").symlink_to("../../../devices/gone")
    reading = MemorySource().read(host)
    assert reading.sets["memory.nv"] == FeatureSet(
        instances=({"name": "region0", "devtype": "nd_pmem"}, {"name": "region1"})
    )
    assert [fault for fault in reading.faults if "/nd/" in fault] == [
        "sys/bus/nd/devices/namespace0.0 is not there; the device is left out",
        "sys/bus/nd/devices/region1/devtype is no regular file",
    ]


def test_a_machine_without_non_volatile_memory_has_none(plant: Plant) -> None:
    assert read(plant({"sys/bus/platform/": ""}), "nv") == FeatureSet(instances=())


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


@given(values=st.lists(st.binary(max_size=12), min_size=6, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_facts_or_faults(plant: Plant, values: list[bytes]) -> None:
    names = (
        f"{NODE}/online",
        f"{NODE}/node0/cpulist",
        f"{PAGES}/hugepages-2048kB/nr_hugepages",
        "sys/bus/nd/devices/dax0.0/devtype",
        "sys/bus/nd/devices/dax0.0/mode",
        "proc/swaps",
    )
    host = plant({"proc/sys/vm/": ""} | dict(zip(names, values, strict=True)))
    for name in ("hugepages", "numa", "nv", "swap"):
        found = read(host, name)
        assert isinstance(found, FeatureSet), name
        encode(found)
