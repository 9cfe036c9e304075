"""The source ``pci``: PCI functions."""

import msgspec

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, read_sets, unknown

_DEVICES = "sys/bus/pci/devices"
_MANDATORY = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
_OPTIONAL = ("sriov_totalvfs", "iommu_group/type", "iommu/intel-iommu/version")
"""Paths below the device's folder; NFD's attribute names keep their slashes."""

_CLASS_DIGITS = 4
"""Base class and subclass; the programming interface is cut off."""


class PciSource(msgspec.Struct, frozen=True):
    """PCI functions in the order of their addresses."""

    name: str = "pci"
    sets: tuple[str, ...] = ("pci.device",)

    def read(self, host: Host) -> Reading:
        """Read the one set."""
        return read_sets(host, {"pci.device": read_devices})


def read_devices(host: Host, faults: Faults) -> Answer:
    """Every function that can be read; one that vanishes meanwhile, or hides a mandatory file, is left out."""
    host.require("sys/bus/platform")  # every Linux has this bus; a recording without it says nothing of buses
    names = host.list_names(_DEVICES)
    if names is None:
        return absent("this machine has no PCI bus")
    found = [_read_device(host, f"{_DEVICES}/{name}", faults) for name in names]
    devices = tuple(device for device in found if device is not None)
    if names and not devices:
        return unknown(f"none of {len(names)} devices could be read")
    return FeatureSet(instances=devices)


def _read_device(host: Host, folder: str, faults: Faults) -> dict[str, str] | None:
    found: dict[str, str] = {}
    try:
        for attribute in _MANDATORY:
            value = host.read_value(f"{folder}/{attribute}")
            if value is None:
                faults.add(f"{folder}/{attribute} is not there; the device is left out")
                return None
            found[attribute] = parse_value(attribute, value)
    except HostReadError as error:
        faults.add(f"{error}; the device is left out")
        return None
    return found | _read_optional(host, folder, faults)


def _read_optional(host: Host, folder: str, faults: Faults) -> dict[str, str]:
    found: dict[str, str] = {}
    for attribute in _OPTIONAL:
        try:
            value = host.read_value(f"{folder}/{attribute}")
        except HostReadError as error:
            if not error.has_no_value:
                faults.add(error)
            continue
        if value is not None:
            found[attribute] = parse_value(attribute, value)
    return found


def parse_value(attribute: str, text: str) -> str:
    """NFD's form of a value: without ``0x``, the class without its programming interface.

    >>> parse_value("class", "0x030200"), parse_value("vendor", "0x10de")
    ('0302', '10de')
    """
    value = text.strip().removeprefix("0x")
    return value[:_CLASS_DIGITS] if attribute == "class" else value
