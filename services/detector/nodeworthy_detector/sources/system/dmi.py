"""What firmware says of the machine and its parts."""

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, absent, attributes, unknown

_FOLDERS = ("sys/devices/virtual/dmi/id", "sys/class/dmi/id")
"""The second is a link to the first on a running machine; recordings may have it alone."""

_ON_EVERY_MACHINE = "sys/devices/virtual/mem"
"""/dev/null and its like."""

_NAMES = (
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


def read_dmi(host: Host, faults: Faults) -> Answer:
    """What firmware says of the machine and its parts; of a thin recording, entries that are not there say nothing."""
    folder = next(filter(host.is_folder, _FOLDERS), _FOLDERS[0])
    values: dict[str, str | None] = {}
    failed: list[str] = []
    for name in _NAMES:
        try:
            values[name] = host.read_value(f"{folder}/{name}")
        except HostReadError as error:
            failed.append(name)
            faults.add(error)
    if any(value is not None for value in values.values()):
        return attributes(values, failed if host.is_folder(_ON_EVERY_MACHINE) else _NAMES)
    if failed:
        return unknown(f"no entry of {folder} could be read")
    host.require(_ON_EVERY_MACHINE)
    return absent("this machine has no DMI tables")
