"""The source ``usb``: USB devices."""

from collections.abc import Iterator

import msgspec

from nodeworthy.features import Instance
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.device_files import read_instances, read_optional, read_required
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, read_sets

_DEVICES = "sys/bus/usb/devices"
_ATTRIBUTES = {"bDeviceClass": "class", "idVendor": "vendor", "idProduct": "device"}
"""Files that every device has, and NFD's names for them (Linux, drivers/usb/core/sysfs.c)."""

_CLASS_OF_INTERFACES = "00"
"""The device has no class of its own: each of its interfaces has one (USB 2.0, 9.6.1)."""


class UsbSource(msgspec.Struct, frozen=True):
    """USB devices in the order of their ports."""

    name: str = "usb"
    sets: tuple[str, ...] = ("usb.device",)

    def read(self, host: Host) -> Reading:
        """Read the one set."""
        return read_sets(host, {"usb.device": read_devices})


def read_devices(host: Host, faults: Faults) -> Answer:
    """Every device that can be read; one without a class of its own is an instance for each of its interfaces, as in NFD."""
    names = host.list_names(_DEVICES)
    if names is None:
        host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of buses
        return absent("this kernel has no USB bus")
    # Interfaces are on the same bus: 1-1.4:1.0 is one of the device 1-1.4.
    devices = tuple(name for name in names if ":" not in name)
    return read_instances(devices, lambda name: _read_device(host, name, faults), faults, "USB devices")


def _read_device(host: Host, name: str, faults: Faults) -> Iterator[Instance]:
    folder = f"{_DEVICES}/{name}"
    values = read_required(host, folder, _ATTRIBUTES)
    found = {attribute: values[file] for file, attribute in _ATTRIBUTES.items()}
    found |= {file: text for file, text in read_optional(host, folder, ("serial",), faults).items() if text}
    if found["class"] != _CLASS_OF_INTERFACES:
        yield found
        return
    for interface in host.list_names(folder) or ():
        if ":" in interface:
            try:
                class_ = read_required(host, f"{folder}/{interface}", ("bInterfaceClass",))["bInterfaceClass"]
            except HostReadError as error:
                faults.add(f"{error}; the interface is left out")
                continue
            yield found | {"class": class_}
