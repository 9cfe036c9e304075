"""Versions of installed packages, out of those package databases that are plain text."""

import re
from collections.abc import Collection, Mapping

from nodeworthy_detector.hostfs import Host

_MAX_DATABASE_BYTES = 16 * 1024 * 1024
"""A Debian server with 1,000 packages has 2 MB, a large desktop 10."""

_DPKG = "var/lib/dpkg/status"
_APK = ("lib/apk/db/installed", "usr/lib/apk/db/installed")
"""The second since Alpine 3.23, which has one folder for ``lib`` and ``usr/lib``."""

_PACMAN = "var/lib/pacman/local"

_UPSTREAM = re.compile(r"(?:[0-9]+:)?v?([0-9]+(?:\.[0-9]+)*)")


def read_packages(host: Host, names: Collection[str]) -> Mapping[str, str] | None:
    """The versions of those of the packages that are installed; ``None`` if this host has no database that can be read.

    rpm's databases (SQLite and others) take more reading than their few facts are worth here.

    Raises:
        HostReadError: a database is there and cannot be read.
    """
    database = host.read_bytes(_DPKG, _MAX_DATABASE_BYTES)
    if database is not None:
        return parse_dpkg(database, names)
    for path in _APK:
        database = host.read_bytes(path, _MAX_DATABASE_BYTES)
        if database is not None:
            return parse_apk(database, names)
    folders = host.list_names(_PACMAN)
    return None if folders is None else parse_pacman(folders, names)


def parse_dpkg(database: bytes, names: Collection[str]) -> dict[str, str]:
    """Versions out of dpkg's status file (deb-control(5)).

    Paragraphs as::

        Package: runc
        Status: install ok installed
        Version: 1.1.5+ds1-1+deb12u1
    """
    versions = {}
    for name in names:
        fields = _paragraph(database, f"Package: {name}")
        if fields.get("Status", "").endswith(" installed") and "Version" in fields:
            versions[name] = upstream_version(fields["Version"])
    return versions


def parse_apk(database: bytes, names: Collection[str]) -> dict[str, str]:
    """Versions out of apk's list (apk-package(5)): paragraphs with lines as ``P:musl`` and ``V:1.2.5-r9``."""
    found = ((name, _paragraph(database, f"P:{name}")) for name in names)
    return {name: upstream_version(fields["V"]) for name, fields in found if "V" in fields}


def parse_pacman(folders: Collection[str], names: Collection[str]) -> dict[str, str]:
    """Versions out of the names of pacman's folders: ``runc-1.2.6-1`` is name, version and release."""
    parted = (folder.rsplit("-", 2) for folder in folders)
    return {part[0]: upstream_version(part[1]) for part in parted if len(part) == 3 and part[0] in names}  # noqa: PLR2004


def _paragraph(database: bytes, line: str) -> dict[str, str]:
    """The fields of the paragraph that has this line; found without splitting a database of megabytes into its lines."""
    wanted = f"{line}\n".encode()
    position = 0 if database.startswith(wanted) else database.find(b"\n" + wanted)
    if position < 0:
        return {}
    start = database.rfind(b"\n\n", 0, position + 1) + 1
    end = database.find(b"\n\n", position + 1)
    text = database[start : None if end < 0 else end].decode("utf-8", "replace")
    parted = (line.partition(":") for line in text.split("\n") if line[:1] != " ")
    return {name: value.strip() for name, colon, value in parted if colon}


def upstream_version(version: str) -> str:
    """The numbers with which a package's version begins: without epoch, revision, and what a distribution added.

    >>> upstream_version("5:27.3.1-1~debian.12~bookworm"), upstream_version("1.6.20~ds1-1+b1")
    ('27.3.1', '1.6.20')
    """
    found = _UPSTREAM.match(version)
    return found[1] if found else version
