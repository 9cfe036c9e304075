"""Whatever stands in these files, there are facts or faults and never an exception."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.detector.sources.accel.conftest import ANCHOR, PCI, h100, mi300x

from nodeworthy import features
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import AccelSource
from nodeworthy_detector.sources.accel import amd, ascend, fpga, habana, knowledge, libraries, nvidia, uevent_file

Plant = Callable[[Mapping[str, str | bytes]], Host]

VERSION = re.compile(r"[0-9]{2,5}(\.[0-9]+)+")
NAMES = ["gfx_target_version", "location_id", "domain", "Version", "DRIVER", "Model", "ue"]  # codespell:ignore ue
LINES = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from([" ", "=", ": ", ":\t"]),
        st.text(max_size=25) | st.integers().map(str),
    ).map("".join)
).map("\n".join)
TEXTS = st.text() | LINES


@given(TEXTS)
def test_any_text_is_read_by_every_parser(text: str) -> None:
    version = nvidia.parse_version(text)
    assert version is None or VERSION.fullmatch(version.version)
    health = nvidia.judge_health(nvidia.parse_information(text))
    assert health is None or health.word in {"failed", "unknown"}
    properties = amd.parse_properties(text)
    assert re.fullmatch(r"[0-9a-f]{4,}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", amd.address_of(properties))
    target = amd.format_gfx_target(properties.get("gfx_target_version", 0))
    assert target is None or re.fullmatch(r"gfx[0-9]{1,2}[0-9a-f]{2}", target)
    assert amd.count_uncorrectable(text) >= 0
    assert ascend.parse_version_info(text) != ""
    assert uevent_file.slot_of(uevent_file.parse_uevent_file(text)) != ""
    assert knowledge.tree_vendor(text) != ""
    assert libraries.parse_library_name(text) is None
    for found in (habana.judge_status(text), fpga.judge_state(text)):
        assert found.word in {"ok", "degraded", "failed", "unknown"}


FILES = [name for name in h100() | mi300x() if not name.startswith("dev/")]


@pytest.fixture
def full(plant: Plant) -> Host:
    """A machine with accelerators of two vendors."""
    return plant(ANCHOR | h100() | mi300x())


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(content=st.binary(max_size=200))
def test_any_bytes_in_one_file_leave_sets_that_can_be_published(
    full: Host, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    reading = AccelSource().read(full)
    assert reading.sets.keys() == set(AccelSource().sets)
    for found in reading.sets.values():
        if isinstance(found, features.FeatureSet):
            assert features.decode(features.encode(found)) == found
    assert not [fault for fault in reading.faults if "its reader failed" in fault]


@pytest.mark.parametrize("name", FILES)
def test_a_folder_where_a_file_is_expected_harms_only_its_own_device(full: Host, tmp_path: Path, name: str) -> None:
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    found = AccelSource().read(full).sets["accel.device"]
    assert isinstance(found, features.FeatureSet)
    others = [device for device in found.instances or () if device["address"] not in name]
    assert others
    mandatory = {f"{PCI}/0000:62:00.0/{one}" for one in ("class", "vendor", "device")}
    mandatory |= {f"{PCI}/0000:75:00.0/{one}" for one in ("class", "vendor", "device")}
    assert len(found.instances or ()) == (1 if name in mandatory else 2)
