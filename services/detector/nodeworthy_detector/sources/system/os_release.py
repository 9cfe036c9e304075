"""What the operating system says of itself: os-release(5)."""

import re

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.reading import Answer, Faults, absent, attributes, unknown

_PLACES = ("etc/os-release", "usr/lib/os-release")
"""The second is read where the first is not there: os-release(5)."""

_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.ASCII)
_VERSION = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\..*)?")


def read_os_release(host: Host, faults: Faults) -> Answer:
    """What the operating system says of itself."""
    for path in _PLACES:
        text = host.read_text(path)
        if text is not None:
            values, bad_lines = parse_os_release(text)
            for line in bad_lines:
                faults.add(f"{path}: line {line} is no assignment")
            return attributes({**values, **parse_version_id(values.get("VERSION_ID", ""))})
    if not host.is_folder("etc") and not host.is_folder("usr/lib"):
        return unknown("neither etc nor usr/lib is there")
    return absent(f"the system has neither {_PLACES[0]} nor {_PLACES[1]}")


def parse_os_release(text: str) -> tuple[dict[str, str], tuple[int, ...]]:
    """The assignments, and the numbers of lines that are none.

    The text is that of os-release(5)::

        ID=fedora
        VERSION_ID="41"

    Quotes at both ends are taken off and nothing else is changed, as NFD does; an empty value is left out.
    """
    values: dict[str, str] = {}
    bad_lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        found = _ASSIGNMENT.fullmatch(content)
        if found is None:
            bad_lines.append(number)
        elif found[2]:
            values[found[1]] = found[2].strip("\"'")
    return values, tuple(bad_lines)


def parse_version_id(version: str) -> dict[str, str | None]:
    """The numeric components of VERSION_ID; a ``v`` before them is passed over (Talos writes ``v1.6.6``)."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return {}
    return {"VERSION_ID.major": found[1], "VERSION_ID.minor": found[2]}
