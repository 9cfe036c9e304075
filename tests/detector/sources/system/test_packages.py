from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.system.packages import (
    parse_apk,
    parse_dpkg,
    parse_pacman,
    read_packages,
    upstream_version,
)

Plant = Callable[[Mapping[str, str | bytes]], Host]

# The shape of Debian 12's file: fields before and after, a description over several lines, a package that was removed.
DPKG = b"""Package: adduser
Status: install ok installed
Version: 3.134

Package: runc
Status: install ok installed
Architecture: amd64
Version: 1.1.5+ds1-1+deb12u1
Description: Open Container Project - runtime
 Version: 9.9 is no field here.
 Package: containerd

Package: docker.io
Status: deinstall ok config-files
Version: 20.10.24+dfsg1-1

Package: docker-ce
Status: install ok installed
Version: 5:27.3.1-1~debian.12~bookworm
"""

# The shape of Alpine 3.20's list.
APK = b"C:Q1abc=\nP:musl\nV:1.2.5-r0\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\n\nC:Q1d=\nP:containerd\nV:1.7.17-r4\n\n"


def test_dpkg_lists_what_is_installed() -> None:
    names = ["runc", "containerd", "docker.io", "docker-ce", "adduser", "9.9"]
    assert parse_dpkg(DPKG, names) == {"runc": "1.1.5", "docker-ce": "27.3.1", "adduser": "3.134"}


def test_apk_lists_what_is_installed() -> None:
    assert parse_apk(APK, ["musl", "containerd", "runc"]) == {"musl": "1.2.5", "containerd": "1.7.17"}


def test_pacman_names_folders_after_packages() -> None:
    folders = ["ALPM_DB_VERSION", "containerd-2.0.2-1", "docker-1:27.5.1-1", "nvidia-container-toolkit-1.17.4-1"]
    found = parse_pacman(folders, ["containerd", "docker", "nvidia-container-toolkit", "runc"])
    assert found == {"containerd": "2.0.2", "docker": "27.5.1", "nvidia-container-toolkit": "1.17.4"}


def test_versions_keep_the_numbers_of_the_program_itself() -> None:
    written = ["1.6.20~ds1-1+b1", "5:27.3.1-1~debian.12", "1.1.12-0ubuntu2~22.04.1", "2.5.4", "v1.2", "unknown"]
    assert [*map(upstream_version, written)] == ["1.6.20", "27.3.1", "1.1.12", "2.5.4", "1.2", "unknown"]


def test_a_host_has_one_database_or_none_that_can_be_read(plant: Plant) -> None:
    assert read_packages(plant({"var/lib/rpm/rpmdb.sqlite": "SQLite format 3"}), ["runc"]) is None
    assert read_packages(plant({"usr/lib/apk/db/installed": APK}), ["musl"]) == {"musl": "1.2.5"}
    assert read_packages(plant({"var/lib/dpkg/status": DPKG}), ["runc"]) == {"runc": "1.1.5"}


@given(st.binary() | st.lists(st.sampled_from(DPKG.splitlines() + APK.splitlines())).map(b"\n".join), st.text())
def test_any_bytes_are_read(database: bytes, name: str) -> None:
    for parse in (parse_dpkg, parse_apk):
        assert set(parse(database, [name, "runc", "musl"])) <= {name, "runc", "musl"}
    parse_pacman([name, f"{name}-1-1"], [name])
