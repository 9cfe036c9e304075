"""The source ``storage``: disks."""

import re

import msgspec

from nodeworthy.features import Instance, clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.device_files import read_instances, read_optional
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, read_sets

_BLOCK = "sys/block"
_QUEUE = ("dax", "rotational", "nr_zones", "zoned")

_NO_DISK = re.compile(r"(?:loop|ram|zram|dm-)[0-9]+")
"""Names of devices behind which there is a file, memory or other block devices (Linux, admin-guide/devices.txt)."""

_TRANSPORTS = {"vd": "virtio", "xvd": "xen", "mmcblk": "mmc"}
"""Drivers with one transport, by the letters that their devices' names begin with."""

_SECTOR_BYTES = 512
"""The unit of ``size``, whatever the disk's own is (Linux, ABI/stable/sysfs-block)."""

_MAX_DIGITS = 19
"""Of a number of 64 bits."""


class StorageSource(msgspec.Struct, frozen=True):
    """Disks in the order of their names."""

    name: str = "storage"
    sets: tuple[str, ...] = ("storage.block",)

    def read(self, host: Host) -> Reading:
        """Read the one set."""
        return read_sets(host, {"storage.block": read_disks})


def read_disks(host: Host, faults: Faults) -> Answer:
    """Every block device that is a disk.

    NFD lists loop, ram, zram and device mapper devices too. Most of them say that they do not rotate, so that a machine with
    nothing but slow disks seems to have a fast one.
    """
    names = host.list_names(_BLOCK)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of disks
        return absent("this kernel was built without block devices")
    disks = tuple(name for name in names if not _NO_DISK.fullmatch(name))
    return read_instances(disks, lambda name: (_read_disk(host, name, faults),), faults, "disks")


def _read_disk(host: Host, name: str, faults: Faults) -> Instance:
    folder = f"{_BLOCK}/{name}"
    if not host.is_folder(folder):
        raise HostReadError(folder, "is not there")
    found = {"name": clean_text(name)} | read_optional(host, f"{folder}/queue", _QUEUE, faults)
    device = read_optional(host, f"{folder}/device", ("model", "transport", "vendor"), faults)
    more = {
        "model": device.get("model"),
        "size": parse_size(read_optional(host, folder, ("size",), faults).get("size", "")),
        "transport": device.get("transport") or find_transport(name, device.get("vendor", "")),
    }
    return found | {attribute: value for attribute, value in more.items() if value}


def parse_size(sectors: str) -> str | None:
    """A size in bytes; ``None`` if the text is no number of sectors.

    >>> parse_size("7814037168")
    '4000787030016'
    """
    if not (sectors.isascii() and sectors.isdigit() and len(sectors) <= _MAX_DIGITS):
        return None
    return str(int(sectors) * _SECTOR_BYTES)


def find_transport(name: str, vendor: str) -> str | None:
    """How a disk is attached that does not tell it in a file ``transport``, as those of NVMe do (``pcie``, ``tcp``, …).

    The kernel's SCSI layer gives every disk that speaks ATA this vendor (T10's SCSI/ATA Translation); of other SCSI disks
    nothing is said.

    >>> find_transport("vda", "0x1af4"), find_transport("sda", "ATA"), find_transport("sdb", "SEAGATE")
    ('virtio', 'ata', None)
    """
    if name.startswith("sd") and vendor == "ATA":
        return "ata"
    letters = re.match(r"mmcblk|x?vd(?=[a-z]+$)", name)
    return _TRANSPORTS[letters[0]] if letters else None
