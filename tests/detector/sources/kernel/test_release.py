from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.release import parse_release

Plant = Callable[[Mapping[str, str | bytes]], Host]


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets[f"kernel.{name}"]


@pytest.mark.parametrize(
    ("release", "full", "components"),
    [
        # L1: a letter that no label may have.
        ("4.9.140-l4t-r32.3.1+g47e7e1cb0b49", "4.9.140-l4t-r32.3.1_g47e7e1cb0b49", ("4", "9", "140")),
        # L3: four numbers.
        ("6.6.87.2-microsoft-standard-WSL2", "6.6.87.2-microsoft-standard-WSL2", ("6", "6", "87")),
        # L5: two numbers; the third is absent, not empty.
        ("6.12", "6.12", ("6", "12", None)),
        ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64", ("5", "14", "0")),
        ("3.10.0-1160.el7.x86_64", "3.10.0-1160.el7.x86_64", ("3", "10", "0")),
        ("4.18.0-553.el8_10.x86_64", "4.18.0-553.el8_10.x86_64", ("4", "18", "0")),
        ("5.15.153.1-2.cm2", "5.15.153.1-2.cm2", ("5", "15", "153")),
        ("6.1.78-talos", "6.1.78-talos", ("6", "1", "78")),
        ("6.6.15+", "6.6.15", ("6", "6", "15")),
        ("6.12.43+deb13-amd64", "6.12.43_deb13-amd64", ("6", "12", "43")),
        ("6.1.119-129.201.amzn2023.x86_64", "6.1.119-129.201.amzn2023.x86_64", ("6", "1", "119")),
        ("6.13.0-rc1+", "6.13.0-rc1", ("6", "13", "0")),
        ("7", "7", ("7", None, None)),
        ("custom", "custom", (None, None, None)),
    ],
)
def test_releases_of_every_distribution_have_components(
    plant: Plant, release: str, full: str, components: tuple[str | None, ...]
) -> None:
    found = read(plant({"proc/sys/kernel/osrelease": release + "\n"}), "version")
    assert isinstance(found, FeatureSet)
    names = ("major", "minor", "revision")
    expected = {name: value for name, value in zip(names, components, strict=True) if value is not None}
    assert found.attributes == {"full": full, "raw": release, **expected}


def test_an_old_recording_tells_its_release_in_proc_version(plant: Plant) -> None:
    found = read(plant({"proc/version": "Linux version 2.6.32-754.el6.x86_64 (gcc 4.4.7) #1 SMP"}), "version")
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    assert found.attributes["raw"] == "2.6.32-754.el6.x86_64"


@pytest.mark.parametrize("release", ["../../etc", "..", "a/b", "x" * 200, "6.1\0", ""])
def test_a_damaged_release_is_never_part_of_a_path(plant: Plant, release: str) -> None:
    host = plant(
        {"proc/sys/kernel/osrelease": release, "boot/config-": "CONFIG_A=y", "lib/modules/modules.builtin": "a.ko"}
    )
    for name in ("config", "module", "availablemodule"):
        found = read(host, name)
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    full = parse_release(text)["full"]
    assert full is not None
    assert not set(full) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
