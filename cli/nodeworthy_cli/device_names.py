"""Names of PCI and USB devices in words, from the host's own pci.ids and usb.ids, for people's views only.

The words are no facts: two machines with the same device may have databases of different age, and a rule must not depend on
that. The databases are read when a view needs them, and only the lines of the devices in it are kept.
"""

import re
import zlib
from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from nodeworthy.features import FeatureSet, Instance
from nodeworthy_detector.hostfs import Host, HostReadError

_FOLDERS = ("usr/share/hwdata", "usr/share/misc", "var/lib/pciutils", "var/lib/usbutils", "usr/share")
"""Where the databases are: Fedora, SUSE, Alpine and newer Debian; older Debian; what update-pciids writes; Buildroot."""

MAX_BYTES = 8 * 1024 * 1024
"""Of one database, unpacked; that of PCI has 1.6 MB in 2026."""

_DATABASES: Mapping[str, str] = {"pci.device": "pci.ids", "usb.device": "usb.ids", "accel.device": "pci.ids"}
"""The sets that name devices by number, and the database of each."""

_LINE = re.compile(r"([0-9a-fA-F]{4})  (\S.*)")
_ACCELERATORS, _BRIDGE = ("03", "12", "0b40"), "06"
"""Beginnings of PCI class codes: displays, accelerators and co-processors are what people look for."""

DeviceId = tuple[str, str]
"""Vendor and device number, four hexadecimal digits each, in lower case."""


class DeviceNames(msgspec.Struct, frozen=True):
    """The names that a database has for some devices."""

    vendors: Mapping[str, str] = {}
    devices: Mapping[DeviceId, str] = {}

    def name(self, device: DeviceId) -> str:
        """The device in words as far as they go; its numbers where there are none."""
        vendor, model = self.vendors.get(device[0]), self.devices.get(device)
        return f"{vendor or device[0]} {model or device[1]}" if vendor or model else ":".join(device)


def parse_names(text: str, wanted: Collection[DeviceId]) -> DeviceNames:
    r"""The names of the wanted devices in a database (https://pci-ids.ucw.cz, usb.ids has the same form).

    A vendor's line begins with its number, a device's with a tab; two tabs are subsystems, and the lists of classes and
    other things behind the devices begin with a letter and a blank.

    >>> names = parse_names("10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\n", {("10de", "2330")})
    >>> names.name(("10de", "2330"))
    'NVIDIA Corporation GH100 [H100 SXM5 80GB]'
    """
    wanted_vendors = {vendor for vendor, _ in wanted}
    vendors: dict[str, str] = {}
    devices: dict[DeviceId, str] = {}
    vendor: str | None = None
    for line in text.split("\n"):
        is_device = line.startswith("\t")
        if is_device and vendor not in wanted_vendors:
            continue
        found = _LINE.fullmatch(line.removeprefix("\t").rstrip())
        if not is_device:
            vendor = found[1].lower() if found else None
            if found and vendor in wanted_vendors:
                vendors.setdefault(vendor, found[2])
        elif found and vendor is not None and (vendor, found[1].lower()) in wanted:
            devices.setdefault((vendor, found[1].lower()), found[2])
    return DeviceNames(vendors, devices)


def read_names(host: Host, database: str, wanted: Collection[DeviceId]) -> DeviceNames:
    """The wanted names from the first database that is there, plain or compressed; none where there is none to be read."""
    for folder in _FOLDERS:
        for name in (database, f"{database}.gz"):
            text = _read_text(host, f"{folder}/{name}")
            if text is not None:
                return parse_names(text, wanted)
    return DeviceNames()


def _read_text(host: Host, path: str) -> str | None:
    try:
        data = host.read_bytes(path, MAX_BYTES)
    except HostReadError:
        return None
    if data is not None and path.endswith(".gz"):
        data = _unpack(data)
    return None if data is None else data.decode("utf-8", "replace")


def _unpack(data: bytes) -> bytes | None:
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # with the head that gzip writes
    try:
        unpacked = stream.decompress(data, MAX_BYTES)
    except zlib.error:
        return None
    return unpacked if stream.eof else None


def describe_devices(host: Host, set_name: str, content: FeatureSet) -> str | None:
    """The kinds of devices in a set, in words: accelerators first, bridges last; ``None`` if there is no word for any.

    An accelerator whose driver or number tells its model is called so; the database is for the others.
    """
    database = _DATABASES.get(set_name)
    if database is None or not content.instances:
        return None
    wanted = {device for one in content.instances if "model" not in one for device in (_device_id(one),) if device}
    names = read_names(host, database, wanted) if wanted else DeviceNames()
    if not names.vendors and not any("model" in one for one in content.instances):
        return None
    counts = Counter(_words(one, names) for one in sorted(content.instances, key=_rank))
    return ", ".join(f"{count} {words}" for words, count in counts.items())


def _words(instance: Instance, names: DeviceNames) -> str:
    device = _device_id(instance)
    return instance.get("model") or (names.name(device) if device else "unnamed")


def _device_id(instance: Instance) -> DeviceId | None:
    vendor = instance.get("vendor_id", instance.get("vendor"))
    device = instance.get("device_id", instance.get("device"))
    return (vendor.lower(), device.lower()) if vendor and device else None


def _rank(instance: Instance) -> int:
    device_class = instance.get("class", "")
    if device_class.startswith(_ACCELERATORS):
        return 0
    return 2 if device_class.startswith(_BRIDGE) else 1
