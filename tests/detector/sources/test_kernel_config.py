import gzip
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.kernel_config import is_of_other_series, is_of_release, parse_config, read_config
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]

RELEASE = "5.14.0-427.el9.x86_64"


def read(host: Host, first: str = "") -> tuple[FeatureSet | SetStatus, tuple[str, ...]]:
    faults = Faults()
    return read_config(host, RELEASE, first, faults), faults.listed()


@pytest.mark.parametrize(
    "place",
    [
        f"usr/lib/modules/{RELEASE}/config",
        f"usr/src/linux-rt-{RELEASE}/.config",
        f"usr/src/linux-{RELEASE}/.config",
        "usr/src/linux/.config",
        f"usr/lib/ostree-boot/config-{RELEASE}",
        f"usr/lib/kernel/config-{RELEASE}",
        f"usr/src/linux-headers-{RELEASE}/.config",
        f"lib/modules/{RELEASE}/build/.config",
        f"usr/src/linux-rt-headers-{RELEASE}/.config",
        f"boot/config-{RELEASE}",
        f"lib/modules/{RELEASE}/config",
        f"usr/lib/modules/{RELEASE}/build/.config",
        f"usr/boot/config-{RELEASE}",
        f"usr/src/kernels/{RELEASE}/.config",
    ],
)
def test_k4_each_usual_place_is_enough(plant: Plant, place: str) -> None:
    found, faults = read(plant({place: "CONFIG_NO_HZ=y\n"}))
    assert found == FeatureSet(attributes={"NO_HZ": "y"})
    assert faults == ()


@pytest.mark.parametrize(("version", "value"), [("5.14.0", "sources"), ("5.14.21", "sources"), ("6.6.1", "boot")])
def test_sources_without_a_release_in_their_name_may_be_of_another_kernel(
    plant: Plant, version: str, value: str
) -> None:
    title = f"#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 {version} Kernel Configuration\n#\n"
    host = plant({"usr/src/linux/.config": f"{title}CONFIG_A=sources\n", f"boot/config-{RELEASE}": "CONFIG_A=boot\n"})
    found, faults = read(host)
    assert found == FeatureSet(attributes={"A": value})
    assert len(faults) == (value == "boot")


def read_flavour(plant: Plant, text: str) -> FeatureSet | SetStatus:
    return read_config(plant({"boot/config-lts": text}), "6.12.51-0-lts", "", Faults())


def test_alpine_names_the_file_after_the_flavour(plant: Plant) -> None:
    text = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 {} Kernel Configuration\n#\nCONFIG_A=y\n"
    assert read_flavour(plant, text.format("6.12.51")) == FeatureSet(attributes={"A": "y"})
    # After an update the file is that of a kernel which does not run yet.
    for version in ("6.12.5", "6.12.52", "6.12", "6.12.51-0-virt"):
        found = read_flavour(plant, text.format(version))
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN
    assert isinstance(read_flavour(plant, "CONFIG_A=y\n"), SetStatus)


def test_k4_no_place_has_one(plant: Plant) -> None:
    found, faults = read(plant({"proc/version": "x"}))
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
    assert faults == ()


def test_the_running_kernel_comes_before_files_and_a_setting_before_both(plant: Plant) -> None:
    host = plant(
        {
            "proc/config.gz": gzip.compress(b"CONFIG_A=running\n"),
            f"boot/config-{RELEASE}": "CONFIG_A=boot\n",
            "etc/kernel.config": "CONFIG_A=setting\n",
        }
    )
    assert read(host)[0] == FeatureSet(attributes={"A": "running"})
    assert read(host, "/etc/kernel.config")[0] == FeatureSet(attributes={"A": "setting"})


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"no gzip file at all", "is no gzip file"),
        (gzip.compress(b"CONFIG_A=y\n" * 1000)[:30], "ends too early"),
        (gzip.compress(bytes(5 * 1024 * 1024)), "unpacks to more than 4,194,304 bytes"),
    ],
)
def test_a_damaged_place_is_a_fault_and_the_next_one_counts(plant: Plant, data: bytes, fault: str) -> None:
    found, faults = read(plant({"proc/config.gz": data, f"boot/config-{RELEASE}": "CONFIG_A=boot\n"}))
    assert found == FeatureSet(attributes={"A": "boot"})
    assert len(faults) == 1
    assert fault in faults[0]


def test_options_are_read_as_they_are_set() -> None:
    text = (
        'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="a b"\nCONFIG_D=""\nCONFIG_E=0x10\nD=y\nCONFIG_F\n #CONFIG_G=y\n'
    )
    assert parse_config(text) == {"A": "y", "C": "a b", "D": "", "E": "0x10"}


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    parse_config(text)
    is_of_other_series(f"# Linux/x86 {text} Kernel Configuration\n", text)
    is_of_release(f"# Linux/x86 {text} Kernel Configuration\n", text)
