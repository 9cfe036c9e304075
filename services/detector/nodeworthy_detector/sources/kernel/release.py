"""The kernel's release, and its numeric components."""

import re

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_RELEASE = re.compile(r"[-A-Za-z0-9_.+~^:]{1,128}")
"""A release that may stand in a path; the kernel limits it to 64 letters (struct new_utsname)."""

_COMPONENTS = re.compile(r"v?([0-9]+)(?:\.([0-9]+)(?:\.([0-9]+))?)?(?![0-9])")
"""The numeric part that every distribution's release starts with; what follows is the distribution's own."""


def read_release(host: Host) -> str | None:
    """What ``uname -r`` says: /proc/sys/kernel/osrelease, or the third word of /proc/version.

    Raises:
        HostReadError: the files are there and cannot be read.
    """
    release = host.read_value("proc/sys/kernel/osrelease")
    if release is None:
        words = (host.read_value("proc/version") or "").split()
        release = words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else None  # noqa: PLR2004 # third
    return release or None


def read_release_for_paths(host: Host) -> str | None:
    """The release, if it can be a part of a path; a damaged one must not lead elsewhere."""
    release = read_release(host)
    return release if release and _RELEASE.fullmatch(release) and release.strip(".") else None


def read_version(host: Host, _faults: Faults) -> Answer:
    """The release and its numeric components."""
    release = read_release(host)
    if release is None:
        return unknown("neither proc/sys/kernel/osrelease nor proc/version is there")
    return attributes(parse_release(release))


def parse_release(release: str) -> dict[str, str | None]:
    """The components of a release such as ``5.14.0-427.13.1.el9_4.x86_64``.

    ``full`` is NFD's form, a legal label value; ``raw`` is what the kernel says. A component that the release does not have
    is ``None``; NFD writes an empty text, and nothing at all for releases with four numbers.
    """
    full = re.sub(r"[^-A-Za-z0-9_.]", "_", release).strip("-_.")
    found = _COMPONENTS.match(release)
    major, minor, revision = found.groups() if found else (None, None, None)
    return {"full": full, "raw": release, "major": major, "minor": minor, "revision": revision}
