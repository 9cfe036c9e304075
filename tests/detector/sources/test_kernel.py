from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel import parse_built_in, parse_loaded, parse_release

Plant = Callable[[Mapping[str, str | bytes]], Host]

ANCHOR = {"proc/sys/vm/swappiness": "60"}
RELEASE = {"proc/sys/kernel/osrelease": "6.1.0-13-amd64\n"}


def read(host: Host, name: str) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets[f"kernel.{name}"]


def status(host: Host, name: str) -> SetStatus:
    found = read(host, name)
    assert isinstance(found, SetStatus)
    return found


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


def test_k1_a_built_in_module_is_enabled_and_not_loaded(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | RELEASE
        | {
            "proc/modules": "snd 147456 1 snd_hda_intel, Live 0x0000000000000000\n",
            "lib/modules/6.1.0-13-amd64/modules.builtin": "kernel/drivers/gpu/drm/i915/i915.ko\n",
        }
    )
    assert read(host, "loadedmodule") == FeatureSet(flags=frozenset({"snd"}))
    assert read(host, "enabledmodule") == FeatureSet(flags=frozenset({"snd", "i915"}))
    assert read(host, "module") == FeatureSet(flags=frozenset({"snd", "i915"}))


def test_k2_module_names_come_in_the_spelling_of_the_kernel(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | RELEASE
        | {
            "proc/modules": "vfio_pci 16384 0 - Live 0x0\n",
            "usr/lib/modules/6.1.0-13-amd64/modules.builtin": "kernel/crypto/aesni-intel.ko\n",
        }
    )
    assert read(host, "module") == FeatureSet(flags=frozenset({"vfio_pci", "aesni_intel"}))
    assert read(host, "enabledmodule") == FeatureSet(flags=frozenset({"vfio_pci", "aesni-intel"}))


def test_without_the_list_of_built_in_modules_the_union_is_unknown(plant: Plant) -> None:
    host = plant(ANCHOR | RELEASE | {"proc/modules": "kvm 1 0 - Live 0x0\n"})
    assert read(host, "loadedmodule") == FeatureSet(flags=frozenset({"kvm"}))
    for name in ("module", "enabledmodule"):
        assert status(host, name).state is SetState.UNKNOWN
        assert "modules.builtin is not there" in status(host, name).reason


def test_a_kernel_without_loadable_modules_is_no_recording_without_them(plant: Plant) -> None:
    assert status(plant(RELEASE), "loadedmodule").state is SetState.UNKNOWN
    assert status(plant(RELEASE | ANCHOR), "loadedmodule").state is SetState.ABSENT


@pytest.mark.parametrize("release", ["../../etc", "..", "a/b", "x" * 200, "6.1\0", ""])
def test_a_damaged_release_is_never_part_of_a_path(plant: Plant, release: str) -> None:
    host = plant(
        {"proc/sys/kernel/osrelease": release, "boot/config-": "CONFIG_A=y", "lib/modules/modules.builtin": "a.ko"}
    )
    assert status(host, "config").state is SetState.UNKNOWN
    assert status(host, "module").state is SetState.UNKNOWN


@pytest.mark.parametrize(("enforce", "enabled"), [("1", "true"), ("0", "false"), (None, "false")])
def test_selinux_is_enabled_only_when_it_enforces(plant: Plant, enforce: str | None, enabled: str) -> None:
    files = {"sys/fs/cgroup/": ""} | ({} if enforce is None else {"sys/fs/selinux/enforce": enforce})
    assert read(plant(files), "selinux") == FeatureSet(attributes={"enabled": enabled})


def test_kvm_is_there_or_not_only_where_devices_are_recorded(plant: Plant) -> None:
    assert status(plant({"sys/devices/": ""}), "kvm").state is SetState.UNKNOWN
    assert read(plant({"sys/devices/virtual/misc/": ""}), "kvm") == FeatureSet(attributes={"enabled": "false"})
    assert read(plant({"sys/devices/virtual/misc/kvm/": ""}), "kvm") == FeatureSet(attributes={"enabled": "true"})


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    parse_release(text)
    assert all(parse_loaded(text))
    parse_built_in(text)
