"""The packages of an image's distribution: what dpkg and apk have written down, and which package owns a file.

Formats: deb-control(5) in ``var/lib/dpkg/status``, or in one file for each package below ``status.d`` (images without a
package manager); https://wiki.alpinelinux.org/wiki/Apk_spec for ``lib/apk/db/installed``. The databases of rpm are binary
(Berkeley DB, ndb or SQLite) and are not read.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from nodeworthy.requirements import Software, Unexplored
from nodeworthy_resolver.inspection.readings.findings import Findings, exists
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import canonical, resolve

_DPKG_STATUS, _DPKG_FOLDER, _DPKG_INFO = "/var/lib/dpkg/status", "/var/lib/dpkg/status.d", "/var/lib/dpkg/info"
_APK_INSTALLED = ("/lib/apk/db/installed", "/usr/lib/apk/db/installed")
_RPM_FILES = (
    "/var/lib/rpm/Packages",
    "/var/lib/rpm/Packages.db",
    "/var/lib/rpm/rpmdb.sqlite",
    "/usr/lib/sysimage/rpm/Packages.db",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
)
_MAX_DATABASE = 64 * 1024 * 1024
"""Of a database: a desktop's has 5 MB."""


class Package(NamedTuple):
    """One installed package."""

    name: str
    version: str
    kind: str
    """``deb`` or ``apk``."""
    file: str
    """Where that is said."""
    owned: tuple[str, ...] = ()
    """Paths of its files, where the same text says them (apk)."""
    architecture: str = ""


def read_packages(subject: Subject) -> Outcome:
    """Every package that a database tells of."""
    findings = Findings()
    for package in find_packages(subject, findings):
        findings.software.append(Software(package.name, package.version, package.kind, package.file))
    if any(exists(subject.tree, path) for path in _RPM_FILES):
        text = "the image's rpm database is binary and is not read: its packages are known by their files only"
        findings.unexplored.append(Unexplored("the rpm database", text, decides=False))
    return findings.outcome()


def find_packages(subject: Subject, findings: Findings) -> tuple[Package, ...]:
    """Every package that a database tells of, in its order."""
    found: list[Package] = []
    read = partial(findings.text, subject, limit=_MAX_DATABASE)
    places = [_DPKG_STATUS, *(f"{_DPKG_FOLDER}/{name}" for name in subject.tree.names(_DPKG_FOLDER))]
    for place in places:
        if not place.endswith(".md5sums"):
            found += parse_dpkg(read(place) or "", place)
    for place in _APK_INSTALLED:
        found += parse_apk(read(place) or "", place)
        if found:
            break
    return tuple(found)


def parse_dpkg(text: str, file: str) -> Iterator[Package]:
    """The paragraphs of deb-control(5), those that are installed; in ``status.d`` no status is written."""
    for paragraph in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in paragraph.splitlines() if not line.startswith(" "))
        if fields.get("Package") and fields.get("Status", "ok installed").endswith("ok installed"):
            yield Package(
                fields["Package"],
                fields.get("Version", ""),
                "deb",
                file,
                architecture=fields.get("Architecture", ""),
            )


def parse_apk(text: str, file: str) -> Iterator[Package]:
    """The paragraphs of apk's database: ``P:`` name, ``V:`` version, ``F:`` a folder, ``R:`` a file in it."""
    for paragraph in text.split("\n\n"):
        name = version = folder = ""
        owned: list[str] = []
        for line in paragraph.splitlines():
            key, _, value = line.partition(":")
            if key == "P":
                name = value
            elif key == "V":
                version = value
            elif key == "F":
                folder = value
            elif key == "R":
                owned.append(canonical(f"{folder}/{value}"))
        if name:
            yield Package(name, version, "apk", file, tuple(owned))


def package_owners(subject: Subject) -> Mapping[str, str]:
    """The package of each file that a database has, as ``{"/usr/lib/x86_64-linux-gnu/libc.so.6": "libc6 2.36-9+deb12u9"}``.

    Paths are canonical: a list that says ``/lib/…`` means ``/usr/lib/…`` where the folders are merged.
    """
    findings = Findings()
    owners: dict[str, str] = {}
    folders: dict[str, str | None] = {}
    for package in find_packages(subject, findings):
        for path in package.owned or _dpkg_list(subject, package, findings):
            folder, _, name = path.rpartition("/")
            if folder not in folders:
                folders[folder] = resolve(subject.tree, folder)
            place = folders[folder]
            if place is not None:
                owners[canonical(f"{place}/{name}")] = f"{package.name} {package.version}"
    return owners


def _dpkg_list(subject: Subject, package: Package, findings: Findings) -> list[str]:
    if package.kind != "deb":
        return []
    for name in (package.name, f"{package.name}:{package.architecture}"):
        text = findings.text(subject, f"{_DPKG_INFO}/{name}.list", _MAX_DATABASE)
        if text is not None:
            return text.splitlines()
    # Images without a package manager keep the sums beside the paragraph; the paths in them have no leading slash.
    sums = findings.text(subject, f"{package.file}.md5sums", _MAX_DATABASE) or ""
    return [f"/{line.partition('  ')[2]}" for line in sums.splitlines() if "  " in line]
