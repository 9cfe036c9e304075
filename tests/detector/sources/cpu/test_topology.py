from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.cpuinfo import parse_cpuinfo, read_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.topology import read_groups, read_topology
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]

CPUS = "sys/devices/system/cpu"


def cpu(number: int, siblings: str, package: str = "0") -> dict[str, str]:
    folder = f"{CPUS}/cpu{number}/topology"
    return {f"{folder}/thread_siblings_list": f"{siblings}\n", f"{folder}/physical_package_id": f"{package}\n"}


def topology(host: Host, faults: Faults | None = None) -> tuple[str, str]:
    found = read_topology(host, faults or Faults())
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes["hardware_multithreading"], found.attributes["socket_count"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # C12: one core still has both threads.
        (cpu(0, "0,4") | cpu(1, "1") | cpu(2, "2") | {f"{CPUS}/online": "0-2,4"}, ("true", "1")),
        # C12: every sibling is switched off.
        (cpu(0, "0") | cpu(1, "1") | {f"{CPUS}/cpu4/uevent": "", f"{CPUS}/online": "0-1"}, ("false", "1")),
        (cpu(0, "0,4") | cpu(4, "0,4") | {f"{CPUS}/online": "0"}, ("false", "1")),
        (cpu(0, "0-1") | cpu(1, "0-1"), ("true", "1")),
        (cpu(0, "0", "0") | cpu(1, "1", "36"), ("false", "2")),
    ],
)
def test_threads_and_sockets(plant: Plant, files: Mapping[str, str], expected: tuple[str, str]) -> None:
    assert topology(plant(files)) == expected


def test_c12_a_cpu_without_topology_harms_only_itself(plant: Plant) -> None:
    faults = Faults()
    host = plant(
        cpu(0, "0-1") | cpu(1, "0-1") | {f"{CPUS}/cpu2/uevent": "", f"{CPUS}/cpu3/topology/physical_package_id": "1"}
    )
    assert topology(host, faults) == ("true", "1")
    assert len(faults.listed()) == 1
    assert "cpu3" in faults.listed()[0]


def test_a_machine_that_tells_no_topology_is_unknown(plant: Plant) -> None:
    found = read_topology(plant({f"{CPUS}/cpu0/uevent": ""}), Faults())
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


def test_c6_a_hybrid_machine_lists_its_kinds_of_cores(machines: Path) -> None:
    host = Host(machines / "linux-debian12-i7_1370p" / "root")
    found = read_groups(host, read_cpuinfo(host), Faults())
    assert found == FeatureSet(instances=({"kind": "core", "cpus": "0-11"}, {"kind": "atom", "cpus": "12-19"}))


def unnamed(frequencies: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """CPUs whose kinds the kernel does not name, by siblings and frequency of each."""
    files: dict[str, str] = {}
    for number, (siblings, frequency) in enumerate(pair.split() for pair in frequencies.values()):
        files |= cpu(number, siblings) | {f"{CPUS}/cpu{number}/cpufreq/base_frequency": f"{frequency}\n"}
    block = "processor : {}\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 186\n\n"
    return files, "".join(block.format(number) for number in range(len(frequencies)))


HYBRID = {"0": "0-1 1900000", "1": "0-1 1900000", "2": "2 1400000", "3": "3 1400000"}


def test_c6_kinds_that_the_kernel_does_not_name_follow_from_threads_and_frequency(plant: Plant) -> None:
    files, text = unnamed(HYBRID)
    found = read_groups(plant(files), parse_cpuinfo(text), Faults())
    assert found == FeatureSet(instances=({"kind": "core", "cpus": "0-1"}, {"kind": "atom", "cpus": "2-3"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"3": "3 1900000"},  # a core without its sibling, as fast as the others
        {"1": "0-1 1800000"},  # frequencies that are set apart on a server
        {"2": "2-3 1400000", "3": "2-3 1400000"},
        {"3": "3 x"},
    ],
)
def test_cores_that_may_be_of_one_kind_are_one_group(plant: Plant, changes: Mapping[str, str]) -> None:
    files, text = unnamed({**HYBRID, **changes})
    found = read_groups(plant(files), parse_cpuinfo(text), Faults())
    assert isinstance(found, FeatureSet)
    assert [group["cpus"] for group in found.instances or ()] == ["0-3"]


def test_a_machine_with_counters_of_one_kind_is_one_group(plant: Plant) -> None:
    files, text = unnamed(HYBRID)
    found = read_groups(plant(files | {"sys/devices/cpu/type": "4\n"}), parse_cpuinfo(text), Faults())
    assert isinstance(found, FeatureSet)
    assert [group["cpus"] for group in found.instances or ()] == ["0-3"]


def test_c7_a_machine_of_mixed_parts_lists_them(machines: Path) -> None:
    host = Host(machines / "linux-ubuntu24.04-dgx_gb10" / "root")
    found = read_groups(host, read_cpuinfo(host), Faults())
    assert isinstance(found, FeatureSet)
    assert found.instances is not None
    assert [(group["part"], group["name"], group["cpus"]) for group in found.instances] == [
        ("0xd87", "Cortex-A725", "0-4,10-14"),
        ("0xd85", "Cortex-X925", "5-9,15-19"),
    ]


def test_a_file_that_numbers_nothing_tells_no_groups(plant: Plant) -> None:
    for info in (None, parse_cpuinfo("vendor_id : IBM/S390\n")):
        assert isinstance(read_groups(plant({}), info, Faults()), SetStatus)
