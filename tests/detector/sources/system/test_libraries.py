from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource
from nodeworthy_detector.sources.system import Library
from nodeworthy_detector.sources.system.libraries import compile_pattern, version_in

Plant = Callable[[Mapping[str, str | bytes]], Host]
MakeElf = Callable[..., bytes]

DEBIAN = "usr/lib/x86_64-linux-gnu"


def libraries(host: Host, source: SystemSource = SystemSource()) -> list[dict[str, str]]:  # noqa: B008 # a record
    found = source.read(host).sets["system.library"]
    assert isinstance(found, FeatureSet)
    return [dict(one) for one in found.instances or ()]


def test_g01_glibc_and_libstdcxx_tell_the_newest_version_of_their_symbols(
    plant: Plant, make_elf: MakeElf, tmp_path: Path
) -> None:
    host = plant(
        {
            f"{DEBIAN}/libc.so.6": make_elf(versions=("GLIBC_2.2.5", "GLIBC_2.36", "GLIBC_PRIVATE")),
            f"{DEBIAN}/libstdc++.so.6.0.30": make_elf(versions=("GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.13")),
        }
    )
    (tmp_path / DEBIAN / "libstdc++.so.6").symlink_to("libstdc++.so.6.0.30")
    assert libraries(host) == [
        {
            "name": "glibc",
            "path": f"/{DEBIAN}/libc.so.6",
            "version": "2.36",
            "symbol_version": "2.36",
            "architecture": "amd64",
        },
        {
            "name": "libstdc++",
            "path": f"/{DEBIAN}/libstdc++.so.6.0.30",
            "version": "6.0.30",
            "symbol_version": "3.4.30",
            "architecture": "amd64",
        },
    ]


def test_an_older_glibc_is_the_same_behind_its_link(plant: Plant, make_elf: MakeElf, tmp_path: Path) -> None:
    host = plant({"usr/lib/": "", "usr/lib64/libc-2.28.so": make_elf(versions=("GLIBC_2.2.5", "GLIBC_2.28"))})
    (tmp_path / "usr/lib64/libc.so.6").symlink_to("libc-2.28.so")
    assert [(one["path"], one["version"]) for one in libraries(host)] == [("/usr/lib64/libc.so.6", "2.28")]


def test_both_architectures_of_a_host_are_told(plant: Plant, make_elf: MakeElf) -> None:
    host = plant(
        {
            "usr/lib/aarch64-linux-gnu/libibverbs.so.1.14.50.0": make_elf(machine=183),
            "usr/lib/arm-linux-gnueabihf/libibverbs.so.1.14.39.0": make_elf(machine=40, bits=32),
        }
    )
    assert [(one["architecture"], one["version"]) for one in libraries(host)] == [
        ("arm64", "1.14.50.0"),
        ("arm", "1.14.39.0"),
    ]


def test_a_file_counts_once_whatever_leads_to_it(plant: Plant, make_elf: MakeElf, tmp_path: Path) -> None:
    host = plant({"usr/lib/": "", "usr/lib64/libcuda.so.550.54.15": make_elf()})
    (tmp_path / "lib64").symlink_to("usr/lib64")
    (tmp_path / "usr/lib64/libcuda.so.1").symlink_to("/usr/lib64/libcuda.so.550.54.15")
    (tmp_path / "usr/lib64/libcuda.so").symlink_to("libcuda.so.1")
    assert libraries(host) == [
        {
            "name": "libcuda",
            "path": "/usr/lib64/libcuda.so.550.54.15",
            "version": "550.54.15",
            "architecture": "amd64",
        }
    ]


def test_several_versions_are_several_instances(plant: Plant, make_elf: MakeElf) -> None:
    host = plant(
        {
            "usr/lib64/libcuda.so.535.161.08": make_elf(),
            "run/nvidia/driver/usr/lib64/libcuda.so.550.54.15": make_elf(),
            "opt/rocm-5.7.1/.info/version": "5.7.1-98\n",
            "opt/rocm-6.1.2/.info/version": "6.1.2-129\n",
            "usr/lib/os-release": "",
        }
    )
    assert [(one["name"], one["version"]) for one in libraries(host)] == [
        ("libcuda", "550.54.15"),
        ("libcuda", "535.161.08"),
        ("rocm", "5.7.1-98"),
        ("rocm", "6.1.2-129"),
    ]


def test_the_two_families_of_mpi_are_told_apart_by_their_interface(plant: Plant, make_elf: MakeElf) -> None:
    host = plant(
        {
            "usr/lib64/openmpi/lib/libmpi.so.40.30.5": make_elf(),
            "usr/lib64/mpich/lib/libmpi.so.12.3.0": make_elf(),
            "usr/lib/os-release": "",
        }
    )
    assert [(one["name"], one["version"]) for one in libraries(host)] == [("mpich", "12.3.0"), ("openmpi", "40.30.5")]


def test_musl_has_the_version_of_its_package(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"lib/ld-musl-x86_64.so.1": make_elf(), "lib/apk/db/installed": "C:Q=\nP:musl\nV:1.2.5-r0\n\n"})
    assert libraries(host) == [
        {"name": "musl", "path": "/lib/ld-musl-x86_64.so.1", "version": "1.2.5", "architecture": "amd64"}
    ]
    (without,) = libraries(plant({"lib/apk/db/installed": ""}))
    assert "version" not in without


def test_the_number_of_an_interface_is_no_version(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"usr/lib/wsl/lib/libcuda.so.1": make_elf()})
    assert libraries(host) == [{"name": "libcuda", "path": "/usr/lib/wsl/lib/libcuda.so.1", "architecture": "amd64"}]


def test_a_file_that_is_no_library_is_a_fault_and_its_neighbours_count(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"usr/lib/libcuda.so.1": "text", "usr/lib/libfabric.so.1.24.0": make_elf(), "opt/rocm": "no folder"})
    reading = SystemSource().read(host)
    assert [one["name"] for one in libraries(host)] == ["libfabric"]
    assert "usr/lib/libcuda.so.1 is no ELF file with sections" in reading.faults


def test_the_list_of_libraries_is_a_setting(plant: Plant, make_elf: MakeElf) -> None:
    host = plant({"usr/lib/libfoo-gl.so.3.1": make_elf(), "usr/lib/libcuda.so.1": make_elf()})
    source = SystemSource(libraries=(Library("foo", "libfoo*.so"),))
    assert [(one["name"], one["version"]) for one in libraries(host, source)] == [("foo", "3.1")]


def test_a_host_without_any_has_none_and_a_root_without_folders_says_nothing(plant: Plant) -> None:
    found = SystemSource().read(plant({"etc/os-release": ""})).sets["system.library"]
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
    assert libraries(plant({"usr/lib/os-release": ""})) == []


@pytest.mark.parametrize(
    "name", ["libcuda.so.1.bak", "xlibcuda.so", "libcuda.so.", "libcuda.so.550a", "libcudart.so.12"]
)
def test_names_that_only_look_alike_are_others(name: str) -> None:
    assert compile_pattern("libcuda.so").fullmatch(name) is None


@given(st.text(), st.text())
def test_any_pattern_can_be_held_against_any_name(file: str, name: str) -> None:
    compile_pattern(file).fullmatch(name)
    assert "*" in file or compile_pattern(file).fullmatch(f"{file}.1.2")
    version = version_in(name)
    assert version is None or name.endswith(f".so.{version}")
