"""The source ``system``: name, operating system, firmware tables, architecture."""

import re

import msgspec

from nodeworthy_detector.architecture import read_architecture
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, attributes, read_sets, unknown

_OS_RELEASE = ("etc/os-release", "usr/lib/os-release")
"""The second is read where the first is not there: os-release(5)."""

_DMI = "sys/devices/virtual/dmi/id"
_DMI_NAMES = (
    "bios_date",
    "bios_vendor",
    "bios_version",
    "board_asset_tag",
    "board_name",
    "board_vendor",
    "board_version",
    "chassis_asset_tag",
    "chassis_type",
    "chassis_vendor",
    "chassis_version",
    "product_family",
    "product_name",
    "product_sku",
    "product_version",
    "sys_vendor",
)
"""The entries that NFD reads: everything but serial numbers and UUIDs."""

_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.ASCII)
_VERSION = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\..*)?")


class SystemSource(msgspec.Struct, frozen=True):
    """Name, operating system, firmware tables, architecture."""

    node_name: str = ""
    """The name that the cluster gave this node; empty where there is no cluster."""
    name: str = "system"
    sets: tuple[str, ...] = ("system.architecture", "system.dmiid", "system.name", "system.osrelease")

    def read(self, host: Host) -> Reading:
        """Read each set on its own."""
        return read_sets(
            host,
            {
                "system.architecture": read_architecture_set,
                "system.dmiid": read_dmi,
                "system.name": lambda _host, _faults: attributes({"nodename": self.node_name}),
                "system.osrelease": read_os_release,
            },
        )


def read_architecture_set(host: Host, _faults: Faults) -> Answer:
    """The architecture that images are compared with; NFD leaves it to Kubernetes."""
    found = read_architecture(host)
    if found is None:
        return unknown("neither the kernel nor a program of this root tells its architecture")
    return attributes(
        {
            "architecture": found.name,
            "machine": found.machine,
            "bits": found.bits,
            "endianness": found.endianness,
        }
    )


def read_os_release(host: Host, faults: Faults) -> Answer:
    """What the operating system says of itself."""
    for path in _OS_RELEASE:
        text = host.read_text(path)
        if text is not None:
            values, bad_lines = parse_os_release(text)
            for line in bad_lines:
                faults.add(f"{path}: line {line} is no assignment")
            return attributes({**values, **parse_version_id(values.get("VERSION_ID", ""))})
    if not host.is_folder("etc") and not host.is_folder("usr/lib"):
        return unknown("neither etc nor usr/lib is there")
    return absent(f"the system has neither {_OS_RELEASE[0]} nor {_OS_RELEASE[1]}")


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


def read_dmi(host: Host, faults: Faults) -> Answer:
    """What firmware says of the machine and its parts."""
    host.require("sys/devices/virtual/mem")  # /dev/null and its like, which every machine has
    values: dict[str, str | None] = {}
    failed: list[str] = []
    for name in _DMI_NAMES:
        try:
            values[name] = host.read_value(f"{_DMI}/{name}")
        except HostReadError as error:
            failed.append(name)
            faults.add(error)
    if any(value is not None for value in values.values()):
        return attributes(values, failed)
    return unknown(f"no entry of {_DMI} could be read") if failed else absent("this machine has no DMI tables")
