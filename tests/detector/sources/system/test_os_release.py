from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource
from nodeworthy_detector.sources.system.os_release import parse_version_id

Plant = Callable[[Mapping[str, str | bytes]], Host]


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return SystemSource().read(host).sets[f"system.{name}"]


def os_release(host: Host) -> Mapping[str, str]:
    found = read(host, "osrelease")
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes


def test_o1_a_version_with_a_v_has_components(plant: Plant) -> None:
    found = os_release(plant({"etc/os-release": "ID=talos\nVERSION_ID=v1.6.6\n"}))
    assert found == {"ID": "talos", "VERSION_ID": "v1.6.6", "VERSION_ID.major": "1", "VERSION_ID.minor": "6"}


def test_o2_the_file_below_usr_counts_where_etc_has_none(plant: Plant) -> None:
    host = plant({"etc/hostname": "x", "usr/lib/os-release": "ID=fedora\nVERSION_ID=42\n"})
    assert os_release(host) == {"ID": "fedora", "VERSION_ID": "42", "VERSION_ID.major": "42"}


def test_o2_the_file_in_etc_comes_first_also_through_a_link(plant: Plant, tmp_path: Path) -> None:
    host = plant({"etc/": "", "usr/lib/os-release": "ID=vendor\n"})
    (tmp_path / "etc/os-release").symlink_to("/usr/lib/os-release")
    assert os_release(host) == {"ID": "vendor"}
    (tmp_path / "etc/os-release").unlink()
    (tmp_path / "etc/os-release").write_text("ID=admin\n")
    assert os_release(host) == {"ID": "admin"}


def test_o4_a_template_that_was_left_over_is_no_number(plant: Plant) -> None:
    found = os_release(plant({"etc/os-release": "ID=arch\nBUILD_ID=rolling\nVERSION_ID=TEMPLATE_VERSION_ID\n"}))
    assert found == {"ID": "arch", "BUILD_ID": "rolling", "VERSION_ID": "TEMPLATE_VERSION_ID"}


def test_o6_lines_may_end_as_on_windows(plant: Plant) -> None:
    found = os_release(plant({"etc/os-release": 'NAME=Slackware\r\nVERSION="15.0"\r\nVERSION_ID=15.0\r\n'}))
    assert found["VERSION"] == "15.0"
    assert found["VERSION_ID.major"] == "15"
    assert found["VERSION_ID.minor"] == "0"


def test_o8_components_come_from_version_id_and_never_from_version(plant: Plant) -> None:
    found = os_release(plant({"etc/os-release": 'VERSION="7 (Core)"\nVERSION_ID="7"\n'}))
    assert found == {"VERSION": "7 (Core)", "VERSION_ID": "7", "VERSION_ID.major": "7"}
    assert "VERSION_ID.major" not in os_release(plant({"etc/os-release": 'VERSION="7 (Core)"\n'}))


def test_o9_a_bad_line_harms_only_itself(plant: Plant) -> None:
    host = plant({"etc/os-release": "ID=x\nthis is not an assignment\n\n# comment\nEMPTY=\nVERSION_ID=1\n"})
    assert os_release(host) == {"ID": "x", "VERSION_ID": "1", "VERSION_ID.major": "1"}
    assert SystemSource().read(host).faults == ("etc/os-release: line 2 is no assignment",)


@pytest.mark.parametrize(
    ("version", "components"),
    [
        ("22.04", {"VERSION_ID.major": "22", "VERSION_ID.minor": "04"}),
        ("4.13", {"VERSION_ID.major": "4", "VERSION_ID.minor": "13"}),
        ("9", {"VERSION_ID.major": "9", "VERSION_ID.minor": None}),
        ("3.20.3", {"VERSION_ID.major": "3", "VERSION_ID.minor": "20"}),
        ("20240101-rolling", {}),
        ("", {}),
    ],
)
def test_components_of_versions(version: str, components: dict[str, str | None]) -> None:
    assert parse_version_id(version) == components


def test_a_system_without_the_file_is_no_recording_without_etc(plant: Plant) -> None:
    unknown = read(plant({"proc/": ""}), "osrelease")
    absent = read(plant({"etc/hostname": "x"}), "osrelease")
    assert isinstance(unknown, SetStatus)
    assert isinstance(absent, SetStatus)
    assert (unknown.state, absent.state) == (SetState.UNKNOWN, SetState.ABSENT)


@given(st.text())
def test_any_version_is_read(text: str) -> None:
    assert all(value is None or value.isdigit() for value in parse_version_id(text).values())
