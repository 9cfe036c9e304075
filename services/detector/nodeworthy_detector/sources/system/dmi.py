"""What firmware says of the machine and its parts."""

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, absent, attributes, unknown

_FOLDER = "sys/devices/virtual/dmi/id"
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
    """What firmware says of the machine and its parts."""
    host.require("sys/devices/virtual/mem")  # /dev/null and its like, which every machine has
    values: dict[str, str | None] = {}
    failed: list[str] = []
    for name in _NAMES:
        try:
            values[name] = host.read_value(f"{_FOLDER}/{name}")
        except HostReadError as error:
            failed.append(name)
            faults.add(error)
    if any(value is not None for value in values.values()):
        return attributes(values, failed)
    return unknown(f"no entry of {_FOLDER} could be read") if failed else absent("this machine has no DMI tables")
