"""Settings of the kernel; the cases H11, H17, H19 and I07 of images that fail without them are among the names."""

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy.rules.known_sets import KNOWN_SETS
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.sysctls import SYSCTLS, path_of

Plant = Callable[[Mapping[str, str | bytes]], Host]

SYS = "proc/sys"
ANCHOR = {f"{SYS}/vm/overcommit_memory": "0"}


def read(host: Host, *names: str) -> FeatureSet | SetStatus:
    return KernelSource(sysctls=names or SYSCTLS).read(host).sets["kernel.sysctl"]


def test_settings_are_named_as_sysctl_names_them(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | {
            f"{SYS}/vm/max_map_count": "65530\n",
            f"{SYS}/kernel/io_uring_disabled": "2\n",
            f"{SYS}/kernel/apparmor_restrict_unprivileged_userns": "1\n",
            f"{SYS}/kernel/seccomp/actions_avail": "kill_process kill_thread\n",
            f"{SYS}/fs/inotify/max_user_watches": "8192\n",
            f"{SYS}/net/core/netdev_max_backlog": "1000\n",
            f"{SYS}/net/ipv6/conf/all/disable_ipv6": "1\n",
            f"{SYS}/net/ipv4/ip_local_port_range": "32768\t60999\n",
        }
    )
    assert read(host) == FeatureSet(
        attributes={
            "vm.overcommit_memory": "0",
            "vm.max_map_count": "65530",
            "kernel.io_uring_disabled": "2",
            "kernel.apparmor_restrict_unprivileged_userns": "1",
            "kernel.seccomp.actions_avail": "kill_process kill_thread",
            "fs.inotify.max_user_watches": "8192",
            "net.ipv6.conf.all.disable_ipv6": "1",
            "net.ipv4.ip_local_port_range": "32768 60999",
        }
    )


def test_a_setting_that_this_kernel_does_not_have_is_not_there(plant: Plant) -> None:
    host = plant(ANCHOR | {f"{SYS}/kernel/pid_max": "4194304\n"})
    assert read(host, "kernel.unprivileged_userns_clone") == FeatureSet(attributes={})


def test_a_container_of_its_own_network_does_not_take_it_for_the_machines(plant: Plant) -> None:
    host = plant(ANCHOR | {f"{SYS}/kernel/pid_max": "1\n", f"{SYS}/net/core/somaxconn": "128\n"})
    assert read(host, "net.core.somaxconn", "kernel.pid_max") == FeatureSet(
        attributes={"kernel.pid_max": "1"}, unobserved=frozenset({"net.core.somaxconn"})
    )


LOOK = """
from pathlib import Path
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
print(sorted(KernelSource().read(Host(Path("/"))).sets["kernel.sysctl"].unobserved))
"""


def test_this_kernel_hides_the_machines_network_from_a_process_with_one_of_its_own() -> None:
    command = ["unshare", "--net", sys.executable, "-c", LOOK]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    assert "'net.core.somaxconn'" in done.stdout
    assert "'kernel.pid_max'" not in done.stdout


@pytest.mark.parametrize(
    ("user_ids", "is_observed"), [(" 0 0 4294967295\n", True), (" 0 100000 65536\n", False), (None, True)]
)
def test_a_user_namespace_hides_the_machines_own_limits(plant: Plant, user_ids: str | None, is_observed: bool) -> None:
    files = ANCHOR | {f"{SYS}/kernel/pid_max": "1\n", f"{SYS}/user/max_user_namespaces": "15000\n"}
    host = plant(files if user_ids is None else files | {"proc/self/uid_map": user_ids})
    found = read(host, "user.max_user_namespaces")
    assert isinstance(found, FeatureSet)
    assert found.attributes == ({"user.max_user_namespaces": "15000"} if is_observed else {})
    assert found.unobserved == (frozenset() if is_observed else {"user.max_user_namespaces"})


def test_a_setting_that_may_not_be_read_is_unobserved_and_a_fault(plant: Plant) -> None:
    host = plant(ANCHOR | {f"{SYS}/kernel/yama/ptrace_scope/": ""})
    reading = KernelSource(sysctls=("kernel.yama.ptrace_scope",)).read(host)
    assert reading.sets["kernel.sysctl"] == FeatureSet(
        attributes={}, unobserved=frozenset({"kernel.yama.ptrace_scope"})
    )
    assert reading.faults == ("proc/sys/kernel/yama/ptrace_scope is no regular file",)


def test_of_a_part_of_proc_sys_only_what_is_there_counts(plant: Plant) -> None:
    found = read(plant({f"{SYS}/vm/max_map_count": "262144\n"}), "vm.max_map_count", "fs.nr_open")
    assert found == FeatureSet(attributes={"vm.max_map_count": "262144"}, unobserved=frozenset({"fs.nr_open"}))


def test_a_root_without_settings_says_nothing_of_them(plant: Plant) -> None:
    found = read(plant({f"{SYS}/kernel/osrelease": "6.1"}))
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


def test_a_slash_in_a_name_is_a_dot_of_the_files_name() -> None:
    assert path_of("net.ipv4.conf.eth0/1.rp_filter") == "net/ipv4/conf/eth0.1/rp_filter"


@given(text=st.text())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_as_words_with_single_spaces(plant: Plant, text: str) -> None:
    found = read(plant(ANCHOR | {f"{SYS}/kernel/pid_max": text.encode("utf-8", "replace")}), "kernel.pid_max")
    assert isinstance(found, FeatureSet)
    assert "  " not in (found.attributes or {})["kernel.pid_max"]


def test_a_rule_that_asks_for_another_setting_is_told() -> None:
    assert set(KNOWN_SETS["kernel.sysctl"]) == set(SYSCTLS)
