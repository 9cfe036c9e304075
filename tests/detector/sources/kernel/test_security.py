from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.security import parse_lockdown

Plant = Callable[[Mapping[str, str | bytes]], Host]


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets[f"kernel.{name}"]


@pytest.mark.parametrize(("enforce", "enabled"), [("1", "true"), ("0", "false"), (None, "false")])
def test_selinux_is_enabled_only_when_it_enforces(plant: Plant, enforce: str | None, enabled: str) -> None:
    files = {"sys/fs/cgroup/": ""} | ({} if enforce is None else {"sys/fs/selinux/enforce": enforce})
    assert read(plant(files), "selinux") == FeatureSet(attributes={"enabled": enabled})


FOLDER = "sys/kernel/security"


def test_security_modules_that_are_active_are_flags(plant: Plant) -> None:
    host = plant(
        {
            f"{FOLDER}/lsm": "lockdown,capability,yama,apparmor,bpf",
            f"{FOLDER}/lockdown": "none [integrity] confidentiality\n",
        }
    )
    assert read(host, "security") == FeatureSet(
        flags=frozenset({"lockdown", "capability", "yama", "apparmor", "bpf"}),
        attributes={"lockdown.level": "integrity"},
    )


def test_a_kernel_without_lockdown_has_no_level_of_it(plant: Plant) -> None:
    assert read(plant({f"{FOLDER}/lsm": "capability\n"}), "security") == FeatureSet(
        flags=frozenset({"capability"}), attributes={}
    )


def test_a_level_that_cannot_be_read_is_unobserved(plant: Plant) -> None:
    host = plant({f"{FOLDER}/lsm": "capability,lockdown", f"{FOLDER}/lockdown/": ""})
    assert read(host, "security") == FeatureSet(
        flags=frozenset({"capability", "lockdown"}), attributes={}, unobserved=frozenset({"lockdown.level"})
    )


def test_without_securityfs_the_modules_are_unknown(plant: Plant) -> None:
    found = read(plant({f"{FOLDER}/": ""}), "security")
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    level = parse_lockdown(text)
    assert level is None or f"[{level}]" in text
