"""Packages of an image's distribution."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import prepared
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection.readings.packages import package_owners, parse_apk, parse_dpkg, read_packages
from nodeworthy_resolver.inspection.subject import ImageConfig, Subject

DPKG = b"""Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u9
Description: GNU C Library
 Package: not-a-field

Package: gone
Status: deinstall ok config-files
Version: 1.0
"""
APK = b"""C:Q1abc=
P:musl
V:1.2.4-r2
A:x86_64
F:lib
R:ld-musl-x86_64.so.1
a:0:0:755
F:usr/lib
R:x

P:busybox
V:1.36.1-r5
"""


def image(files: dict[str, bytes | str]) -> Subject:
    return prepared(MemoryTree(files), ImageConfig())


def test_dpkg_tells_of_installed_packages_and_their_files() -> None:
    subject = image(
        {
            "/var/lib/dpkg/status": DPKG,
            "/var/lib/dpkg/info/libc6:amd64.list": b"/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n",
            "/lib": "-> usr/lib",
            "/usr/lib/x86_64-linux-gnu/libc.so.6": b"",
        }
    )
    assert [(one.name, one.version, one.kind) for one in read_packages(subject).software] == [
        ("libc6", "2.36-9+deb12u9", "deb")
    ]
    assert package_owners(subject)["/usr/lib/x86_64-linux-gnu/libc.so.6"] == "libc6 2.36-9+deb12u9"


def test_images_without_a_package_manager_keep_one_file_for_each_package() -> None:
    subject = image(
        {
            "/var/lib/dpkg/status.d/base": b"Package: base-files\nVersion: 12.4\nArchitecture: amd64\n",
            "/var/lib/dpkg/status.d/base.md5sums": b"d41d8cd98f00b204e9800998ecf8427e  usr/lib/os-release\n",
            "/usr/lib/os-release": b"",
        }
    )
    assert [one.name for one in read_packages(subject).software] == ["base-files"]
    assert package_owners(subject) == {"/usr/lib/os-release": "base-files 12.4"}


@pytest.mark.parametrize("place", ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"])
def test_apk_tells_packages_and_files_in_one(place: str) -> None:
    subject = image({place: APK, "/lib/ld-musl-x86_64.so.1": b""})
    assert [(one.name, one.version) for one in read_packages(subject).software] == [
        ("musl", "1.2.4-r2"),
        ("busybox", "1.36.1-r5"),
    ]
    assert package_owners(subject)["/lib/ld-musl-x86_64.so.1"] == "musl 1.2.4-r2"


def test_a_database_of_rpm_is_said_to_be_unread_and_decides_nothing() -> None:
    found = read_packages(image({"/var/lib/rpm/rpmdb.sqlite": b"SQLite format 3\0"}))
    assert [(one.what, one.decides) for one in found.unexplored] == [("the rpm database", False)]
    assert read_packages(image({})).unexplored == ()


@given(st.text(alphabet="PackgeVrsion:ASFR\n /.", max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert all(one.name for one in (*parse_dpkg(text, "/a"), *parse_apk(text, "/a")))
