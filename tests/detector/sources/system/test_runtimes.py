from collections.abc import Callable, Mapping
from pathlib import Path

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy.rules.known_sets import KNOWN_SETS
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource
from nodeworthy_detector.sources.system.runtimes import RUNTIMES

Plant = Callable[[Mapping[str, str | bytes]], Host]

DPKG = "Package: containerd\nStatus: install ok installed\nVersion: 1.6.20~ds1-1+b1\n"
TAGGED = "mod\tgithub.com/containerd/containerd/v2\tv2.0.2\t\n"


def read(host: Host) -> FeatureSet:
    found = SystemSource().read(host).sets["system.runtime"]
    assert isinstance(found, FeatureSet)
    return found


def test_i01_a_package_tells_its_version_and_a_socket_that_it_runs(plant: Plant) -> None:
    host = plant(
        {
            "var/lib/dpkg/status": DPKG,
            "usr/bin/containerd": "not looked at",
            "run/containerd/containerd.sock": "",
            "usr/lib/x86_64-linux-gnu/libseccomp.so.2.5.4": "",
        }
    )
    assert read(host).attributes == {"containerd": "1.6.20", "containerd.socket": "/run/containerd/containerd.sock"}
    assert read(host).unobserved == frozenset()


def test_the_library_for_seccomp_has_its_version_in_its_files_name(plant: Plant, tmp_path: Path) -> None:
    host = plant({"usr/bin/": "", "usr/lib64/libseccomp.so.2.5.2": ""})
    (tmp_path / "usr/lib64/libseccomp.so.2").symlink_to("libseccomp.so.2.5.2")
    assert read(host) == FeatureSet(attributes={"libseccomp": "2.5.2"})


def test_a_library_whose_name_tells_no_version_is_unobserved(plant: Plant) -> None:
    host = plant({"usr/bin/": "", "usr/lib64/libseccomp.so.2": ""})
    assert read(host) == FeatureSet(attributes={}, unobserved=frozenset({"libseccomp"}))


def test_without_a_database_a_program_tells_its_own_version(
    plant: Plant, make_go_program: Callable[[str], bytes]
) -> None:
    host = plant({"usr/bin/containerd": make_go_program(TAGGED)})
    assert read(host) == FeatureSet(attributes={"containerd": "2.0.2"})


def test_a_program_that_was_installed_beside_the_package_comes_first(
    plant: Plant, make_go_program: Callable[[str], bytes]
) -> None:
    host = plant({"var/lib/dpkg/status": DPKG, "usr/bin/sh": "", "usr/local/bin/containerd": make_go_program(TAGGED)})
    assert read(host) == FeatureSet(attributes={"containerd": "2.0.2"})


def test_a_program_whose_version_no_file_tells_is_unobserved(plant: Plant, make_elf: Callable[..., bytes]) -> None:
    host = plant(
        {
            "usr/bin/crun": "a program in C",
            "usr/bin/podman": make_elf({".text": b"code"}),
            "usr/bin/runc": "damaged" * 20,
            "run/k3s/containerd/containerd.sock": "",
        }
    )
    reading = SystemSource().read(host)
    assert reading.sets["system.runtime"] == FeatureSet(
        attributes={"containerd.socket": "/run/k3s/containerd/containerd.sock"},
        unobserved=frozenset({"crun", "podman", "runc", "containerd"}),
    )
    assert "usr/bin/runc is no ELF file with sections" in reading.faults


def test_a_program_that_is_nowhere_is_absent(plant: Plant) -> None:
    assert read(plant({"usr/bin/sh": ""})) == FeatureSet(attributes={})


def test_a_rule_that_asks_for_what_is_never_told_is_told_so() -> None:
    names = {runtime.name for runtime in RUNTIMES} | {f"{one.name}.socket" for one in RUNTIMES if one.sockets}
    assert set(KNOWN_SETS["system.runtime"]) == names | {"libseccomp"}


def test_a_root_without_programs_says_nothing_of_them(plant: Plant) -> None:
    found = SystemSource().read(plant({"usr/lib/os-release": ""})).sets["system.runtime"]
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
