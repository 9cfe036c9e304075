"""What the operating system says of itself: os-release(5)."""

import re

from nodeworthy.formats.os_release import PLACES, parse_os_release
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.reading import Answer, Faults, absent, attributes, unknown

_VERSION = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\..*)?")


def read_os_release(host: Host, faults: Faults) -> Answer:
    """What the operating system says of itself."""
    for path in PLACES:
        text = host.read_text(path)
        if text is not None:
            values, bad_lines = parse_os_release(text)
            for line in bad_lines:
                faults.add(f"{path}: line {line} is no assignment")
            return attributes({**values, **parse_version_id(values.get("VERSION_ID", ""))})
    if not host.is_folder("etc") and not host.is_folder("usr/lib"):
        return unknown("neither etc nor usr/lib is there")
    return absent(f"the system has neither {PLACES[0]} nor {PLACES[1]}")


def parse_version_id(version: str) -> dict[str, str | None]:
    """The numeric components of VERSION_ID; a ``v`` before them is passed over (Talos writes ``v1.6.6``)."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return {}
    return {"VERSION_ID.major": found[1], "VERSION_ID.minor": found[2]}
