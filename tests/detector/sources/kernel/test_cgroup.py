from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.cgroup import parse_enabled

Plant = Callable[[Mapping[str, str | bytes]], Host]

FOLDER = "sys/fs/cgroup"
LISTED = (
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t90\t1\ncpuacct\t2\t90\t1\nmemory\t0\t1\t0\npids\t3\t9\t1\n"
)


def read(host: Host) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets["kernel.cgroup"]


def test_version_2_lists_its_controllers(plant: Plant) -> None:
    host = plant({f"{FOLDER}/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n"})
    names = {"cpuset", "cpu", "io", "memory", "hugetlb", "pids", "rdma", "misc"}
    assert read(host) == FeatureSet(flags=frozenset(names), attributes={"version": "2"})


def test_h13_a_controller_that_boot_options_switch_off_is_none(plant: Plant) -> None:
    host = plant({f"{FOLDER}/cgroup.controllers": "cpuset cpu io pids\n", "proc/cgroups": LISTED})
    found = read(host)
    assert isinstance(found, FeatureSet)
    assert "memory" not in (found.flags or ())


def test_version_1_has_a_folder_for_each_controller(plant: Plant) -> None:
    host = plant(
        {
            "proc/cgroups": LISTED,
            f"{FOLDER}/cpu,cpuacct/tasks": "",
            f"{FOLDER}/memory/tasks": "",
            f"{FOLDER}/systemd/tasks": "",
        }
    )
    assert read(host) == FeatureSet(flags=frozenset({"cpu", "cpuacct"}), attributes={"version": "1"})


def test_both_versions_at_once_are_called_hybrid(plant: Plant) -> None:
    host = plant(
        {"proc/cgroups": LISTED, f"{FOLDER}/pids/tasks": "", f"{FOLDER}/unified/cgroup.controllers": "\n"},
    )
    assert read(host) == FeatureSet(flags=frozenset({"pids"}), attributes={"version": "hybrid"})


def test_a_folder_on_which_nothing_is_mounted_says_nothing(plant: Plant) -> None:
    for files in ({f"{FOLDER}/": ""}, {"proc/version": "x"}, {f"{FOLDER}/cpu/tasks": ""}):
        found = read(plant(files))
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(name and not name.startswith("#") for name in parse_enabled(text))
